from bvb_core.bears.cards cimport *
from bvb_core.bears.state cimport *


cdef enum:
    MAX_CHOICES = 65536

# Why there is no belief: what prepare_belief returns; `where` holds a kind, type or seat.
cdef enum:  # BeliefProblem
    CONSISTENT = 0
    TOO_MANY_CARDS = 1     # of a kind
    ARMY_TOO_LARGE = 2     # more unknown Babies of a type than unseen ones
    HAND_TOO_SMALL = 3     # more located cards than the seat can hold
    CARDS_DO_NOT_ADD_UP = 4
    NO_ASSIGNMENT = 5
    TOO_MANY_CHOICES = 6


cdef struct Located:
    # Located copies of a head that have the same player, kind and places, with a hidden mask among the places.
    uint8_t owner
    uint8_t kind
    uint8_t masks          # set of indices into Belief.masks
    uint8_t count

cdef struct Choice:
    # One way to fill all hidden masks. head[i] is a kind (a free copy), or N_CODES + an index into Belief.located.
    double cumulative      # weight of this and all earlier choices
    uint8_t head[MAX_MASKS]

cdef struct Belief:
    # The base of every determinization, with all that is certain in place.
    State base
    int32_t observer
    int32_t where
    # Cards that may be in hands, piles and under masks; those that can only be in piles; unseen Babies of each type.
    int32_t n_free
    int32_t n_pile_only
    int32_t n_unseen[N_TYPES]
    uint8_t free[N_PILES * PILE_CAPACITY]
    uint8_t pile_only[N_PILES * PILE_CAPACITY]
    uint8_t unseen[N_TYPES][ARMY_CAPACITY]
    int32_t n_open[MAX_PLAYERS]          # hand cards neither known nor located
    # Hidden masks and the located heads that may be there.
    int32_t n_masks
    uint8_t masks[MAX_MASKS]             # indices into State.masks
    int32_t n_located
    Located located[MAX_HEAD_CARDS]
    int32_t n_choices
    double scale           # logarithm that weights are relative to
    double total
    Choice choices[MAX_CHOICES]


cdef int prepare_belief(const Ctx *ctx, const View *view, Belief *belief) noexcept nogil
cdef void determinize(const Ctx *ctx, const Belief *belief, Rng *rng, State *s) noexcept nogil
