"""Random decks and random play that meets the corners of the rules."""

import random
from pathlib import Path
from typing import TypeVar

FAVOUR = {"mask": 4.0, "swap": 3.0, "dismember": 2.0, "lullaby": 2.0, "hat": 2.0, "tool": 2.0, "dive": 0.2}
SPREAD = 1.3
UNIFORM_SHARE = 0.3
EXTRAS = ("tool", "hat", "mask", "swap", "dismember", "lullaby")
ActionT = TypeVar("ActionT")


class Policy:
    """Chooses a verb first, by weights drawn for each game that favour rare ones, then an action with it.

    In some games every action is as likely.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._weights: dict[str, float] = {}
        self._uniform = rng.random() < UNIFORM_SHARE

    def choose(self, legal: list[ActionT]) -> ActionT:
        if self._uniform:
            return self._rng.choice(legal)
        by_verb: dict[str, list[ActionT]] = {}
        for action in legal:
            by_verb.setdefault(str(action).split(" ", 1)[0], []).append(action)
        verb = self._rng.choices(list(by_verb), [self._weight(verb) for verb in by_verb])[0]
        return self._rng.choice(by_verb[verb])

    def _weight(self, verb: str) -> float:
        if verb not in self._weights:
            self._weights[verb] = FAVOUR.get(verb, 1.0) * self._rng.lognormvariate(0, SPREAD)
        return self._weights[verb]


def random_deck(rng: random.Random, path: Path, players: int, practice: bool) -> None:
    """Write a small deck file, large enough to deal to the players."""
    counts = {"bear_head": players + rng.randint(0, 2)}
    counts |= {head: rng.randint(0, 4) for head in ("land_head", "sea_head", "sky_head")}
    for kind in ("crossroad_torso", "mini_arm_torso", "mini_body", "armless_body", "legs", "arm"):
        counts[kind] = rng.randint(0, 3)
    cards = ""
    if rng.random() < 0.4:
        cards += _card("marsh_head", rng.randint(1, 4), "head", rng.randint(0, 4), 'types = ["land", "sea"]')
    if rng.random() < 0.4:
        del counts["armless_body"]
        joints = ["neck", *rng.sample(["left_shoulder", "waist"], rng.randint(0, 2))]
        cards += _card("armless_body", rng.randint(1, 5), "torso", rng.randint(-1, 3),
                       f'joints = {joints!r}\nsockets = ["right"]')
    body = sum(counts.values()) - (0 if practice else players)
    extras = {kind: rng.choice((0, 1, 2, 4)) for kind in EXTRAS}
    if not practice:
        body += sum(extras.values())
    counts["land_head"] += max(0, (5 if practice else 4) * players + rng.randint(1, 6) - body)
    counts |= extras
    counts["wild_provoke"] = rng.choice((0, 1, 3, 6))
    for army in ("land", "sea", "sky"):
        counts |= {f"{army}_baby_{points}": rng.randint(0, 3) for points in range(4)}
    lines = "\n".join(f"{kind} = {count}" for kind, count in counts.items())
    path.write_text(f'name = "random"\nextends = "standard"\n[counts]\n{lines}\n{cards}')


def _card(kind: str, count: int, role: str, strength: int, fields: str) -> str:
    return f'[[card]]\nid = "{kind}"\ncount = {count}\nrole = "{role}"\nstrength = {strength}\n{fields}\n'
