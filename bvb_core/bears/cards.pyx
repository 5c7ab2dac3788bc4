# cython: boundscheck=True, wraparound=True, annotation_typing=False
"""Compiles a validated deck and the options into the context of the rules functions."""

from libc.stdlib cimport free, malloc
from libc.string cimport memset

from bvb_core.bears.deck import PRACTICE_ROLES, TYPES

HAND_CODES = {
    "arm": ARM, "legs": LEGS, "tool": TOOL, "hat": HAT, "mask": MASK, "swap": SWAP,
    "dismember": DISMEMBER, "lullaby": LULLABY, "wild_provoke": WILD_PROVOKE,
}


def card_codes(deck) -> dict[str, int]:
    """Codes of a deck's kinds by card id, in deck order."""
    codes = {}
    heads, torsos = HEADS, TORSOS
    for card in deck.cards:
        if card.role == "head":
            codes[card.id], heads = heads, heads + 1
        elif card.role == "torso":
            codes[card.id], torsos = torsos, torsos + 1
        elif card.role == "baby":
            codes[card.id] = BABIES + 10 * TYPES.index(card.type) + card.points
        else:
            codes[card.id] = HAND_CODES[card.role]
    return codes


cdef int fill_ctx(Ctx *ctx, object deck, int players, bint practice, bint armageddon, int turn_limit) except -1:
    memset(ctx, 0, sizeof(Ctx))
    ctx.players = players
    ctx.base_actions = 2 if practice or players >= 4 else 4 if players == 2 else 3
    ctx.turn_limit = turn_limit
    ctx.practice = practice
    ctx.armageddon = armageddon
    ctx.dealt_head = NONE
    memset(ctx.index, NONE, sizeof(ctx.index))
    cdef dict codes = card_codes(deck)
    cdef int code
    cdef int total[3]
    total[0] = total[1] = total[2] = 0
    torsos = {}
    limb_strength = {"arm": 0, "legs": 0, "tool": 0}
    for card in deck.cards:
        code = codes[card.id]
        ctx.index[code] = ctx.n_kinds
        ctx.code[ctx.n_kinds] = code
        ctx.n_kinds += 1
        if not practice or card.role in PRACTICE_ROLES:
            ctx.count[code] = card.count
            ctx.n_cards += card.count
        ctx.strength[code] = card.strength
        ctx.points[code] = card.points
        for t in card.types or (card.type,):
            if t:
                ctx.types[code] |= 1 << TYPES.index(t)
        if card.role == "head":
            ctx.n_heads += 1
            total[0] += card.count
            if card.id == "bear_head" and not practice:
                ctx.dealt_head = code
        elif card.role == "torso":
            ctx.n_torsos += 1
            total[1] += card.count
            torsos[code] = card
        elif card.role in limb_strength:
            total[2] += card.count
            limb_strength[card.role] = card.strength
            if card.role == "arm":
                ctx.arm_socket = bool(card.sockets)
    ctx.n_slots = total[0] + total[1]
    ctx.n_remains = total[2]
    cdef int parts
    for code, card in [(NONE, None), *torsos.items()]:
        for parts in range(N_PART_SETS):
            body = body_index(code, parts)
            ctx.body_strength[body] = (
                (card.strength if card else 0)
                + limb_strength["arm"] * (bool(parts & LEFT_ARM) + bool(parts & RIGHT_ARM))
                + limb_strength["legs"] * bool(parts & HAS_LEGS)
                + limb_strength["tool"] * (bool(parts & LEFT_TOOL) + bool(parts & RIGHT_TOOL))
            )
            for alive in (False, True):
                ctx.capability[alive][body] = _capabilities(card, parts, alive, ctx.arm_socket)
    return _fill_actions(ctx)


