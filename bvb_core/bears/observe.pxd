from bvb_core.bears.cards cimport *
from bvb_core.bears.state cimport *


cdef void settle_played_head(State *s, int seat, int kind) noexcept nogil


cdef inline void settle_played(State *s, int seat, int kind) noexcept nogil:
    """A card was played face up: one located copy of it is where everyone sees it."""
    if kind >= TORSOS:
        if s.located[seat][kind]:
            s.located[seat][kind] -= 1
    elif s.n_facts:
        settle_played_head(s, seat, kind)


cdef void locate(const Ctx *ctx, State *s, int seat, int kind) noexcept nogil
cdef void mask_joins_places(State *s, int seat, int mask) noexcept nogil
cdef void show_head(State *s, int slot, int observers) noexcept nogil
cdef void reveal_head(const Ctx *ctx, State *s, int slot) noexcept nogil
cdef void exclude_types(const Ctx *ctx, State *s, int mask, int types) noexcept nogil
cdef void observe(const Ctx *ctx, const State *s, int observer, View *view) noexcept nogil
