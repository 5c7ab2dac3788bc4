"""Who knows what: located cards, seen heads, and the view of one observer (rules, section 6)."""

from libc.string cimport memcpy, memset

from bvb_core.bears.monsters cimport count_visible


cdef void settle(State *s, int owner, int kind, int observer, int including) noexcept nogil:
    """Forget the observer's located copy of `kind` with the fewest places that overlap `including`."""
    cdef int i, best = -1, size, best_size = 99
    cdef Fact *fact
    for i in range(s.n_facts):
        fact = &s.facts[i]
        if fact.kind == kind and fact.owner == owner and fact.places[observer] & including:
            size = popcount(fact.places[observer])
            if size < best_size:
                best, best_size = i, size
    if best >= 0:
        s.facts[best].places[observer] = 0


cdef void drop_empty_facts(State *s) noexcept nogil:
    cdef int i = 0, o, known
    while i < s.n_facts:
        known = 0
        for o in range(N_OBSERVERS):
            known |= s.facts[i].places[o]
        if known:
            i += 1
        else:
            s.n_facts -= 1
            s.facts[i] = s.facts[s.n_facts]
            memset(&s.facts[s.n_facts], 0, sizeof(Fact))


cdef void settle_played_head(State *s, int seat, int kind) noexcept nogil:
    cdef int o
    for o in range(N_OBSERVERS):
        settle(s, seat, kind, o, 255)
    drop_empty_facts(s)


cdef void locate(const Ctx *ctx, State *s, int seat, int kind) noexcept nogil:
    """Everyone has seen a card go to a hand."""
    cdef int o, i
    if kind >= TORSOS:
        s.located[seat][kind] += 1
        return
    for o in range(N_OBSERVERS):
        if o == seat or PUBLIC > o >= ctx.players:
            continue
        for i in range(s.n_facts):
            if s.facts[i].owner == seat and s.facts[i].kind == kind and not s.facts[i].places[o]:
                break
        else:
            # An observer's facts of one player and kind are distinct cards, so there are never more entries than heads.
            i = s.n_facts
            s.n_facts += 1
            s.facts[i].owner = seat
            s.facts[i].kind = kind
        s.facts[i].places[o] = IN_HAND


cdef void mask_joins_places(State *s, int seat, int mask) noexcept nogil:
    """A head was played under a mask: it may be any of the player's located heads."""
    cdef int i, o
    for i in range(s.n_facts):
        if s.facts[i].owner == seat:
            for o in range(N_OBSERVERS):
                if s.facts[i].places[o]:
                    s.facts[i].places[o] |= 2 << mask


cdef void show_head(State *s, int slot, int observers) noexcept nogil:
    """Observers see what a mask hides: the copy located there is settled, and no other copy is there."""
    cdef Monster *m = &s.monsters[slot]
    cdef int mask = m.mask - 1
    cdef int o, i, bit = 2 << mask
    if s.n_facts:
        for o in range(N_OBSERVERS):
            if observers >> o & 1:
                # Only facts of the player who placed the mask include it.
                for i in range(s.n_facts):
                    if s.facts[i].places[o] & bit:
                        settle(s, s.facts[i].owner, m.head, o, bit)
                        break
                for i in range(s.n_facts):
                    s.facts[i].places[o] &= ~bit
        drop_empty_facts(s)
    s.masks[mask].known |= observers


cdef void reveal_head(const Ctx *ctx, State *s, int slot) noexcept nogil:
    """Turn a masked head over for good, if it was not public yet."""
    cdef Monster *m = &s.monsters[slot]
    if m.mask and s.masks[m.mask - 1].known != EVERYONE:
        show_head(s, slot, EVERYONE)
        s.masks[m.mask - 1].excluded = 0
        count_visible(ctx, s, m.head, 1)
        s.shown.reveals[s.shown.n_reveals] = Reveal(m.number, m.head, EVERYONE)
        s.shown.n_reveals += 1


cdef void exclude_types(const Ctx *ctx, State *s, int mask, int types) noexcept nogil:
    """It has become public that a masked head fights in none of the types."""
    cdef int i, o
    s.masks[mask].excluded |= types
    for i in range(s.n_facts):
        if ctx.types[s.facts[i].kind] & types:
            for o in range(N_OBSERVERS):
                s.facts[i].places[o] &= ~(2 << mask)


cdef bint fact_before(const Fact *a, const Fact *b, int o) noexcept nogil:
    if a.owner != b.owner:
        return a.owner < b.owner
    if a.kind != b.kind:
        return a.kind < b.kind
    return a.places[o] < b.places[o]


cdef void observe(const Ctx *ctx, const State *s, int observer, View *view) noexcept nogil:
    """Fill the view of a seat, or of PUBLIC. The one place where hidden cards could leak; see View for what is blanked."""
    cdef State *v = &view.state
    cdef int p, t, i, j, slot, places, bit = 1 << observer
    cdef uint64_t rest
    cdef Monster *m
    cdef Fact fact
    cdef uint8_t new_index[MAX_MASKS]
    memset(view, 0, sizeof(View))
    view.observer = observer
    memcpy(v, s, sizeof(State))
    memset(&v.shown, 0, sizeof(Shown))
    v.shown.action = -1
    v.shown.kind = NONE
    for p in range(ctx.players):
        if p != observer:
            v.hand_kinds[p] = 0
            memset(&v.hand[p], 0, sizeof(v.hand[p]))
    memset(&v.pile, 0, sizeof(v.pile))
    memset(&v.fate, 0, sizeof(v.fate))
    for t in range(N_TYPES):
        for i in range(v.n_army[t]):
            if not v.army_known[t][i] & bit:
                v.army[t][i] = UNKNOWN

    # Masks are numbered anew, in order of the places they lie at, so that the history of the game does not show in them.
    memset(&v.masks, 0, sizeof(v.masks))
    j = 0
    rest = s.slots if s.n_masks else 0
    while rest:
        slot = ctz(rest)
        rest &= rest - 1
        m = &v.monsters[slot]
        if m.mask:
            new_index[m.mask - 1] = j
            v.masks[j] = s.masks[m.mask - 1]
            if not v.masks[j].known & bit:
                m.head = UNKNOWN
                m.strength = 0
            j += 1
            m.mask = j

    # The observer's facts alone, in an order that does not show their history either.
    memset(&v.facts, 0, sizeof(v.facts))
    v.n_facts = 0
    for i in range(s.n_facts):
        places = s.facts[i].places[observer]
        if not places:
            continue
        memset(&fact, 0, sizeof(Fact))
        fact.owner = s.facts[i].owner
        fact.kind = s.facts[i].kind
        fact.places[observer] = places & IN_HAND
        for j in range(MAX_MASKS):
            if places >> (1 + j) & 1:
                fact.places[observer] |= 2 << new_index[j]
        j = v.n_facts
        while j and fact_before(&fact, &v.facts[j - 1], observer):
            v.facts[j] = v.facts[j - 1]
            j -= 1
        v.facts[j] = fact
        v.n_facts += 1
    if observer < ctx.players:
        memset(&v.located[observer], 0, sizeof(v.located[observer]))
