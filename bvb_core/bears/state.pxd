"""The state of a game: a plain struct without pointers; cloning is memcpy."""

from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from bvb_core.bears.cards cimport *
from bvb_core.rng cimport Rng


cdef enum:  # Reason
    RUNNING = 0
    FINISHED = 1
    TURN_LIMIT = 2
    PRACTICE = 3

cdef enum:  # PendingWild
    NOT_PENDING = 0
    WILD_DRAWN = 1
    WILD_DIVED = 2

# What became of an army that was on the table when State.fate began to be kept.
cdef enum:  # Fate
    NOT_KEPT = 0
    WAITING = 1
    EATEN_BY = 3           # plus the seat; minus 1 for nobody

cdef enum:
    PUBLIC = 5             # the observer who holds no seat; knows what everyone knows
    N_OBSERVERS = 6
    EVERYONE = 63          # set of all observers
    IN_HAND = 1            # Fact.places: bit 0 is the hand, bit 1 + i is mask i


cdef struct Monster:
    uint8_t head           # code; NONE when dead; UNKNOWN when hidden from the observer
    uint8_t torso          # code or NONE
    uint8_t parts          # set of Part
    uint8_t owner
    uint8_t mask           # 1 + index of the mask on its head, 0 without
    uint8_t tools          # tools that count: 0 when dead
    int16_t strength       # as it would fight
    uint32_t capabilities
    uint16_t number        # N of mN
    uint16_t reserved

cdef struct Remains:
    uint8_t parts
    uint8_t owner
    uint16_t number

cdef struct Mask:
    uint8_t slot           # of the monster
    uint8_t known          # set of observers who have seen the head
    uint8_t excluded       # set of types that the head is publicly known not to fight in
    uint8_t used

cdef struct Fact:
    # One located copy of a head (other kinds are counted in State.located). places[o] is what observer o knows; 0: nothing.
    uint8_t owner
    uint8_t kind
    uint8_t places[N_OBSERVERS]

cdef struct Reveal:
    uint16_t number        # of the monster
    uint8_t kind
    uint8_t viewers        # set of observers who are shown it by this event

cdef struct Shown:
    # What the last action showed, besides itself: enough for everyone's event lines and keys.
    int32_t action         # id, -1 before the first
    uint8_t actor
    uint8_t kind           # drawn or dived, else NONE
    uint8_t n_reveals
    uint8_t n_army         # Babies turned over
    uint8_t armageddon_reveals      # of a FINISHED game: where what Armageddon turned over begins
    uint8_t armageddon_army
    uint16_t monster[2]    # numbers of the monsters that the action names, or that it created
    # A swap shows up to two heads, and an Armageddon after it all that are masked.
    Reveal reveals[MAX_MASKS + 2]
    # A battle that is tied may be followed by Armageddon.
    uint8_t army[(N_TYPES + 1) * ARMY_CAPACITY]

