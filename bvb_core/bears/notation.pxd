from bvb_core.bears.cards cimport *
from bvb_core.bears.state cimport *


cdef str text_of(list names, const Ctx *ctx, const State *s, int32_t action)
cdef str seen_text_of(list names, const Ctx *ctx, const State *s, int32_t action, int observer)
cdef list event_lines(list names, const Ctx *ctx, const State *s, int observer)
