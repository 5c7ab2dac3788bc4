from bvb_core.bears.cards cimport *
from bvb_core.bears.state cimport *


cdef void apply_act(const Ctx *ctx, State *s, Act act) noexcept nogil
cdef void returns_of(const Ctx *ctx, const State *s, double *out) noexcept nogil
