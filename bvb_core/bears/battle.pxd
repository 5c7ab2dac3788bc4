from bvb_core.bears.cards cimport *
from bvb_core.bears.state cimport *


cdef int provokable(const Ctx *ctx, const State *s, int seat) noexcept nogil
cdef void fight(const Ctx *ctx, State *s, int types) noexcept nogil
