"""Card codes and the immutable context (deck and options) that every rules function gets."""

from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from bvb_core.rng cimport Rng


cdef enum:
    MAX_PLAYERS = 5
    N_TYPES = 3
    N_PILES = 3
    PILE_CAPACITY = 64
    ARMY_CAPACITY = 32
    MAX_MASKS = 4
    MAX_HEAD_CARDS = 32
    N_BODIES = 576         # (torso index + 1) * 64 part sets: 9 * 64
    N_SLOTS = 64           # monsters that have a head or a torso
    N_REMAINS = 64         # what is left of monsters with neither

# Codes of card kinds. Cards of a hand come first; a code is the same in every deck, a kind's index is its place in the deck.
cdef enum:  # Kind
    HEADS = 0              # 8 kinds
    TORSOS = 8             # 8 kinds
    ARM = 16
    LEGS = 17
    TOOL = 18
    HAT = 19
    MASK = 20
    SWAP = 21
    DISMEMBER = 22
    LULLABY = 23
    N_HAND_KINDS = 24
    WILD_PROVOKE = 24
    BABIES = 32            # 32 + 10 * type + points
    UNKNOWN = 62           # hidden from the observer
    N_CODES = 64
    NONE = 255

# Bits of Monster.parts.
cdef enum:  # Part
    LEFT_ARM = 1
    RIGHT_ARM = 2
    HAS_LEGS = 4
    LEFT_TOOL = 8
    RIGHT_TOOL = 16
    HAS_HAT = 32
    N_PART_SETS = 64

# What can be done to a monster: bits of Capability tables, and rows of the masks kept in State.
cdef enum:  # Capability
    LIVING = 0             # rows 0 to 8: by the owner
    NEEDS_TORSO = 1
    OPEN_LEFT = 2          # a free left shoulder
    OPEN_RIGHT = 3
    OPEN_WAIST = 4
    SOCKET_LEFT = 5        # a free socket for a tool
    SOCKET_RIGHT = 6
    BARE = 7               # no hat
    DEAD_NECK = 8          # dead, with a torso
    N_OWN = 9
    EDGE = 9               # rows 9 to 16: by anyone; part (head, torso, ...) is an edge card
    N_EDGES = 8
    N_CAPABILITIES = 17

cdef enum:  # EdgePart
    PART_HEAD = 0
    PART_TORSO = 1
    PART_LEFT_ARM = 2
    PART_RIGHT_ARM = 3
    PART_LEGS = 4
    PART_LEFT_TOOL = 5
    PART_RIGHT_TOOL = 6
    PART_HAT = 7

cdef enum:  # Verb
    V_DRAW = 0             # a: pile
    V_PASS = 1
    V_PROVOKE = 2          # a: type
    V_WILD = 3             # a: type
    V_LULLABY = 4          # a: type
    V_DIVE = 5             # a: kind
    V_HEAD = 6             # a: kind, b: slot of a dead monster or NEW
    V_MASK = 7             # likewise
    V_TORSO = 8            # a: kind, b: slot
    V_ARM = 9              # a: side, b: slot
    V_LEGS = 10            # b: slot
    V_TOOL = 11            # a: side, b: slot
    V_HAT = 12             # b: slot
    V_SWAP = 13            # b, c: slots, b < c
    V_DISMEMBER = 14       # a: EdgePart, b: slot
    V_STRIP = 15           # a: EdgePart, b: place among the remains
    N_VERBS = 16

cdef enum:
    NEW = 255


cdef struct Act:
    # An action taken apart.
    uint8_t verb
    uint8_t a
    uint8_t b
    uint8_t c


cdef struct Ctx:
    # Options.
    int players            # 2 to 5
    int base_actions       # per turn, before tools
    int turn_limit
    bint practice
    bint armageddon
    # Deck.
    int n_cards
    int n_kinds
    uint8_t code[N_CODES]          # kind index -> code
    uint8_t index[N_CODES]         # code -> kind index
    uint8_t count[N_CODES]         # by code, as are the next three
    int8_t strength[N_CODES]
    uint8_t types[N_CODES]         # heads: bit set of types; Babies: the bit of their type
    uint8_t points[N_CODES]        # Babies
    int n_heads                    # kinds
    int n_torsos                   # kinds
    uint8_t dealt_head             # code of the head dealt to every player, NONE in practice
    bint arm_socket
    # By body, which is 64 * (torso code - TORSOS + 1, or 0 without a torso) + parts: capability bits without and with
    # a living head, and the sum of torso and parts.
    uint32_t capability[2][N_BODIES]
    int16_t body_strength[N_BODIES]
    # Actions: ids are dense, and depend on the deck alone.
    int n_slots                    # places a monster can have
    int n_remains
    int n_actions
    int first_action[N_VERBS + 1]
    Act *acts                      # id -> action


cdef inline int baby_type(int kind) noexcept nogil:
    return (kind - BABIES) // 10


cdef inline int body_index(int torso, int parts) noexcept nogil:
    return parts if torso == NONE else (torso - TORSOS + 1) * N_PART_SETS + parts


