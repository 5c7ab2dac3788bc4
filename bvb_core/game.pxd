"""The contract that every game meets, and the Python objects that stand on it.

A game fills one GameOps in its `ops` module. The search in `ai` knows nothing else, so that one compiled search plays
every game. All functions are `noexcept nogil` and take `ctx` first: the immutable deck and options, held by the Game and
shared by all threads. They trust their caller: what comes from outside is checked by the Python classes.
"""

from libc.stdint cimport int32_t, uint64_t

from bvb_core.rng cimport Rng


cdef enum:
    ABI_VERSION = 2
    MAX_SEATS = 8
    MAX_OUTCOMES = 8
    SPECTATOR = -1         # an observer who holds no seat

# What current_player gives besides a seat.
cdef enum:  # Sentinel
    CHANCE_NODE = -1
    TERMINAL_NODE = -4

# What outcomes gives besides a seat.
cdef enum:  # Outcome
    NOBODY = -1
    ABSENT = -2


cdef struct GameOps:
    int32_t abi_version            # ABI_VERSION of the header that the game was compiled with
    int32_t struct_size            # sizeof(GameOps), likewise
    int32_t num_players
    size_t state_size              # bytes; a state is a plain struct without pointers, cloned by memcpy
    size_t observation_size
    size_t belief_size
    int32_t num_distinct_actions   # ids are 0 to this - 1
    int32_t max_legal_actions      # room that the two action lists need
    int32_t num_outcomes           # prizes whose winners an analysis counts, at most MAX_OUTCOMES; 0: none

    # A new game from the chance of `rng`.
    void (*initial_state)(const void *ctx, Rng *rng, void *state) noexcept nogil
    # Seat to move, CHANCE_NODE or TERMINAL_NODE.
    int32_t (*current_player)(const void *ctx, const void *state) noexcept nogil
    # All legal actions of the current player in increasing order, their number returned; none at chance nodes and at the end.
    int32_t (*legal_actions)(const void *ctx, const void *state, int32_t *actions) noexcept nogil
    # Legal actions, the first one of each class of symmetric ones.
    int32_t (*search_actions)(const void *ctx, const void *state, int32_t *actions) noexcept nogil
    # The search action that stands for a legal action.
    int32_t (*representative)(const void *ctx, const void *state, int32_t action) noexcept nogil
    # Play a legal action. Uses no chance: a roll or a reshuffle in mid-game is a chance node.
    void (*apply)(const void *ctx, void *state, int32_t action) noexcept nogil
    # At a chance node: draw an outcome (at least 0), and play one.
    int32_t (*sample_chance)(const void *ctx, const void *state, Rng *rng) noexcept nogil
    void (*apply_chance)(const void *ctx, void *state, int32_t outcome) noexcept nogil
    # Shares of the victory as the game stands, one a seat, summing to 1; final when it is over.
    void (*returns)(const void *ctx, const void *state, double *shares) noexcept nogil
    # Points as the game stands, one a seat.
    void (*scores)(const void *ctx, const void *state, double *points) noexcept nogil
    # From here on the state keeps in mind who wins each prize that is there now. Changes nothing else.
    void (*follow)(const void *ctx, void *state) noexcept nogil
    # At the end: the seat that won each prize, NOBODY, or ABSENT when it was not there.
    void (*outcomes)(const void *ctx, const void *state, int32_t *seats) noexcept nogil
    # A uniformly random one of the legal actions.
    int32_t (*random_action)(const void *ctx, const void *state, Rng *rng) noexcept nogil
    # Play uniformly random legal actions (and chance) to the end of the game; returns the number of actions.
    int32_t (*playout)(const void *ctx, void *state, Rng *rng) noexcept nogil

    # What an observer (a seat or SPECTATOR) knows: the only function that could leak. Equal knowledge gives equal bytes.
    void (*observe)(const void *ctx, const void *state, int32_t observer, void *observation) noexcept nogil
    # All of the belief that depends on the observation alone. Returns 0, or a code that Game.belief_problem words.
    int32_t (*prepare_belief)(const void *ctx, const void *observation, void *belief) noexcept nogil
    # One draw from the belief: a state that the observer cannot tell from the true one.
    void (*determinize)(const void *ctx, const void *belief, Rng *rng, void *state) noexcept nogil
    # A key of what the last action (or chance outcome) showed the observer, itself included; read from the state after it.
    # From the same state two transitions have equal keys exactly when the observer cannot tell them apart.
    uint64_t (*event_key)(const void *ctx, const void *state, int32_t observer) noexcept nogil


cdef class Game:
    cdef GameOps ops
    cdef const void *ctx
    cdef int check_ops(self) except -1
    cpdef str action_text(self, State state, int32_t action)
    cpdef str seen_text(self, State state, int32_t action, object observer)
    cpdef tuple belief_problem(self, Observation observation, int32_t code)


cdef class State:
    cdef readonly Game game
    cdef void *data
    cdef list _ids(self, int32_t (*listing)(const void *, const void *, int32_t *) noexcept nogil)


cdef class Observation:
    cdef readonly Game game
    cdef readonly object seat      # None for a spectator
    cdef void *data
    cdef void *belief              # prepared at first use
    cdef State sample              # some state of the information set, for what all of them share
    cdef void *prepared(self) except NULL
    cpdef State any_state(self)


cdef uint64_t seed_bits(object seed) except? 0
