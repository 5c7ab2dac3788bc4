"""Monsters on the table: building, breaking, and the sets of places kept up to date with them."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from bvb_core.bears.cards cimport *
from bvb_core.bears.state cimport *


cdef inline void set_capabilities(State *s, int slot, uint32_t now) noexcept nogil:
    """Enter what can be done to a monster into the sets of places."""
    cdef Monster *m = &s.monsters[slot]
    cdef uint32_t changed = m.capabilities ^ now
    cdef uint64_t bit = <uint64_t>1 << slot
    cdef int i, owner = m.owner
    while changed:
        i = ctz(changed)
        changed &= changed - 1
        if i < N_OWN:
            s.own[owner][i] ^= bit
            s.n_own[owner][i] += 1 if now >> i & 1 else <uint8_t>-1
        else:
            s.edges[i - EDGE] ^= bit
            s.n_edges += 1 if now >> i & 1 else <uint16_t>-1
    m.capabilities = now


cdef inline void refresh(const Ctx *ctx, State *s, int slot) noexcept nogil:
    """Bring everything derived from a monster's cards up to date."""
    cdef Monster *m = &s.monsters[slot]
    cdef int body = body_index(m.torso, m.parts)
    cdef bint alive = m.head != NONE
    cdef int strength = 0, tools = 0
    if alive:
        strength = ctx.strength[m.head] + ctx.body_strength[body]
        if m.parts & HAS_HAT:
            strength *= 2
        tools = (m.parts >> 3 & 1) + (m.parts >> 4 & 1)
    s.tools[m.owner] += tools - m.tools
    m.tools = tools
    m.strength = strength
    set_capabilities(s, slot, ctx.capability[alive][body])


cdef inline void count_visible(const Ctx *ctx, State *s, int head, int by) noexcept nogil:
    cdef int types = ctx.types[head]
    s.visible[0] += by * (types & 1)
    s.visible[1] += by * (types >> 1 & 1)
    s.visible[2] += by * (types >> 2 & 1)


cdef inline bint head_is_public(const State *s, const Monster *m) noexcept nogil:
    return m.mask == 0 or s.masks[m.mask - 1].known == EVERYONE


cdef inline int new_monster(State *s, int owner) noexcept nogil:
    """A monster without cards in the lowest free place."""
    cdef int slot = ctz(~s.slots)
    cdef Monster *m = &s.monsters[slot]
    s.slots |= <uint64_t>1 << slot
    memset(m, 0, sizeof(Monster))
    m.head = m.torso = NONE
    m.owner = owner
    m.number = s.next_number
    s.next_number += 1
    return slot


cdef inline void free_slot(State *s, int slot) noexcept nogil:
    """Take a monster off the table; its cards have been moved already."""
    cdef Monster *m = &s.monsters[slot]
    set_capabilities(s, slot, 0)
    s.tools[m.owner] -= m.tools
    s.slots &= ~(<uint64_t>1 << slot)
    memset(m, 0, sizeof(Monster))


cdef inline void drop_mask(State *s, Monster *m) noexcept nogil:
    """Discard the mask of a head that is about to be discarded; the head is public by now."""
    if m.mask:
        memset(&s.masks[m.mask - 1], 0, sizeof(Mask))
        s.n_masks -= 1
        m.mask = 0
        discard_add(s, MASK)


cdef inline void discard_body(State *s, int torso, int parts) noexcept nogil:
    if torso != NONE:
        discard_add(s, torso)
    discard_some(s, ARM, (parts & LEFT_ARM) + (parts >> 1 & 1))
    discard_some(s, LEGS, parts >> 2 & 1)
    discard_some(s, TOOL, (parts >> 3 & 1) + (parts >> 4 & 1))
    discard_some(s, HAT, parts >> 5 & 1)


cdef inline void discard_head(const Ctx *ctx, State *s, Monster *m) noexcept nogil:
    count_visible(ctx, s, m.head, -1)
    drop_mask(s, m)
    discard_add(s, m.head)
    m.head = NONE


cdef inline void discard_monster(const Ctx *ctx, State *s, int slot) noexcept nogil:
    cdef Monster *m = &s.monsters[slot]
    discard_head(ctx, s, m)
    discard_body(s, m.torso, m.parts)
    free_slot(s, slot)


cdef inline int strip_edges(int parts) noexcept nogil:
    """Number of edge cards of remains: each of their cards is joined to at most one other."""
    return popcount(parts)


cdef inline void to_remains(State *s, int slot) noexcept nogil:
    """A dead monster has lost its torso: what is left moves to the lowest free place among the remains, or is gone."""
    cdef Monster *m = &s.monsters[slot]
    cdef int place
    if m.parts:
        place = ctz(~s.remains_taken)
        s.remains_taken |= <uint64_t>1 << place
        s.remains[place] = Remains(m.parts, m.owner, m.number)
        s.n_edges += strip_edges(m.parts)
    free_slot(s, slot)
