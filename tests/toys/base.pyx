"""What the toy games share: uniform play, and observations that are states with the hidden cards blanked."""

from libc.string cimport memcpy

from bvb_core.game cimport ABI_VERSION, CHANCE_NODE, TERMINAL_NODE
from bvb_core.rng cimport rng_below

cdef enum:
    MAX_ACTIONS = 16


cdef int32_t itself(const void *ctx, const void *state, int32_t action) noexcept nogil:
    return action


cdef int32_t random_action(const void *ctx, const void *state, Rng *rng) noexcept nogil:
    cdef int32_t actions[MAX_ACTIONS]
    cdef int32_t n = (<const Options *>ctx).ops.legal_actions(ctx, state, actions)
    return actions[rng_below(rng, n)]


cdef int32_t playout(const void *ctx, void *state, Rng *rng) noexcept nogil:
    cdef const GameOps *ops = (<const Options *>ctx).ops
    cdef int32_t player = ops.current_player(ctx, state), n = 0
    while player != TERMINAL_NODE:
        if player == CHANCE_NODE:
            ops.apply_chance(ctx, state, ops.sample_chance(ctx, state, rng))
        else:
            ops.apply(ctx, state, random_action(ctx, state, rng))
            n += 1
        player = ops.current_player(ctx, state)
    return n


cdef void see_all(const void *ctx, const void *state, int32_t observer, void *observation) noexcept nogil:
    memcpy(observation, state, (<const Options *>ctx).ops.state_size)


cdef int32_t believe_it(const void *ctx, const void *observation, void *belief) noexcept nogil:
    memcpy(belief, observation, (<const Options *>ctx).ops.state_size)
    return 0


cdef void nothing_hidden(const void *ctx, const void *belief, Rng *rng, void *state) noexcept nogil:
    memcpy(state, belief, (<const Options *>ctx).ops.state_size)


cdef class ToyGame(Game):
    """A toy game."""

    cdef GameOps *open_ops(self, int players, size_t state_size, int n_actions):
        """The table of functions, for the game to enter its own; those for perfect information are in it."""
        self.ops = GameOps(
            abi_version=ABI_VERSION,
            struct_size=sizeof(GameOps),
            num_players=players,
            state_size=state_size,
            observation_size=state_size,
            belief_size=state_size,
            num_distinct_actions=n_actions,
            max_legal_actions=n_actions,
            num_outcomes=0,
            follow=NULL,
            outcomes=NULL,
            representative=itself,
            random_action=random_action,
            playout=playout,
            observe=see_all,
            prepare_belief=believe_it,
            determinize=nothing_hidden,
        )
        self.options.ops = &self.ops
        self.ctx = &self.options
        assert n_actions <= MAX_ACTIONS
        return &self.ops
