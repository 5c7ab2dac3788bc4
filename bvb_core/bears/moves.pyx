"""Legal actions, from the sets of places in the state; and a uniform draw from them without making the list."""

from bvb_core.bears.battle cimport provokable
from bvb_core.rng cimport rng_below


cdef inline int32_t *emit_places(const Ctx *ctx, int32_t *out, int verb, int a, uint64_t places) noexcept nogil:
    cdef int slot
    while places:
        slot = ctz(places)
        places &= places - 1
        out[0] = act_id(ctx, verb, a, slot, 0)
        out += 1
    return out


cdef inline int32_t *emit_types(const Ctx *ctx, int32_t *out, int verb, int types) noexcept nogil:
    cdef int t
    for t in range(N_TYPES):
        if types >> t & 1:
            out[0] = ctx.first_action[verb] + t
            out += 1
    return out


cdef inline int nameable(const Ctx *ctx, const State *s) noexcept nogil:
    """Armies that a waiting Wild Provoke can be played on.

    In a game there is one that its player may provoke. In a determinization for another observer there may be none, since
    section 6 does not count the waiting as knowledge: any army with Babies will do then.
    """
    cdef int types = provokable(ctx, s, s.current)
    return types if types else armies_with_babies(s)


cdef int legal_actions(const Ctx *ctx, const State *s, int32_t *out) noexcept nogil:
    """All legal actions of the current player in increasing order of id; returns their number, 0 when the game is over."""
    cdef int32_t *start = out
    cdef int p = s.current
    cdef uint32_t hand = s.hand_kinds[p]
    cdef const uint64_t *own = s.own[p]
    cdef uint64_t rest, inner
    cdef int i, kind, verb
    if s.reason != RUNNING:
        return 0
    if s.pending != NOT_PENDING:
        out = emit_types(ctx, out, V_WILD, nameable(ctx, s))
        return <int>(out - start)
    for i in range(N_PILES):
        if s.n_pile[i]:
            out[0] = ctx.first_action[V_DRAW] + i
            out += 1
    if s.piles_left == 0:
        out[0] = ctx.first_action[V_PASS]
        out += 1
    if s.used == 0:
        out = emit_types(ctx, out, V_PROVOKE, provokable(ctx, s, p))
    if hand >> LULLABY & 1:
        out = emit_types(ctx, out, V_LULLABY, armies_with_babies(s))
    if s.used == 0:
        # In order of ids, which is deck order.
        for i in range(ctx.n_kinds):
            if s.discard_kinds >> ctx.code[i] & 1:
                out[0] = ctx.first_action[V_DIVE] + i
                out += 1
    for verb in range(V_HEAD, V_MASK + 1):
        if verb == V_MASK and not hand >> MASK & 1:
            break
        rest = hand & 0xFF
        while rest:
            kind = ctz(rest)
            rest &= rest - 1
            out[0] = act_id(ctx, verb, kind, NEW, 0)
            out = emit_places(ctx, out + 1, verb, kind, own[DEAD_NECK])
    rest = hand & 0xFF00
    while rest:
        kind = ctz(rest)
        rest &= rest - 1
        out = emit_places(ctx, out, V_TORSO, kind, own[NEEDS_TORSO])
    if hand >> ARM & 1:
        out = emit_places(ctx, out, V_ARM, 0, own[OPEN_LEFT])
        out = emit_places(ctx, out, V_ARM, 1, own[OPEN_RIGHT])
    if hand >> LEGS & 1:
        out = emit_places(ctx, out, V_LEGS, 0, own[OPEN_WAIST])
    if hand >> TOOL & 1:
        out = emit_places(ctx, out, V_TOOL, 0, own[SOCKET_LEFT])
        out = emit_places(ctx, out, V_TOOL, 1, own[SOCKET_RIGHT])
    if hand >> HAT & 1:
        out = emit_places(ctx, out, V_HAT, 0, own[BARE])
    if hand >> SWAP & 1:
        rest = living(ctx, s)
        while rest:
            i = ctz(rest)
            rest &= rest - 1
            inner = living(ctx, s) & ((<uint64_t>1 << i) - 1)
            while inner:
                out[0] = act_id(ctx, V_SWAP, 0, ctz(inner), i)
                out += 1
                inner &= inner - 1
    if hand >> DISMEMBER & 1:
        for i in range(N_EDGES):
            out = emit_places(ctx, out, V_DISMEMBER, i, s.edges[i])
        if s.remains_taken:
            for i in range(PART_LEFT_ARM, PART_HAT):
                rest = s.remains_taken
                while rest:
                    kind = ctz(rest)
                    rest &= rest - 1
                    if s.remains[kind].parts >> (i - PART_LEFT_ARM) & 1:
                        out[0] = act_id(ctx, V_STRIP, i, kind, 0)
                        out += 1
    return <int>(out - start)


