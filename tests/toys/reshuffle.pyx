"""A draw game for two with six cards, 0 to 5, one of them laid aside unseen. The discard is shuffled into the next pile.

Each holds one card. A turn draws a card and discards one of the two. When the pile is used up, a chance node shuffles the
discard pile: nobody sees the outcome. After eight turns the cards are shown and the higher one wins. Actions: 0 to 5
discard that card, 6 draws.
"""

from libc.string cimport memset

from bvb_core.game cimport CHANCE_NODE, TERMINAL_NODE
from bvb_core.rng cimport rng_below
from tests.toys.base cimport *

cdef enum:
    N_CARDS = 6
    PILE = 3
    N_TURNS = 8
    DRAW = N_CARDS
    SHUFFLE = N_CARDS + 1
    HIDDEN = -1
    NONE = -2
    ALL = (1 << N_CARDS) - 1


cdef struct Reshuffle:
    int32_t hand[2]
    int32_t drawn          # the second card of the seat to move, NONE before the draw
    int32_t aside
    int32_t n_pile
    int32_t pile[PILE]     # top last
    int32_t discard        # set
    int32_t piled          # set of the cards that made up this pile
    int32_t from_pile      # set of seats whose card was one of `piled`
    int32_t seen           # set of the cards that have ever been discarded
    int32_t turn
    int32_t last           # action, or SHUFFLE


cdef void initial_state(const void *ctx, Rng *rng, void *state) noexcept nogil:
    cdef Reshuffle *s = <Reshuffle *>state
    cdef int32_t cards[N_CARDS]
    cdef int i
    memset(s, 0, sizeof(Reshuffle))
    for i in range(N_CARDS):
        cards[i] = i
    shuffle(rng, cards, N_CARDS)
    s.hand[0] = s.hand[1] = HIDDEN
    s.drawn = NONE
    s.n_pile = PILE
    s.piled = ALL
    s.from_pile = 3
    s.last = -1
    place(s, cards)


cdef void shuffle(Rng *rng, int32_t *cards, int n) noexcept nogil:
    cdef int i, j
    for i in range(n - 1, 0, -1):
        j = rng_below(rng, i + 1)
        cards[i], cards[j] = cards[j], cards[i]


cdef void place(Reshuffle *s, const int32_t *cards) noexcept nogil:
    """Put the cards at the places that are HIDDEN, and into the pile."""
    cdef int i, n = 1
    s.aside = cards[0]
    for i in range(2):
        if s.hand[i] == HIDDEN:
            s.hand[i] = cards[n]
            n += 1
    if s.drawn == HIDDEN:
        s.drawn = cards[n]
        n += 1
    for i in range(s.n_pile):
        s.pile[i] = cards[n + i]


cdef bint is_possible(const Reshuffle *s) noexcept nogil:
    """Whether a placement agrees with the public history."""
    cdef int i
    if s.seen >> s.aside & 1 or s.drawn != NONE and not s.piled >> s.drawn & 1:
        return False
    for i in range(s.n_pile):
        if not s.piled >> s.pile[i] & 1:
            return False
    for i in range(2):
        if (s.piled >> s.hand[i] & 1) != (s.from_pile >> i & 1):
            return False
    return True


cdef int32_t current_player(const void *ctx, const void *state) noexcept nogil:
    cdef const Reshuffle *s = <const Reshuffle *>state
    if s.turn == N_TURNS:
        return TERMINAL_NODE
    return CHANCE_NODE if s.n_pile == 0 and s.drawn == NONE else s.turn & 1


cdef int32_t legal_actions(const void *ctx, const void *state, int32_t *actions) noexcept nogil:
    cdef const Reshuffle *s = <const Reshuffle *>state
    cdef int32_t player = current_player(ctx, state), held
    if player < 0:
        return 0
    if s.drawn == NONE:
        actions[0] = DRAW
        return 1
    held = s.hand[player]
    actions[0], actions[1] = min(held, s.drawn), max(held, s.drawn)
    return 2


