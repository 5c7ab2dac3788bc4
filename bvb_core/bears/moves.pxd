from bvb_core.bears.cards cimport *
from bvb_core.bears.state cimport *


cdef int legal_actions(const Ctx *ctx, const State *s, int32_t *out) noexcept nogil
cdef int search_actions(const Ctx *ctx, const State *s, int32_t *out) noexcept nogil
cdef int32_t representative(const Ctx *ctx, const State *s, int32_t action) noexcept nogil
cdef Act random_act(const Ctx *ctx, const State *s, Rng *rng, Cpu cpu) noexcept nogil


cdef inline int32_t act_id(const Ctx *ctx, int verb, int a, int b, int c) noexcept nogil:
    cdef int first = ctx.first_action[verb]
    if verb == V_HEAD or verb == V_MASK:
        return first + (a - HEADS) * (1 + ctx.n_slots) + (0 if b == NEW else 1 + b)
    if verb == V_TORSO:
        return first + (a - TORSOS) * ctx.n_slots + b
    if verb == V_SWAP:
        return first + c * (c - 1) // 2 + b
    if verb == V_STRIP:
        return first + a * ctx.n_remains + b
    if verb >= V_ARM:
        return first + a * ctx.n_slots + b
    if verb == V_DIVE:
        return first + ctx.index[a]
    return first + a