cdef inline uint64_t living(const Ctx *ctx, const State *s) noexcept nogil:
    cdef uint64_t places = 0
    cdef int p
    for p in range(ctx.players):
        places |= s.own[p][LIVING]
    return places


cdef inline bint sides_alike(const Monster *m) noexcept nogil:
    return (m.parts & (LEFT_ARM | LEFT_TOOL)) << 1 == m.parts & (RIGHT_ARM | RIGHT_TOOL)


cdef int32_t representative(const Ctx *ctx, const State *s, int32_t action) noexcept nogil:
    """The action that stands for `action` in the search: itself, or the first of its class of symmetric actions.

    Draw piles are symmetric since nobody ever learns anything of their order; so are the two sides of a monster (joints
    and sockets of every torso permitting) that carry the same, for arms, tools, and their dismemberment.
    """
    cdef Act act = ctx.acts[action]
    cdef int i
    if act.verb == V_DRAW:
        for i in range(act.a):
            if s.n_pile[i]:
                return action - act.a + i
    elif (act.verb == V_ARM or act.verb == V_TOOL) and act.a == 1:
        i = OPEN_LEFT if act.verb == V_ARM else SOCKET_LEFT
        if s.monsters[act.b].capabilities >> i & 1 and sides_alike(&s.monsters[act.b]):
            return act_id(ctx, act.verb, 0, act.b, 0)
    elif act.verb == V_DISMEMBER and (act.a == PART_RIGHT_ARM or act.a == PART_RIGHT_TOOL):
        i = EDGE + act.a - 1
        if s.monsters[act.b].capabilities >> i & 1 and sides_alike(&s.monsters[act.b]):
            return act_id(ctx, act.verb, act.a - 1, act.b, 0)
    return action


cdef int search_actions(const Ctx *ctx, const State *s, int32_t *out) noexcept nogil:
    """Legal actions, one of each class of symmetric ones."""
    cdef int n = legal_actions(ctx, s, out)
    cdef int i, kept = 0
    for i in range(n):
        if representative(ctx, s, out[i]) == out[i]:
            out[kept] = out[i]
            kept += 1
    return kept


cdef inline Act nth_place(int verb, int a, uint64_t places, int n, Cpu cpu) noexcept nogil:
    return Act(verb, a, nth_bit(places, n, cpu), 0)


