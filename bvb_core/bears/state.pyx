"""Setting a game up (rules, section 2), what is derived in a state, and the checks of a state from outside."""

from libc.string cimport memcmp, memcpy, memset

from bvb_core.bears.monsters cimport count_visible, head_is_public, refresh, strip_edges
from bvb_core.bears.observe cimport locate
from bvb_core.rng cimport rng_below

# The size is part of the format of saved states: change FORMAT in ops.pyx with it.
assert sizeof(Monster) == 16 and sizeof(State) > 0, sizeof(State)


cdef void empty_state(State *s, int first_player) noexcept nogil:
    memset(s, 0, sizeof(State))
    s.turn = 1
    s.next_number = 1
    s.current = s.first_player = first_player
    s.final_left = -1
    s.shown.action = -1
    s.shown.kind = NONE


cdef void shuffle(Rng *rng, uint8_t *cards, int n) noexcept nogil:
    cdef int i, j
    for i in range(n - 1, 0, -1):
        j = rng_below(rng, i + 1)
        cards[i], cards[j] = cards[j], cards[i]


cdef void start_game(const Ctx *ctx, State *s) noexcept nogil:
    """Hands, armies and piles are dealt: what everyone knows from the start, and everything derived."""
    cdef int p
    rebuild(ctx, s)
    if ctx.dealt_head != NONE:
        for p in range(ctx.players):
            locate(ctx, s, p, ctx.dealt_head)


cdef void deal(const Ctx *ctx, Rng *rng, State *s) noexcept nogil:
    """Shuffle and deal into an empty state. The deck has cards enough, which the game checks when it is made."""
    cdef uint8_t cards[N_PILES * PILE_CAPACITY]
    cdef uint8_t aside[N_PILES * PILE_CAPACITY]
    cdef int n = 0, n_aside = 0, i, j, p, kind, count, wanted = 5, _
    for i in range(ctx.n_kinds):
        kind = ctx.code[i]
        count = ctx.count[kind]
        if kind == ctx.dealt_head:
            count -= ctx.players
        for _ in range(count):
            cards[n] = kind
            n += 1
    shuffle(rng, cards, n)
    if ctx.dealt_head != NONE:
        wanted = 4
        for p in range(ctx.players):
            s.hand[p][ctx.dealt_head] += 1
    for p in range(ctx.players):
        i = 0
        while i < wanted:
            n -= 1
            kind = cards[n]
            if kind >= BABIES:
                army_push(s, kind, 1 << p)
            elif kind == WILD_PROVOKE:
                aside[n_aside] = kind
                n_aside += 1
            else:
                s.hand[p][kind] += 1
                i += 1
    if n_aside:
        for i in range(n_aside):
            cards[n] = aside[i]
            n += 1
        shuffle(rng, cards, n)
    for i in range(N_PILES):
        count = (n + N_PILES - 1 - i) // N_PILES
        s.n_pile[i] = count
    j = 0
    for i in range(N_PILES):
        memcpy(s.pile[i], &cards[j], s.n_pile[i])
        j += s.n_pile[i]
    start_game(ctx, s)


cdef void rebuild(const Ctx *ctx, State *s) noexcept nogil:
    """Derive anew all that follows from cards and their places."""
    cdef int p, k, i, slot
    cdef uint64_t rest
    cdef Monster *m
    s.piles_left = 0
    for i in range(N_PILES):
        s.piles_left += s.n_pile[i] != 0
    for p in range(MAX_PLAYERS):
        s.tools[p] = 0
        s.hand_kinds[p] = 0
        s.n_hand[p] = 0
        s.score[p] = 0
        s.babies[p] = 0
        for k in range(N_HAND_KINDS):
            s.n_hand[p] += s.hand[p][k]
            if s.hand[p][k]:
                s.hand_kinds[p] |= <uint32_t>1 << k
        for k in range(N_CODES - BABIES):
            s.babies[p] += s.collected[p][k]
            s.score[p] += s.collected[p][k] * ctx.points[BABIES + k]
    s.discard_kinds = 0
    s.n_discard_kinds = 0
    for k in range(N_CODES):
        if s.discard[k]:
            s.discard_kinds |= <uint64_t>1 << k
            s.n_discard_kinds += 1
    memset(&s.own, 0, sizeof(s.own))
    memset(&s.n_own, 0, sizeof(s.n_own))
    memset(&s.edges, 0, sizeof(s.edges))
    memset(&s.visible, 0, sizeof(s.visible))
    s.n_edges = 0
    s.n_masks = 0
    for i in range(MAX_MASKS):
        s.n_masks += s.masks[i].used
    rest = s.slots
    while rest:
        slot = ctz(rest)
        rest &= rest - 1
        m = &s.monsters[slot]
        m.tools = 0
        m.capabilities = 0
        refresh(ctx, s, slot)
        if m.head != NONE and head_is_public(s, m):
            count_visible(ctx, s, m.head, 1)
    rest = s.remains_taken
    while rest:
        s.n_edges += strip_edges(s.remains[ctz(rest)].parts)
        rest &= rest - 1