cdef struct State:
    # Turn.
    uint16_t turn          # from 1
    uint16_t next_number   # N of the next new monster
    int8_t current         # seat
    int8_t first_player
    uint8_t used           # actions used in this turn
    uint8_t pending        # PendingWild
    int8_t final_left      # turns after this one; -1 while a pile has cards
    uint8_t reason         # Reason, RUNNING while the game runs
    uint8_t piles_left     # number of piles with cards
    uint8_t n_discard_kinds
    uint8_t untracked      # in a playout: no card is located any more
    uint8_t visible[N_TYPES]        # living monsters with a head known to all, by type
    uint8_t tools[MAX_PLAYERS]      # tools that count
    uint8_t n_hand[MAX_PLAYERS]
    uint8_t n_pile[N_PILES]
    uint8_t n_army[N_TYPES]
    uint8_t n_masks                 # masks on the table
    uint8_t fate[N_TYPES]           # Fate; kept in searches only, NOT_KEPT in games
    uint16_t n_edges                # edge cards on the table
    uint32_t hand_kinds[MAX_PLAYERS]         # set of kinds
    uint64_t discard_kinds                   # set of kinds
    uint64_t slots                           # set of places taken
    uint64_t remains_taken                   # likewise
    uint64_t own[MAX_PLAYERS][N_OWN]         # sets of places, by owner and Capability
    uint64_t edges[N_EDGES]                  # sets of places, by part
    uint8_t n_own[MAX_PLAYERS][N_OWN]        # their sizes
    uint8_t hand[MAX_PLAYERS][N_HAND_KINDS]
    uint8_t discard[N_CODES]
    int16_t score[MAX_PLAYERS]
    uint8_t babies[MAX_PLAYERS]              # cards collected
    Mask masks[MAX_MASKS]
    uint8_t pile[N_PILES][PILE_CAPACITY]     # top last
    uint8_t army[N_TYPES][ARMY_CAPACITY]     # bottom first
    uint8_t army_known[N_TYPES][ARMY_CAPACITY]  # sets of observers
    uint8_t collected[MAX_PLAYERS][N_CODES - BABIES]
    # Knowledge of located cards: counts for kinds other than heads (all but the owner know the same of them), facts for heads.
    uint8_t located[MAX_PLAYERS][N_HAND_KINDS]
    uint8_t n_facts
    Fact facts[MAX_HEAD_CARDS]
    Shown shown
    Remains remains[N_REMAINS]
    Monster monsters[N_SLOTS]


cdef struct View:
    # What one observer knows. `state` is the state with everything hidden from the observer blanked: hands and piles are
    # empty (their sizes stay), hidden Babies and heads are UNKNOWN, and only the observer's column of the facts is filled.
    int32_t observer       # seat, or PUBLIC
    int32_t reserved
    State state


cdef inline void hand_add(State *s, int seat, int kind) noexcept nogil:
    s.hand[seat][kind] += 1
    s.n_hand[seat] += 1
    s.hand_kinds[seat] |= <uint32_t>1 << kind


cdef inline void hand_remove(State *s, int seat, int kind) noexcept nogil:
    s.hand[seat][kind] -= 1
    s.n_hand[seat] -= 1
    s.hand_kinds[seat] &= ~(<uint32_t>(s.hand[seat][kind] == 0) << kind)


# The state of the discard pile is hard to predict: no branches here.
cdef inline void discard_some(State *s, int kind, int n) noexcept nogil:
    """Add n cards, possibly none."""
    cdef int some = n > 0
    s.n_discard_kinds += some & (s.discard[kind] == 0)
    s.discard_kinds |= <uint64_t>some << kind
    s.discard[kind] += n


cdef inline void discard_add(State *s, int kind) noexcept nogil:
    s.n_discard_kinds += s.discard[kind] == 0
    s.discard_kinds |= <uint64_t>1 << kind
    s.discard[kind] += 1


cdef inline void discard_remove(State *s, int kind) noexcept nogil:
    cdef int last
    s.discard[kind] -= 1
    last = s.discard[kind] == 0
    s.n_discard_kinds -= last
    s.discard_kinds &= ~(<uint64_t>last << kind)


cdef inline int armies_with_babies(const State *s) noexcept nogil:
    """Set of types."""
    return (s.n_army[0] != 0) | (s.n_army[1] != 0) << 1 | (s.n_army[2] != 0) << 2


cdef inline void army_push(State *s, int kind, int known) noexcept nogil:
    cdef int t = baby_type(kind)
    cdef int n = s.n_army[t]
    s.army[t][n] = kind
    s.army_known[t][n] = known
    s.n_army[t] = n + 1


cdef void empty_state(State *s, int first_player) noexcept nogil
cdef void start_game(const Ctx *ctx, State *s) noexcept nogil
cdef void deal(const Ctx *ctx, Rng *rng, State *s) noexcept nogil
cdef void rebuild(const Ctx *ctx, State *s) noexcept nogil
cdef object state_problem(const Ctx *ctx, const State *s)