cdef Act random_act(const Ctx *ctx, const State *s, Rng *rng, Cpu cpu) noexcept nogil:
    """A uniform draw from legal_actions; the game is not over."""
    cdef int p = s.current
    cdef uint32_t hand = s.hand_kinds[p]
    cdef const uint64_t *own = s.own[p]
    cdef const uint8_t *n_own = s.n_own[p]
    cdef int provoke = 0, n_provoke = 0, n_dive = 0, lull = 0, n_lull = 0
    cdef int n_draws = s.piles_left
    cdef int n_heads = bvb_pop8[hand & 0xFF] * (1 + n_own[DEAD_NECK])
    cdef int n_torsos = bvb_pop8[hand >> 8 & 0xFF] * n_own[NEEDS_TORSO]
    # A kind that is not in the hand counts 0 times its places.
    cdef int n_arms = (hand >> ARM & 1) * (n_own[OPEN_LEFT] + n_own[OPEN_RIGHT])
    cdef int n_legs = (hand >> LEGS & 1) * n_own[OPEN_WAIST]
    cdef int n_tools = 0, n_hats = 0, n_swaps = 0, n_edges = 0, n_masks = 0
    cdef int i, j, part, total
    cdef uint64_t places
    if s.pending != NOT_PENDING:
        provoke = nameable(ctx, s)
        return Act(V_WILD, nth_bit(provoke, rng_below(rng, bvb_pop8[provoke]), cpu), 0, 0)
    total = n_draws + n_heads + n_torsos + n_arms + n_legs
    if n_draws == 0:
        total += 1
    if hand >> TOOL:
        n_tools = (hand >> TOOL & 1) * (n_own[SOCKET_LEFT] + n_own[SOCKET_RIGHT])
        n_hats = (hand >> HAT & 1) * n_own[BARE]
        n_masks = (hand >> MASK & 1) * n_heads
        n_edges = (hand >> DISMEMBER & 1) * s.n_edges
        if hand >> SWAP & 1:
            for i in range(ctx.players):
                n_swaps += s.n_own[i][LIVING]
            n_swaps = n_swaps * (n_swaps - 1) // 2
        lull = armies_with_babies(s)
        n_lull = (hand >> LULLABY & 1) * bvb_pop8[lull]
        total += n_tools + n_hats + n_masks + n_edges + n_swaps + n_lull
    if s.used == 0:
        provoke = provokable(ctx, s, p)
        n_provoke = bvb_pop8[provoke]
        n_dive = s.n_discard_kinds
        total += n_provoke + n_dive
    i = rng_below(rng, total)

    if i < n_dive:
        if Cpu is Bmi2:
            return Act(V_DIVE, nth_bit(s.discard_kinds, i, cpu), 0, 0)
        else:
            return Act(V_DIVE, select64(s.discard_kinds, i), 0, 0)
    i -= n_dive
    if i < n_draws:
        j = 0
        while True:
            if s.n_pile[j]:
                if i == 0:
                    return Act(V_DRAW, j, 0, 0)
                i -= 1
            j += 1
    i -= n_draws
    if i < n_heads + n_masks:
        part = V_HEAD
        if i >= n_heads:
            i -= n_heads
            part = V_MASK
        j = i % (1 + n_own[DEAD_NECK])
        i = i // (1 + n_own[DEAD_NECK])
        return Act(part, nth_bit(hand, i, cpu), NEW if j == 0 else nth_bit(own[DEAD_NECK], j - 1, cpu), 0)
    i -= n_heads + n_masks
    if i < n_provoke:
        return Act(V_PROVOKE, nth_bit(provoke, i, cpu), 0, 0)
    i -= n_provoke
    if i < n_torsos:
        j = n_own[NEEDS_TORSO]
        return nth_place(V_TORSO, nth_bit(hand & 0xFF00, i // j, cpu), own[NEEDS_TORSO], i % j, cpu)
    i -= n_torsos
    if i < n_arms:
        if i < n_own[OPEN_LEFT]:
            return nth_place(V_ARM, 0, own[OPEN_LEFT], i, cpu)
        return nth_place(V_ARM, 1, own[OPEN_RIGHT], i - n_own[OPEN_LEFT], cpu)
    i -= n_arms
    if i < n_legs:
        return nth_place(V_LEGS, 0, own[OPEN_WAIST], i, cpu)
    i -= n_legs
    if i < n_tools:
        if i < n_own[SOCKET_LEFT]:
            return nth_place(V_TOOL, 0, own[SOCKET_LEFT], i, cpu)
        return nth_place(V_TOOL, 1, own[SOCKET_RIGHT], i - n_own[SOCKET_LEFT], cpu)
    i -= n_tools
    if i < n_hats:
        return nth_place(V_HAT, 0, own[BARE], i, cpu)
    i -= n_hats
    if i < n_lull:
        return Act(V_LULLABY, nth_bit(lull, i, cpu), 0, 0)
    i -= n_lull
    if i < n_swaps:
        # The i-th pair of living monsters: below the j-th are j * (j - 1) / 2 pairs.
        j = 1
        while i >= j:
            i -= j
            j += 1
        places = living(ctx, s)
        return Act(V_SWAP, 0, nth_bit(places, i, cpu), nth_bit(places, j, cpu))
    i -= n_swaps
    if i < n_edges:
        return random_edge(s, i, cpu)
    return Act(V_PASS, 0, 0, 0)


cdef Act random_edge(const State *s, int i, Cpu cpu) noexcept nogil:
    """The i-th edge card on the table."""
    cdef int part, j
    cdef uint64_t places
    for part in range(N_EDGES):
        j = popcount(s.edges[part])
        if i < j:
            return nth_place(V_DISMEMBER, part, s.edges[part], i, cpu)
        i -= j
    places = s.remains_taken
    while True:
        j = ctz(places)
        places &= places - 1
        part = popcount(s.remains[j].parts)
        if i < part:
            return Act(V_STRIP, PART_LEFT_ARM + nth_bit(s.remains[j].parts, i, cpu), j, 0)
        i -= part
