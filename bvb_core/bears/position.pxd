from bvb_core.bears.cards cimport *
from bvb_core.bears.state cimport *


cdef dict view_to_dict(const Ctx *ctx, list names, dict rules, object seat, const State *s)
cdef int view_from_dict(const Ctx *ctx, dict codes, list names, dict data, int first_player, View *view) except -1