cdef inline int popcount(uint64_t x) noexcept nogil:
    x = x - ((x >> 1) & <uint64_t>0x5555555555555555)
    x = (x & <uint64_t>0x3333333333333333) + ((x >> 2) & <uint64_t>0x3333333333333333)
    x = (x + (x >> 4)) & <uint64_t>0x0F0F0F0F0F0F0F0F
    return <int>((x * <uint64_t>0x0101010101010101) >> 56)


cdef inline void count_parts(int parts, int *total) noexcept nogil:
    """Add the cards of a set of parts to totals by code."""
    total[ARM] += (parts & LEFT_ARM) + (parts >> 1 & 1)
    total[LEGS] += parts >> 2 & 1
    total[TOOL] += (parts >> 3 & 1) + (parts >> 4 & 1)
    total[HAT] += parts >> 5 & 1


cdef extern from *:
    """
    #define BVB_POP2(n) n, n + 1, n + 1, n + 2
    #define BVB_POP4(n) BVB_POP2(n), BVB_POP2(n + 1), BVB_POP2(n + 1), BVB_POP2(n + 2)
    #define BVB_POP6(n) BVB_POP4(n), BVB_POP4(n + 1), BVB_POP4(n + 1), BVB_POP4(n + 2)
    static const uint8_t bvb_pop8[256] = {BVB_POP6(0), BVB_POP6(1), BVB_POP6(1), BVB_POP6(2)};
    #define bvb_ctz(x) __builtin_ctzll(x)

    /* Index of the k-th lowest set bit: the byte by broadword comparison (Vigna 2008, algorithm 2), then bit by bit. */
    static inline int bvb_select64(uint64_t x, int k) {
        uint64_t const ones = 0x0101010101010101, tops = 0x8080808080808080;
        uint64_t sums = x - ((x >> 1) & 0x5555555555555555);
        sums = (sums & 0x3333333333333333) + ((sums >> 2) & 0x3333333333333333);
        sums = ((sums + (sums >> 4)) & 0x0F0F0F0F0F0F0F0F) * ones;
        uint64_t below = ((((uint64_t)k * ones) | tops) - sums) & tops;
        int place = (int)(((below >> 7) * ones >> 56) * 8);
        int rank = k - (int)((sums << 8 >> place) & 255);
        unsigned byte = (unsigned)(x >> place) & 255;
        while (rank--)
            byte &= byte - 1;
        return place + __builtin_ctz(byte);
    }

    /* By selection in place of a loop, whose end could not be predicted. */
    static inline int bvb_nth_bit(uint64_t x, int n) {
        while (n > 3) {
            x &= x - 1; x &= x - 1; x &= x - 1; x &= x - 1;
            n -= 4;
        }
        uint64_t const x1 = x & (x - 1), x2 = x1 & (x1 - 1), x3 = x2 & (x2 - 1);
        uint64_t const even = n & 2 ? x2 : x, odd = n & 2 ? x3 : x1;
        return __builtin_ctzll(n & 1 ? odd : even);
    }

    /* In assembler, so that the rest is compiled for every processor. */
    static inline int bvb_nth_bit_bmi2(uint64_t x, int n) {
    #ifdef __x86_64__
        uint64_t bit = (uint64_t)1 << n;
        __asm__("pdepq %1, %0, %0" : "+r"(bit) : "r"(x));
        return __builtin_ctzll(bit);
    #else
        return bvb_nth_bit(x, n);
    #endif
    }

    /* The first two generations of Zen have it in slow microcode. */
    static inline int bvb_has_fast_bmi2(void) {
    #ifdef __x86_64__
        return __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("znver1") && !__builtin_cpu_is("znver2");
    #else
        return 0;
    #endif
    }
    """
    int ctz "bvb_ctz"(uint64_t x) noexcept nogil
    int nth_bit_portable "bvb_nth_bit"(uint64_t x, int n) noexcept nogil
    int nth_bit_bmi2 "bvb_nth_bit_bmi2"(uint64_t x, int n) noexcept nogil
    bint has_fast_bmi2 "bvb_has_fast_bmi2"() noexcept nogil
    int select64 "bvb_select64"(uint64_t x, int k) noexcept nogil
    const uint8_t bvb_pop8[256]


# What the processor can do: the type of an argument without a value, so that functions are compiled once for each.
ctypedef uint8_t Portable
ctypedef uint16_t Bmi2
ctypedef fused Cpu:
    Portable
    Bmi2


cdef inline int nth_bit(uint64_t x, int n, Cpu cpu) noexcept nogil:
    """Index of the n-th lowest set bit, counted from 0; n < popcount(x). For small n; select64 is for any."""
    if Cpu is Bmi2:
        return nth_bit_bmi2(x, n)
    else:
        return nth_bit_portable(x, n)


cdef int fill_ctx(Ctx *ctx, object deck, int players, bint practice, bint armageddon, int turn_limit) except -1
cdef void free_ctx(Ctx *ctx) noexcept
