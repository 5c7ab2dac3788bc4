"""Figures of matches: shares of the victory with intervals, Elo, and the sequential test.

The unit of all statistics is the deal with all its games (the same cards in all seatings): games of one deal
depend on each other, deals do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

CONFIDENCE = 0.95
ROUNDING = 1e-12


def student_t(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Two-sided quantile of Student's t: exact for 1 and 2 degrees of freedom, else by its expansion in
    powers of 1 / freedom (Abramowitz and Stegun 1964, 26.7.5), to within 0.2 %."""
    p = (1 + confidence) / 2
    if freedom == 1:
        return math.tan(math.pi * (p - 0.5))
    if freedom == 2:
        return (2 * p - 1) / math.sqrt(2 * p * (1 - p))
    z = NormalDist().inv_cdf(p)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / freedom ** (i + 1) for i, term in enumerate(terms))


def share_interval(deals: Sequence[float]) -> tuple[float, float]:
    """95 % confidence interval of a mean share, from the mean share in each deal, 0 to 1.

    Wilson's score interval with the effective sample size of a cluster sample: n = p (1 - p) / v, where v is
    the variance of the mean over deals, and n is lessened by (z / t)^2 for the degrees of freedom (Korn and
    Graubard 1998; Franco, Little, Louis, Slud 2019, section 2). Where all deals came out at 0, or all at 1,
    they tell nothing of v, and n is the number of deals.
    """
    count = len(deals)
    if count < 2:
        return 0.0, 1.0
    p = fmean(deals)
    t = student_t(count - 1)
    spread = p * (1 - p)
    variance = sum((share - p) ** 2 for share in deals) / (count - 1) / count
    per_n = t * t * (variance / spread if spread > ROUNDING else 1 / count)
    middle = (p + per_n / 2) / (1 + per_n)
    half = math.sqrt(per_n * spread + per_n * per_n / 4) / (1 + per_n)
    return max(0.0, middle - half - ROUNDING), min(1.0, middle + half + ROUNDING)


def elo_of_share(share: float, players: int, games: int) -> float:
    """Rating above that of equal opponents whom a player meets, from the share of the victory, 0 to 1.

    Against the par of 1 / players: 400 log10(odds of the share / odds of par). It is the model of Bradley and
    Terry for more than two (Hunter 2004, section 5): the share of a player of strength g among players - 1 of
    strength 1 is g / (g + players - 1), and the rating is 400 log10 g. For two players this is the usual Elo
    of a score. A share nearer to 0 or 1 than half a game of `games` counts as half a game.
    """
    least = 0.5 / max(games, 1)
    share = min(max(share, least), 1 - least)
    return 400 * math.log10(share / (1 - share) * (players - 1))


def share_of_elo(elo: float, players: int) -> float:
    """The inverse of elo_of_share."""
    strength: float = 10 ** (elo / 400)
    return strength / (strength + players - 1)


@dataclass(frozen=True, slots=True)
class Sprt:
    """Sequential test of the first bot's Elo: elo0 against elo1, elo0 < elo1, errors of 5 % each.

    Wald's test (1945) with the generalized log-likelihood ratio of a mean in the normal approximation (Van
    den Bergh 2019, "The generalized maximum likelihood ratio for the expectation value of a distribution", as
    used by fishtest), a deal a sample: llr = n (s1 - s0) (2 m - s0 - s1) / (2 v), where m and v are mean and
    variance of the first bot's share in a deal, and s0, s1 the shares that the two ratings stand for. v takes
    in one more sample of the variance of a single game at par, so that a few deals that happen to come out
    alike do not decide.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    @property
    def bounds(self) -> tuple[float, float]:
        """llr at which elo0 and elo1 is accepted."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def llr(self, deals: Sequence[float], players: int) -> float:
        """Log-likelihood ratio, from the first bot's mean share in each deal."""
        if not deals:
            return 0.0
        low, high = share_of_elo(self.elo0, players), share_of_elo(self.elo1, players)
        mean = fmean(deals)
        par = 1 / players
        variance = (sum((share - mean) ** 2 for share in deals) + par * (1 - par)) / len(deals)
        return len(deals) * (high - low) * (2 * mean - low - high) / (2 * variance)

    def decision(self, deals: Sequence[float], players: int) -> str | None:
        """ "H0" when elo0 is accepted, "H1" when elo1 is, None while the match goes on."""
        lower, upper = self.bounds
        llr = self.llr(deals, players)
        return "H1" if llr >= upper else "H0" if llr <= lower else None
