"""A bandit: one pull of an arm, which then wins by chance. The second seat only looks on, and wins what the first loses."""

from bvb_core.game cimport CHANCE_NODE, TERMINAL_NODE
from bvb_core.rng cimport rng_below
from tests.toys.base cimport *

cdef enum:
    NOT_YET = -1


cdef struct Bandit:
    int32_t arm
    int32_t won


cdef void initial_state(const void *ctx, Rng *rng, void *state) noexcept nogil:
    (<Bandit *>state)[0] = Bandit(NOT_YET, NOT_YET)


cdef int32_t current_player(const void *ctx, const void *state) noexcept nogil:
    cdef const Bandit *s = <const Bandit *>state
    if s.arm == NOT_YET:
        return 0
    return CHANCE_NODE if s.won == NOT_YET else TERMINAL_NODE


cdef int32_t legal_actions(const void *ctx, const void *state, int32_t *actions) noexcept nogil:
    cdef int32_t n = (<const Options *>ctx).ops.num_distinct_actions, i
    if (<const Bandit *>state).arm != NOT_YET:
        return 0
    for i in range(n):
        actions[i] = i
    return n


cdef void apply(const void *ctx, void *state, int32_t action) noexcept nogil:
    (<Bandit *>state).arm = action


cdef int32_t sample_chance(const void *ctx, const void *state, Rng *rng) noexcept nogil:
    return <int32_t>rng_below(rng, 100) < (<const Options *>ctx).percent[(<const Bandit *>state).arm]


cdef void apply_chance(const void *ctx, void *state, int32_t outcome) noexcept nogil:
    (<Bandit *>state).won = outcome


cdef void returns(const void *ctx, const void *state, double *shares) noexcept nogil:
    cdef int32_t won = (<const Bandit *>state).won
    halves(0 if won == NOT_YET else 2 * won - 1, shares)


cdef void scores(const void *ctx, const void *state, double *points) noexcept nogil:
    points[0] = (<const Bandit *>state).won == 1
    points[1] = (<const Bandit *>state).won == 0


cdef uint64_t event_key(const void *ctx, const void *state, int32_t observer) noexcept nogil:
    return key_of((<const Bandit *>state).arm, (<const Bandit *>state).won, 0)


def game(percent: list[int]) -> ToyGame:
    """One arm for every chance to win, in percent."""
    cdef ToyGame made = ToyGame()
    cdef GameOps *ops = made.open_ops(2, sizeof(Bandit), len(percent))
    for i, chance in enumerate(percent):
        made.options.percent[<int>i] = chance
    ops.initial_state = initial_state
    ops.current_player = current_player
    ops.legal_actions = ops.search_actions = legal_actions
    ops.apply = apply
    ops.sample_chance = sample_chance
    ops.apply_chance = apply_chance
    ops.returns = returns
    ops.scores = scores
    ops.event_key = event_key
    made.check_ops()
    return made