cdef object state_problem(const Ctx *ctx, const State *s):
    """Why a state from outside cannot be, as text; None when it can."""
    cdef State copy
    cdef int total[N_CODES]
    cdef int i, p, k, slot
    cdef const Monster *m
    memset(total, 0, sizeof(total))
    if not (0 <= s.current < ctx.players and 0 <= s.first_player < ctx.players and 1 <= s.turn <= ctx.turn_limit):
        return "turn or seat out of range"
    if s.pending > WILD_DIVED or s.reason > PRACTICE or s.n_facts > MAX_HEAD_CARDS:
        return "flag out of range"
    if not shown_fits(ctx, &s.shown):
        return "last action out of range"
    if not knowledge_fits(ctx, s):
        return "knowledge out of range"
    if s.pending != NOT_PENDING:
        total[WILD_PROVOKE] += 1
        if not (s.n_army[0] or s.n_army[1] or s.n_army[2]):
            return "a Wild Provoke waits and no army has Babies"
    for p in range(MAX_PLAYERS):
        for k in range(N_HAND_KINDS):
            total[k] += s.hand[p][k]
        for k in range(N_CODES - BABIES):
            total[BABIES + k] += s.collected[p][k]
    for k in range(N_CODES):
        total[k] += s.discard[k]
    for i in range(N_PILES):
        if s.n_pile[i] > PILE_CAPACITY:
            return "pile too large"
        for k in range(s.n_pile[i]):
            if s.pile[i][k] >= N_CODES:
                return "unknown card in a pile"
            total[s.pile[i][k]] += 1
    for i in range(N_TYPES):
        if s.n_army[i] > ARMY_CAPACITY:
            return "army too large"
        for k in range(s.n_army[i]):
            if not BABIES + 10 * i <= s.army[i][k] < BABIES + 10 * (i + 1):
                return "card in the wrong army"
            total[s.army[i][k]] += 1
    for slot in range(N_SLOTS):
        if s.slots >> slot & 1:
            m = &s.monsters[slot]
            if slot >= ctx.n_slots or m.owner >= ctx.players or m.parts >= N_PART_SETS or m.mask > MAX_MASKS:
                return "impossible monster"
            if m.head != NONE:
                if m.head >= ctx.n_heads:
                    return "impossible monster"
                total[m.head] += 1
            elif m.torso == NONE or m.mask:
                return "impossible monster"
            if m.torso != NONE:
                if not TORSOS <= m.torso < TORSOS + ctx.n_torsos:
                    return "impossible monster"
                total[m.torso] += 1
            count_parts(m.parts, total)
            if m.mask:
                if not s.masks[m.mask - 1].used or s.masks[m.mask - 1].slot != slot:
                    return "mask without its monster"
                total[MASK] += 1
        if s.remains_taken >> slot & 1:
            if slot >= ctx.n_remains or s.remains[slot].owner >= ctx.players or s.remains[slot].parts >= HAS_HAT:
                return "impossible remains"
            count_parts(s.remains[slot].parts, total)
    for i in range(MAX_MASKS):
        if s.masks[i].used > 1 or s.masks[i].used and (
            s.masks[i].slot >= ctx.n_slots or s.monsters[s.masks[i].slot].mask != i + 1
        ):
            return "mask without its monster"
    for i in range(N_TYPES):
        if s.fate[i] >= EATEN_BY + ctx.players:
            return "impossible fate of an army"
    for k in range(N_CODES):
        if total[k] != ctx.count[k]:
            return "cards do not add up to the deck"
    memcpy(&copy, s, sizeof(State))
    rebuild(ctx, &copy)
    if memcmp(&copy, s, sizeof(State)) != 0:
        return "derived fields do not fit the cards"
    return None


cdef bint shown_fits(const Ctx *ctx, const Shown *shown) noexcept:
    """Whether events can be read from what the last action showed."""
    cdef int i
    if shown.action < -1 or shown.action >= ctx.n_actions or shown.actor >= ctx.players:
        return False
    if shown.n_reveals > MAX_MASKS + 2 or shown.n_army > sizeof(shown.army):
        return False
    if shown.armageddon_reveals > shown.n_reveals or shown.armageddon_army > shown.n_army:
        return False
    if shown.kind != NONE and (shown.kind >= N_CODES or ctx.index[shown.kind] == NONE):
        return False
    if shown.action >= 0 and ctx.acts[shown.action].verb == V_DRAW and shown.kind == NONE:
        return False
    for i in range(shown.n_reveals):
        if shown.reveals[i].kind >= ctx.n_heads or shown.reveals[i].viewers > EVERYONE:
            return False
    for i in range(shown.n_army):
        if not BABIES <= shown.army[i] < UNKNOWN or ctx.index[shown.army[i]] == NONE:
            return False
    return True


cdef bint knowledge_fits(const Ctx *ctx, const State *s) noexcept:
    """Whether facts are of this deck and about masks that are there."""
    cdef int i, o, places = IN_HAND
    cdef const Fact *fact
    for i in range(MAX_MASKS):
        if s.masks[i].used:
            places |= 2 << i
        if s.masks[i].known > EVERYONE or s.masks[i].excluded > 7:
            return False
    for i in range(s.n_facts):
        fact = &s.facts[i]
        if fact.owner >= ctx.players or fact.kind >= ctx.n_heads:
            return False
        for o in range(N_OBSERVERS):
            if fact.places[o] & ~places:
                return False
    for i in range(N_TYPES):
        for o in range(ARMY_CAPACITY):
            if s.army_known[i][o] > EVERYONE:
                return False
    return True
