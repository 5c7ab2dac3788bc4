"""Kuhn poker (Kuhn 1950): three cards, one bet. Actions: 0 passes (checks or folds), 1 bets (or calls)."""

from bvb_core.game cimport TERMINAL_NODE
from bvb_core.rng cimport rng_below
from tests.toys.base cimport *

cdef enum:
    HIDDEN = -1


cdef struct Kuhn:
    int32_t card[2]        # 0 Jack, 1 Queen, 2 King
    int32_t n              # actions played
    int32_t bets[3]        # the actions


cdef inline bint is_over(const Kuhn *s) noexcept nogil:
    return s.n == 3 or s.n == 2 and not (s.bets[0] == 0 and s.bets[1] == 1)


cdef inline bint is_showdown(const Kuhn *s) noexcept nogil:
    return is_over(s) and s.bets[s.n - 1] == s.bets[s.n - 2]


cdef int net(const Kuhn *s) noexcept nogil:
    """Chips that the first seat has won."""
    if not is_over(s):
        return 0
    if not is_showdown(s):
        return 1 if s.n == 2 else -1
    return (1 + s.bets[s.n - 1]) * (1 if s.card[0] > s.card[1] else -1)


cdef void initial_state(const void *ctx, Rng *rng, void *state) noexcept nogil:
    cdef Kuhn *s = <Kuhn *>state
    s[0] = Kuhn([0, 0], 0, [0, 0, 0])
    s.card[0] = rng_below(rng, 3)
    s.card[1] = (s.card[0] + 1 + rng_below(rng, 2)) % 3


cdef int32_t current_player(const void *ctx, const void *state) noexcept nogil:
    return TERMINAL_NODE if is_over(<const Kuhn *>state) else (<const Kuhn *>state).n & 1


cdef int32_t legal_actions(const void *ctx, const void *state, int32_t *actions) noexcept nogil:
    if is_over(<const Kuhn *>state):
        return 0
    actions[0], actions[1] = 0, 1
    return 2


cdef void apply(const void *ctx, void *state, int32_t action) noexcept nogil:
    cdef Kuhn *s = <Kuhn *>state
    s.bets[s.n] = action
    s.n += 1


cdef void returns(const void *ctx, const void *state, double *shares) noexcept nogil:
    halves(net(<const Kuhn *>state) / 2.0, shares)


cdef void scores(const void *ctx, const void *state, double *points) noexcept nogil:
    points[0] = net(<const Kuhn *>state)
    points[1] = -points[0]


cdef void observe(const void *ctx, const void *state, int32_t observer, void *observation) noexcept nogil:
    cdef Kuhn *seen = <Kuhn *>observation
    seen[0] = (<const Kuhn *>state)[0]
    if not is_showdown(seen):
        if observer != 0:
            seen.card[0] = HIDDEN
        if observer != 1:
            seen.card[1] = HIDDEN


cdef void determinize(const void *ctx, const void *belief, Rng *rng, void *state) noexcept nogil:
    cdef Kuhn *s = <Kuhn *>state
    cdef int i
    s[0] = (<const Kuhn *>belief)[0]
    for i in range(2):
        if s.card[i] == HIDDEN:
            if s.card[1 - i] == HIDDEN:
                s.card[i] = rng_below(rng, 3)
            else:
                s.card[i] = (s.card[1 - i] + 1 + rng_below(rng, 2)) % 3


cdef uint64_t event_key(const void *ctx, const void *state, int32_t observer) noexcept nogil:
    cdef const Kuhn *s = <const Kuhn *>state
    if is_showdown(s):
        return key_of(s.bets[s.n - 1], s.card[0], s.card[1])
    return key_of(s.bets[s.n - 1], HIDDEN, HIDDEN)


def game() -> ToyGame:
    cdef ToyGame made = ToyGame()
    cdef GameOps *ops = made.open_ops(2, sizeof(Kuhn), 2)
    ops.initial_state = initial_state
    ops.current_player = current_player
    ops.legal_actions = ops.search_actions = legal_actions
    ops.apply = apply
    ops.returns = returns
    ops.scores = scores
    ops.observe = observe
    ops.determinize = determinize
    ops.event_key = event_key
    made.check_ops()
    return made