cdef void apply(const void *ctx, void *state, int32_t action) noexcept nogil:
    cdef Reshuffle *s = <Reshuffle *>state
    cdef int player = s.turn & 1
    s.last = action
    if action == DRAW:
        s.n_pile -= 1
        s.drawn = s.pile[s.n_pile]
        s.pile[s.n_pile] = 0
        return
    if not s.piled >> action & 1:
        s.from_pile |= 1 << player
    if action == s.hand[player]:
        s.hand[player] = s.drawn
    s.drawn = NONE
    s.discard |= 1 << action
    s.seen |= 1 << action
    s.turn += 1


cdef int32_t sample_chance(const void *ctx, const void *state, Rng *rng) noexcept nogil:
    """The number of a permutation of the three discarded cards."""
    return rng_below(rng, 6)


cdef void apply_chance(const void *ctx, void *state, int32_t outcome) noexcept nogil:
    cdef Reshuffle *s = <Reshuffle *>state
    cdef int32_t left[PILE]
    cdef int card, n = 0, chosen
    for card in range(N_CARDS):
        if s.discard >> card & 1:
            left[n] = card
            n += 1
    s.n_pile = n
    while n:
        chosen = outcome % n
        outcome = outcome // n
        s.pile[n - 1] = left[chosen]
        n -= 1
        left[chosen] = left[n]
    s.piled = s.discard
    s.discard = 0
    s.from_pile = 0
    s.last = SHUFFLE


cdef void returns(const void *ctx, const void *state, double *shares) noexcept nogil:
    cdef const Reshuffle *s = <const Reshuffle *>state
    halves(0 if s.turn < N_TURNS else 2 * (s.hand[0] > s.hand[1]) - 1, shares)


cdef void scores(const void *ctx, const void *state, double *points) noexcept nogil:
    cdef const Reshuffle *s = <const Reshuffle *>state
    cdef int p
    for p in range(2):
        points[p] = s.hand[p] if s.turn == N_TURNS else 0


cdef void observe(const void *ctx, const void *state, int32_t observer, void *observation) noexcept nogil:
    cdef Reshuffle *seen = <Reshuffle *>observation
    cdef int p
    seen[0] = (<const Reshuffle *>state)[0]
    memset(&seen.pile, 0, sizeof(seen.pile))
    seen.aside = HIDDEN
    if seen.turn < N_TURNS:
        for p in range(2):
            if p != observer:
                seen.hand[p] = HIDDEN
        if seen.drawn != NONE and observer != seen.turn & 1:
            seen.drawn = HIDDEN


cdef void determinize(const void *ctx, const void *belief, Rng *rng, void *state) noexcept nogil:
    cdef const Reshuffle *known = <const Reshuffle *>belief
    cdef Reshuffle *s = <Reshuffle *>state
    cdef int32_t cards[N_CARDS]
    cdef int card, n = 0
    for card in range(N_CARDS):
        if not known.discard >> card & 1 and card != known.hand[0] and card != known.hand[1] and card != known.drawn:
            cards[n] = card
            n += 1
    while True:
        shuffle(rng, cards, n)
        s[0] = known[0]
        place(s, cards)
        if is_possible(s):
            return


cdef uint64_t event_key(const void *ctx, const void *state, int32_t observer) noexcept nogil:
    cdef const Reshuffle *s = <const Reshuffle *>state
    if s.last == DRAW:
        return key_of(DRAW, s.drawn if observer == s.turn & 1 else HIDDEN, NONE + 1)
    if s.turn == N_TURNS:
        return key_of(s.last, s.hand[0], s.hand[1])
    return key_of(s.last, HIDDEN, HIDDEN)


def game() -> ToyGame:
    cdef ToyGame made = ToyGame()
    cdef GameOps *ops = made.open_ops(2, sizeof(Reshuffle), N_CARDS + 1)
    ops.initial_state = initial_state
    ops.current_player = current_player
    ops.legal_actions = ops.search_actions = legal_actions
    ops.apply = apply
    ops.sample_chance = sample_chance
    ops.apply_chance = apply_chance
    ops.returns = returns
    ops.scores = scores
    ops.observe = observe
    ops.determinize = determinize
    ops.event_key = event_key
    made.check_ops()
    return made
