"""Sealed bets: both seats bid one of 1, 2, 3 for a prize at the same time, three times, each number once.

The bids are played in sequence: the second seat does not see the first bid. Then both are shown; the higher one wins the
prize, which is worth 1, 2, 3 in turn. Actions: 0 to 2, the bid less 1.
"""

from bvb_core.game cimport TERMINAL_NODE
from bvb_core.rng cimport rng_below
from tests.toys.base cimport *

cdef enum:
    NO_BID = -1
    HIDDEN = -2
    N_ROUNDS = 3


cdef struct Sealed:
    int32_t round
    int32_t bid            # of the first seat, sealed
    int32_t spent[2]       # sets of bids shown
    int32_t points[2]
    int32_t shown[2]       # the last bids shown


cdef void initial_state(const void *ctx, Rng *rng, void *state) noexcept nogil:
    (<Sealed *>state)[0] = Sealed(0, NO_BID, [0, 0], [0, 0], [NO_BID, NO_BID])


cdef int32_t current_player(const void *ctx, const void *state) noexcept nogil:
    cdef const Sealed *s = <const Sealed *>state
    return TERMINAL_NODE if s.round == N_ROUNDS else s.bid != NO_BID


cdef int32_t legal_actions(const void *ctx, const void *state, int32_t *actions) noexcept nogil:
    cdef const Sealed *s = <const Sealed *>state
    cdef int32_t player = current_player(ctx, state), n = 0, i
    if player >= 0:
        for i in range(N_ROUNDS):
            if not s.spent[player] >> i & 1:
                actions[n] = i
                n += 1
    return n


cdef void apply(const void *ctx, void *state, int32_t action) noexcept nogil:
    cdef Sealed *s = <Sealed *>state
    if s.bid == NO_BID:
        s.bid = action
        return
    s.shown[0], s.shown[1] = s.bid, action
    s.bid = NO_BID
    s.round += 1
    s.spent[0] |= 1 << s.shown[0]
    s.spent[1] |= 1 << s.shown[1]
    if s.shown[0] != s.shown[1]:
        s.points[s.shown[1] > s.shown[0]] += s.round


cdef void returns(const void *ctx, const void *state, double *shares) noexcept nogil:
    cdef const Sealed *s = <const Sealed *>state
    halves((s.points[0] > s.points[1]) - (s.points[0] < s.points[1]), shares)


cdef void scores(const void *ctx, const void *state, double *points) noexcept nogil:
    points[0] = (<const Sealed *>state).points[0]
    points[1] = (<const Sealed *>state).points[1]


cdef void observe(const void *ctx, const void *state, int32_t observer, void *observation) noexcept nogil:
    cdef Sealed *seen = <Sealed *>observation
    seen[0] = (<const Sealed *>state)[0]
    if seen.bid != NO_BID and observer != 0:
        seen.bid = HIDDEN


cdef void determinize(const void *ctx, const void *belief, Rng *rng, void *state) noexcept nogil:
    cdef Sealed *s = <Sealed *>state
    s[0] = (<const Sealed *>belief)[0]
    while s.bid == HIDDEN:
        s.bid = rng_below(rng, N_ROUNDS)
        if s.spent[0] >> s.bid & 1:
            s.bid = HIDDEN


cdef uint64_t event_key(const void *ctx, const void *state, int32_t observer) noexcept nogil:
    cdef const Sealed *s = <const Sealed *>state
    if s.bid == NO_BID:
        return key_of(1, s.shown[0], s.shown[1])
    return key_of(0, s.bid if observer == 0 else NO_BID, NO_BID)


def game() -> ToyGame:
    cdef ToyGame made = ToyGame()
    cdef GameOps *ops = made.open_ops(2, sizeof(Sealed), N_ROUNDS)
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
