"""Leduc poker (Southey and others 2005): two suits of three ranks, two rounds, the public card a chance node.

Actions: 0 folds, 1 checks or calls, 2 raises (2 chips in the first round, 4 in the second, twice a round at most).
"""

from bvb_core.game cimport CHANCE_NODE, TERMINAL_NODE
from bvb_core.rng cimport rng_below
from tests.toys.base cimport *

cdef enum:
    HIDDEN = -1
    N_CARDS = 6
    FOLD = 0
    CALL = 1
    RAISE = 2
    MAX_CHIPS = 13

cdef enum:  # Phase
    BETTING = 0
    DEALING = 1
    OVER = 2


cdef struct Leduc:
    int32_t card[2]        # rank is card // 2
    int32_t public_card
    int32_t phase
    int32_t raises         # in this round
    int32_t acted          # likewise: number of actions
    int32_t chips[2]       # put in
    int32_t current
    int32_t folded         # seat, or -1
    int32_t last           # action, or 3 + public card


cdef int net(const Leduc *s) noexcept nogil:
    """Chips that the first seat has won."""
    cdef int winner, r0 = s.card[0] // 2, r1 = s.card[1] // 2
    if s.phase != OVER:
        return 0
    if s.folded >= 0:
        winner = 1 - s.folded
    elif r0 == r1:
        return 0
    elif r0 == s.public_card // 2 or r1 == s.public_card // 2:
        winner = r1 == s.public_card // 2
    else:
        winner = r1 > r0
    return s.chips[1] if winner == 0 else -s.chips[0]


cdef void initial_state(const void *ctx, Rng *rng, void *state) noexcept nogil:
    cdef Leduc *s = <Leduc *>state
    s[0] = Leduc([0, 0], HIDDEN, BETTING, 0, 0, [1, 1], 0, -1, -1)
    s.card[0] = rng_below(rng, N_CARDS)
    s.card[1] = (s.card[0] + 1 + rng_below(rng, N_CARDS - 1)) % N_CARDS


cdef int32_t current_player(const void *ctx, const void *state) noexcept nogil:
    cdef const Leduc *s = <const Leduc *>state
    if s.phase == BETTING:
        return s.current
    return CHANCE_NODE if s.phase == DEALING else TERMINAL_NODE


cdef int32_t legal_actions(const void *ctx, const void *state, int32_t *actions) noexcept nogil:
    cdef const Leduc *s = <const Leduc *>state
    cdef int32_t n = 0
    if s.phase != BETTING:
        return 0
    if s.chips[0] != s.chips[1]:
        actions[n] = FOLD
        n += 1
    actions[n] = CALL
    n += 1
    if s.raises < 2:
        actions[n] = RAISE
        n += 1
    return n


cdef void apply(const void *ctx, void *state, int32_t action) noexcept nogil:
    cdef Leduc *s = <Leduc *>state
    s.last = action
    s.acted += 1
    if action == FOLD:
        s.folded = s.current
        s.phase = OVER
        return
    s.chips[s.current] = s.chips[1 - s.current]
    if action == RAISE:
        s.raises += 1
        s.chips[s.current] += 2 if s.public_card == HIDDEN else 4
    elif s.acted >= 2:
        s.phase = DEALING if s.public_card == HIDDEN else OVER
    s.current = 1 - s.current


cdef int32_t sample_chance(const void *ctx, const void *state, Rng *rng) noexcept nogil:
    cdef const Leduc *s = <const Leduc *>state
    cdef int32_t card = rng_below(rng, N_CARDS)
    while card == s.card[0] or card == s.card[1]:
        card = rng_below(rng, N_CARDS)
    return card


cdef void apply_chance(const void *ctx, void *state, int32_t outcome) noexcept nogil:
    cdef Leduc *s = <Leduc *>state
    s.public_card = outcome
    s.last = 3 + outcome
    s.phase = BETTING
    s.raises = s.acted = s.current = 0


cdef void returns(const void *ctx, const void *state, double *shares) noexcept nogil:
    halves(net(<const Leduc *>state) / <double>MAX_CHIPS, shares)


cdef void scores(const void *ctx, const void *state, double *points) noexcept nogil:
    points[0] = net(<const Leduc *>state)
    points[1] = -points[0]


cdef inline bint is_showdown(const Leduc *s) noexcept nogil:
    return s.phase == OVER and s.folded < 0


cdef void observe(const void *ctx, const void *state, int32_t observer, void *observation) noexcept nogil:
    cdef Leduc *seen = <Leduc *>observation
    seen[0] = (<const Leduc *>state)[0]
    if not is_showdown(seen):
        if observer != 0:
            seen.card[0] = HIDDEN
        if observer != 1:
            seen.card[1] = HIDDEN


cdef void determinize(const void *ctx, const void *belief, Rng *rng, void *state) noexcept nogil:
    cdef Leduc *s = <Leduc *>state
    cdef int i
    s[0] = (<const Leduc *>belief)[0]
    for i in range(2):
        while s.card[i] == HIDDEN:
            s.card[i] = rng_below(rng, N_CARDS)
            if s.card[i] == s.card[1 - i] or s.card[i] == s.public_card:
                s.card[i] = HIDDEN


cdef uint64_t event_key(const void *ctx, const void *state, int32_t observer) noexcept nogil:
    cdef const Leduc *s = <const Leduc *>state
    if is_showdown(s):
        return key_of(s.last, s.card[0], s.card[1])
    return key_of(s.last, HIDDEN, HIDDEN)


def game() -> ToyGame:
    cdef ToyGame made = ToyGame()
    cdef GameOps *ops = made.open_ops(2, sizeof(Leduc), 3)
    ops.initial_state = initial_state
    ops.current_player = current_player
    ops.legal_actions = ops.search_actions = legal_actions
    ops.apply = apply
    ops.sample_chance = sample_chance
    ops.apply_chance = apply_chance
    ops.returns = returns
    ops.scores = scores
    ops.observe = observe
    ops.determinize = determinize
    ops.event_key = event_key
    made.check_ops()
    return made
