"""One of three worlds, which only the first seat knows; it plays one of the actions that its world allows.

World 0 allows actions 0 and 1, world 1 allows 1 and 2, world 2 allows 0 and 2. The seat with the number of the world wins,
and is alone to score.
"""

from bvb_core.game cimport TERMINAL_NODE
from bvb_core.rng cimport rng_below
from tests.toys.base cimport *

cdef enum:
    NOT_YET = -1
    HIDDEN = -1
    N_WORLDS = 3


cdef struct Worlds:
    int32_t world
    int32_t action


cdef void initial_state(const void *ctx, Rng *rng, void *state) noexcept nogil:
    (<Worlds *>state)[0] = Worlds(rng_below(rng, N_WORLDS), NOT_YET)


cdef int32_t current_player(const void *ctx, const void *state) noexcept nogil:
    return 0 if (<const Worlds *>state).action == NOT_YET else TERMINAL_NODE


cdef int32_t legal_actions(const void *ctx, const void *state, int32_t *actions) noexcept nogil:
    cdef const Worlds *s = <const Worlds *>state
    if s.action != NOT_YET:
        return 0
    actions[0] = s.world == 1
    actions[1] = 1 if s.world == 0 else 2
    return 2


cdef void apply(const void *ctx, void *state, int32_t action) noexcept nogil:
    (<Worlds *>state).action = action


cdef void scores(const void *ctx, const void *state, double *points) noexcept nogil:
    cdef const Worlds *s = <const Worlds *>state
    cdef int p
    for p in range(N_WORLDS):
        points[p] = s.action != NOT_YET and s.world == p


cdef void returns(const void *ctx, const void *state, double *shares) noexcept nogil:
    cdef int p
    scores(ctx, state, shares)
    if (<const Worlds *>state).action == NOT_YET:
        for p in range(N_WORLDS):
            shares[p] = 1.0 / N_WORLDS


cdef void observe(const void *ctx, const void *state, int32_t observer, void *observation) noexcept nogil:
    cdef Worlds *seen = <Worlds *>observation
    seen[0] = (<const Worlds *>state)[0]
    if observer != 0 and seen.action == NOT_YET:
        seen.world = HIDDEN


cdef void determinize(const void *ctx, const void *belief, Rng *rng, void *state) noexcept nogil:
    cdef Worlds *s = <Worlds *>state
    s[0] = (<const Worlds *>belief)[0]
    if s.world == HIDDEN:
        s.world = rng_below(rng, N_WORLDS)


cdef uint64_t event_key(const void *ctx, const void *state, int32_t observer) noexcept nogil:
    return key_of((<const Worlds *>state).action, (<const Worlds *>state).world, 0)


def game() -> ToyGame:
    cdef ToyGame made = ToyGame()
    cdef GameOps *ops = made.open_ops(N_WORLDS, sizeof(Worlds), 3)
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
