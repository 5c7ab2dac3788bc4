"""A race with dice. Actions: 0 takes the die of three faces, 1 the one of six, whose 1 throws back to the start.

The roll is a chance node. Who gets to the goal first wins; the goal is 8.
"""

from bvb_core.game cimport CHANCE_NODE, TERMINAL_NODE
from bvb_core.rng cimport rng_below
from tests.toys.base cimport *

cdef enum:
    GOAL = 8
    NO_DIE = -1
    BIG_DIE = 1


cdef struct Race:
    int32_t place[5]       # by seat
    int32_t current
    int32_t die            # taken and not yet rolled
    int32_t last           # action, or 10 + roll


cdef inline bint is_over(const Race *s) noexcept nogil:
    return s.place[s.current] >= GOAL


cdef void initial_state(const void *ctx, Rng *rng, void *state) noexcept nogil:
    (<Race *>state)[0] = Race([0, 0, 0, 0, 0], 0, NO_DIE, -1)


cdef int32_t current_player(const void *ctx, const void *state) noexcept nogil:
    cdef const Race *s = <const Race *>state
    if is_over(s):
        return TERMINAL_NODE
    return s.current if s.die == NO_DIE else CHANCE_NODE


cdef int32_t legal_actions(const void *ctx, const void *state, int32_t *actions) noexcept nogil:
    if current_player(ctx, state) < 0:
        return 0
    actions[0], actions[1] = 0, 1
    return 2


cdef void apply(const void *ctx, void *state, int32_t action) noexcept nogil:
    (<Race *>state).die = (<Race *>state).last = action


cdef int32_t sample_chance(const void *ctx, const void *state, Rng *rng) noexcept nogil:
    return 1 + rng_below(rng, 6 if (<const Race *>state).die == BIG_DIE else 3)


cdef void apply_chance(const void *ctx, void *state, int32_t outcome) noexcept nogil:
    cdef Race *s = <Race *>state
    if s.die == BIG_DIE and outcome == 1:
        s.place[s.current] = 0
    else:
        s.place[s.current] += outcome
    s.die = NO_DIE
    s.last = 10 + outcome
    if not is_over(s):
        s.current = (s.current + 1) % (<const Options *>ctx).ops.num_players


cdef void returns(const void *ctx, const void *state, double *shares) noexcept nogil:
    """The first in the race share the victory while it runs."""
    cdef const Race *s = <const Race *>state
    cdef int32_t players = (<const Options *>ctx).ops.num_players, p, best = 0, n = 0
    for p in range(players):
        if s.place[p] > best:
            best, n = s.place[p], 0
        n += s.place[p] == best
    for p in range(players):
        shares[p] = 1.0 / n if s.place[p] == best else 0.0


cdef void scores(const void *ctx, const void *state, double *points) noexcept nogil:
    cdef int32_t p
    for p in range((<const Options *>ctx).ops.num_players):
        points[p] = (<const Race *>state).place[p]


cdef uint64_t event_key(const void *ctx, const void *state, int32_t observer) noexcept nogil:
    return key_of((<const Race *>state).last, 0, 0)


def game(players: int) -> ToyGame:
    cdef ToyGame made = ToyGame()
    cdef GameOps *ops = made.open_ops(players, sizeof(Race), 2)
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
