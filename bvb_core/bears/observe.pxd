from bvb_core.bears.cards cimport *
from bvb_core.bears.state cimport *


cdef struct View:
    # What one observer knows. `state` is the state with everything hidden from the observer blanked: hands and piles are
    # empty (their sizes stay), hidden Babies and heads are UNKNOWN, and only the observer's column of the facts is filled.
    int32_t observer       # seat, or PUBLIC
    int32_t reserved
    State state


cdef void settle_played(State *s, int seat, int kind) noexcept nogil
cdef void locate(const Ctx *ctx, State *s, int seat, int kind) noexcept nogil
cdef void mask_joins_places(State *s, int seat, int mask) noexcept nogil
cdef void show_head(State *s, int slot, int observers) noexcept nogil
cdef void reveal_head(const Ctx *ctx, State *s, int slot) noexcept nogil
cdef void exclude_types(const Ctx *ctx, State *s, int mask, int types) noexcept nogil
cdef void observe(const Ctx *ctx, const State *s, int observer, View *view) noexcept nogil
