"""Battles (rules, section 5), and which armies may be provoked (section 3)."""

from libc.string cimport memset

from bvb_core.bears.monsters cimport *
from bvb_core.bears.observe cimport exclude_types, reveal_head


cdef int provokable(const Ctx *ctx, const State *s, int seat) noexcept nogil:
    """Set of types whose armies the seat may provoke."""
    cdef int i, possible = (s.visible[0] != 0) | (s.visible[1] != 0) << 1 | (s.visible[2] != 0) << 2
    cdef const Mask *mask
    if s.n_masks:
        for i in range(MAX_MASKS):
            mask = &s.masks[i]
            if mask.used:
                if mask.known >> seat & 1:
                    possible |= ctx.types[s.monsters[mask.slot].head]
                else:
                    possible |= 7 & ~mask.excluded
    return possible & armies_with_babies(s)


cdef void collect_army(const Ctx *ctx, State *s, int t, int seat) noexcept nogil:
    """Move an army to the Babies that a seat has collected, or to the discard pile (seat -1)."""
    cdef int i, kind
    for i in range(s.n_army[t]):
        kind = s.army[t][i]
        if seat < 0:
            discard_add(s, kind)
        else:
            s.collected[seat][kind - BABIES] += 1
            s.score[seat] += ctx.points[kind]
            s.babies[seat] += 1
    if s.fate[t] == WAITING:
        s.fate[t] = EATEN_BY + seat
    memset(&s.army[t], 0, s.n_army[t])
    memset(&s.army_known[t], 0, s.n_army[t])
    s.n_army[t] = 0


cdef void sort_reveals(State *s, int first) noexcept nogil:
    cdef int i, j
    cdef Reveal r
    for i in range(first + 1, s.shown.n_reveals):
        r = s.shown.reveals[i]
        j = i
        while j > first and s.shown.reveals[j - 1].number > r.number:
            s.shown.reveals[j] = s.shown.reveals[j - 1]
            j -= 1
        s.shown.reveals[j] = r


cdef void fight(const Ctx *ctx, State *s, int types) noexcept nogil:
    """All living monsters that fight in one of the types meet the Babies of all of them (Armageddon: types is 7)."""
    cdef uint64_t fighters[MAX_PLAYERS]
    cdef int strength[MAX_PLAYERS]
    cdef uint64_t rest
    cdef int p, t, i, slot, points = 0, best = -1, n_best = 0, winner = -1, first_reveal = s.shown.n_reveals
    cdef bint any_fighter = False
    cdef Monster *m
    for p in range(ctx.players):
        fighters[p] = 0
        strength[p] = 0
        rest = s.own[p][LIVING]
        while rest:
            slot = ctz(rest)
            rest &= rest - 1
            m = &s.monsters[slot]
            if ctx.types[m.head] & types:
                fighters[p] |= <uint64_t>1 << slot
                strength[p] += m.strength
                any_fighter = True
                reveal_head(ctx, s, slot)
    if s.n_masks:
        sort_reveals(s, first_reveal)
        for i in range(MAX_MASKS):
            if s.masks[i].used and s.masks[i].known != EVERYONE:
                exclude_types(ctx, s, i, types)
    if not any_fighter:
        return
    for t in range(N_TYPES):
        if types >> t & 1:
            for i in range(s.n_army[t]):
                points += ctx.points[s.army[t][i]]
                s.shown.army[s.shown.n_army] = s.army[t][i]
                s.shown.n_army += 1
    for p in range(ctx.players):
        if fighters[p] and strength[p] >= points:
            if n_best == 0 or strength[p] > best:
                best, n_best, winner = strength[p], 1, p
            elif strength[p] == best:
                n_best += 1
    for t in range(N_TYPES):
        if not types >> t & 1:
            continue
        if n_best > 1:
            for i in range(s.n_army[t]):
                s.army_known[t][i] = EVERYONE
        else:
            collect_army(ctx, s, t, winner if n_best == 1 else -1)
    for p in range(ctx.players):
        if n_best > 1 and fighters[p] and strength[p] == best:
            continue
        rest = fighters[p]
        while rest:
            discard_monster(ctx, s, ctz(rest))
            rest &= rest - 1
