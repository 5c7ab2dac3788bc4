"""A forced win. The seat that begins has three moves, and each other seat three after it, in turn.

The winning one is `first` modulo 3: it wins when the same seat, when its turn comes again, plays the action after it; nobody
can prevent that. The next one is a trap: it wins at once unless the next seat answers with action 2, and then that seat
wins. The third one loses to the next seat. Random play prefers the trap.
"""

from bvb_core.game cimport TERMINAL_NODE
from tests.toys.base cimport *

cdef enum:
    NOBODY = -1


cdef struct Forced:
    int32_t ply
    int32_t opening        # the first move, -1 before it
    int32_t winner
    int32_t last


cdef void initial_state(const void *ctx, Rng *rng, void *state) noexcept nogil:
    (<Forced *>state)[0] = Forced(0, -1, NOBODY, -1)


cdef int32_t current_player(const void *ctx, const void *state) noexcept nogil:
    cdef const Forced *s = <const Forced *>state
    if s.winner != NOBODY:
        return TERMINAL_NODE
    return ((<const Options *>ctx).first + s.ply) % (<const Options *>ctx).ops.num_players


cdef int32_t legal_actions(const void *ctx, const void *state, int32_t *actions) noexcept nogil:
    if (<const Forced *>state).winner != NOBODY:
        return 0
    actions[0], actions[1], actions[2] = 0, 1, 2
    return 3


cdef void apply(const void *ctx, void *state, int32_t action) noexcept nogil:
    cdef Forced *s = <Forced *>state
    cdef int32_t players = (<const Options *>ctx).ops.num_players
    cdef int32_t first = (<const Options *>ctx).first, second = (first + 1) % players
    cdef int32_t relative
    if s.ply == 0:
        s.opening = action
    relative = (s.opening - first % 3 + 3) % 3
    if relative == 2:
        s.winner = second
    elif relative == 1 and s.ply == 1:
        s.winner = second if action == 2 else first
    elif s.ply == players:
        s.winner = first if action == (first + 1) % 3 else second
    s.last = action
    s.ply += 1


cdef void scores(const void *ctx, const void *state, double *points) noexcept nogil:
    cdef int p
    for p in range((<const Options *>ctx).ops.num_players):
        points[p] = (<const Forced *>state).winner == p


cdef void returns(const void *ctx, const void *state, double *shares) noexcept nogil:
    cdef int32_t players = (<const Options *>ctx).ops.num_players, p
    scores(ctx, state, shares)
    if (<const Forced *>state).winner == NOBODY:
        for p in range(players):
            shares[p] = 1.0 / players


cdef uint64_t event_key(const void *ctx, const void *state, int32_t observer) noexcept nogil:
    return key_of((<const Forced *>state).last, 0, 0)


def game(players: int, first: int) -> ToyGame:
    cdef ToyGame made = ToyGame()
    cdef GameOps *ops = made.open_ops(players, sizeof(Forced), 3)
    made.options.first = first
    ops.initial_state = initial_state
    ops.current_player = current_player
    ops.legal_actions = ops.search_actions = legal_actions
    ops.apply = apply
    ops.returns = returns
    ops.scores = scores
    ops.event_key = event_key
    made.check_ops()
    return made