def _capabilities(torso, parts: int, alive: bool, arm_socket: bool) -> int:
    """Capability bits of a monster: what can be attached to it, and which of its cards are edge cards."""
    joints = torso.joints if torso else ()
    sockets = torso.sockets if torso else ()
    hat = bool(parts & HAS_HAT)
    sides = (
        ("left", LEFT_ARM, LEFT_TOOL, OPEN_LEFT, SOCKET_LEFT, PART_LEFT_ARM, PART_LEFT_TOOL),
        ("right", RIGHT_ARM, RIGHT_TOOL, OPEN_RIGHT, SOCKET_RIGHT, PART_RIGHT_ARM, PART_RIGHT_TOOL),
    )
    bits = 0
    if alive:
        bits |= 1 << LIVING
        if not torso:
            bits |= 1 << NEEDS_TORSO
        if not hat:
            bits |= 1 << BARE | 1 << (EDGE + PART_HEAD)
        if "waist" in joints and not parts & HAS_LEGS:
            bits |= 1 << OPEN_WAIST
    elif torso:
        bits |= 1 << DEAD_NECK
    # Cards joined to the torso: head, legs, and on each side an arm or a tool in a socket of the torso's own.
    joined = alive + bool(parts & HAS_LEGS)
    for side, arm, tool, open_side, socket, part_arm, part_tool in sides:
        has_arm, has_tool = bool(parts & arm), bool(parts & tool)
        joined += has_arm or (has_tool and side in sockets)
        if alive and f"{side}_shoulder" in joints and not has_arm:
            bits |= 1 << open_side
        if alive and not has_tool and (side in sockets or (has_arm and arm_socket)):
            bits |= 1 << socket
        if has_arm and bool(torso) + has_tool <= 1:
            bits |= 1 << (EDGE + part_arm)
        if has_tool:
            bits |= 1 << (EDGE + part_tool)
    if torso and joined <= 1:
        bits |= 1 << (EDGE + PART_TORSO)
    if parts & HAS_LEGS:
        bits |= 1 << (EDGE + PART_LEGS)
    if hat:
        bits |= 1 << (EDGE + PART_HAT)
    return bits


cdef int _fill_actions(Ctx *ctx) except -1:
    """The table of actions: dense ids in order of verb, then a, b, c."""
    cdef int slots = ctx.n_slots
    cdef int sizes[N_VERBS]
    sizes[V_DRAW] = N_PILES
    sizes[V_PASS] = 1
    sizes[V_PROVOKE] = sizes[V_WILD] = sizes[V_LULLABY] = N_TYPES
    sizes[V_DIVE] = ctx.n_kinds
    sizes[V_HEAD] = sizes[V_MASK] = ctx.n_heads * (1 + slots)
    sizes[V_TORSO] = ctx.n_torsos * slots
    sizes[V_ARM] = sizes[V_TOOL] = 2 * slots
    sizes[V_LEGS] = sizes[V_HAT] = slots
    sizes[V_SWAP] = slots * (slots - 1) // 2
    sizes[V_DISMEMBER] = N_EDGES * slots
    sizes[V_STRIP] = N_EDGES * ctx.n_remains
    cdef int verb, i, j, n = 0
    for verb in range(N_VERBS):
        ctx.first_action[verb] = n
        n += sizes[verb]
    ctx.first_action[N_VERBS] = ctx.n_actions = n
    ctx.acts = <Act *>malloc(n * sizeof(Act))
    if ctx.acts == NULL:
        raise MemoryError
    cdef Act *act = ctx.acts
    for verb in range(N_VERBS):
        if verb == V_SWAP:
            for j in range(slots):
                for i in range(j):
                    act[0] = Act(verb, 0, i, j)
                    act += 1
            continue
        for i in range(sizes[verb]):
            act[0] = Act(verb, 0, 0, 0)
            if verb == V_DIVE:
                act.a = ctx.code[i]
            elif verb == V_HEAD or verb == V_MASK:
                act.a = HEADS + i // (1 + slots)
                act.b = NEW if i % (1 + slots) == 0 else i % (1 + slots) - 1
            elif verb == V_TORSO:
                act.a, act.b = TORSOS + i // slots, i % slots
            elif verb == V_STRIP:
                act.a, act.b = i // ctx.n_remains, i % ctx.n_remains
            elif verb >= V_ARM:
                act.a, act.b = i // slots, i % slots
            else:
                act.a = i
            act += 1
    return 0


cdef void free_ctx(Ctx *ctx) noexcept:
    free(ctx.acts)
    ctx.acts = NULL
