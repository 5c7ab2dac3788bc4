# cython: boundscheck=True, wraparound=True, annotation_typing=False
"""Actions and events as text (rules, section 7). `names` are card ids by code."""

from bvb_core.bears.deck import TYPES
from bvb_core.bears.monsters cimport *

SIDES = ("left", "right")
PARTS = ("head", "torso", "left_arm", "right_arm", "legs", "left_tool", "right_tool", "hat")
# How many words each verb is followed by, least and most.
GRAMMAR = {
    "draw": (1, 1), "pass": (0, 0), "provoke": (1, 1), "wild": (1, 1), "lullaby": (1, 1), "dive": (1, 1),
    "head": (1, 2), "mask": (1, 2), "torso": (2, 2), "arm": (2, 2), "legs": (1, 1), "tool": (2, 2),
    "hat": (1, 1), "swap": (2, 2), "dismember": (2, 2),
}


def head_name(kind: str) -> str:
    """The word for a head in the notation: `bear` for `bear_head`."""
    return kind.removesuffix("_head")


cdef str render(list names, const Ctx *ctx, Act act, int number, int other):
    """Notation of an action on monsters of these numbers (0: a new one)."""
    cdef int verb = act.verb
    cdef str where = f" m{number}" if number else ""
    if verb == V_DRAW:
        return f"draw {act.a + 1}"
    if verb == V_PASS:
        return "pass"
    if verb == V_PROVOKE:
        return f"provoke {TYPES[act.a]}"
    if verb == V_WILD:
        return f"wild {TYPES[act.a]}"
    if verb == V_LULLABY:
        return f"lullaby {TYPES[act.a]}"
    if verb == V_DIVE:
        return f"dive {names[act.a]}"
    if verb == V_HEAD:
        return f"head {head_name(names[act.a])}{where}"
    if verb == V_MASK:
        return f"mask {head_name(names[act.a])}{where}"
    if verb == V_TORSO:
        return f"torso {names[act.a]}{where}"
    if verb == V_ARM:
        return f"arm{where} {SIDES[act.a]}"
    if verb == V_LEGS:
        return f"legs{where}"
    if verb == V_TOOL:
        return f"tool{where} {SIDES[act.a]}"
    if verb == V_HAT:
        return f"hat{where}"
    if verb == V_SWAP:
        return f"swap m{min(number, other)} m{max(number, other)}"
    return f"dismember{where} {PARTS[act.a]}"


cdef str text_of(list names, const Ctx *ctx, const State *s, int32_t action):
    """Notation of a legal action in the state before it."""
    cdef Act act = ctx.acts[action]
    cdef int number = 0, other = 0
    if act.verb == V_STRIP:
        number = s.remains[act.b].number
    elif act.verb >= V_HEAD and act.b != NEW:
        number = s.monsters[act.b].number
        if act.verb == V_SWAP:
            other = s.monsters[act.c].number
    return render(names, ctx, act, number, other)


cdef inline str masked_play(int number):
    """A masked play as others see it."""
    return "mask ?" + (f" m{number}" if number else "")


cdef str seen_text_of(list names, const Ctx *ctx, const State *s, int32_t action, int observer):
    """Notation of a legal action in the state before it, as an observer (a seat or PUBLIC) will see it."""
    cdef Act act = ctx.acts[action]
    if act.verb == V_MASK and s.current != observer:
        return masked_play(0 if act.b == NEW else s.monsters[act.b].number)
    return text_of(names, ctx, s, action)


cdef list event_lines(list names, const Ctx *ctx, const State *s, int observer):
    """What the last action showed an observer (a seat or PUBLIC), read from the state after it."""
    cdef const Shown *shown = &s.shown
    cdef Act act
    cdef int number, kind = shown.kind
    cdef bint own
    if shown.action < 0:
        return []
    act = ctx.acts[shown.action]
    own = shown.actor == observer
    number = 0 if act.b == NEW else shown.monster[0]
    line = render(names, ctx, act, number, shown.monster[1])
    if act.verb == V_MASK and not own:
        line = masked_play(number)
    elif act.verb == V_DRAW:
        if own or kind == WILD_PROVOKE:
            line += f" = {names[kind]}"
        elif kind >= BABIES:
            line += f" = {TYPES[baby_type(kind)]}_baby"
        else:
            line += " = ?"
    lines = [line]
    if s.reason != FINISHED:
        return lines + turned_over(names, shown, observer, 0, shown.n_reveals, 0, shown.n_army)
    return (
        lines
        + turned_over(names, shown, observer, 0, shown.armageddon_reveals, 0, shown.armageddon_army)
        + turned_over(
            names, shown, observer, shown.armageddon_reveals, shown.n_reveals, shown.armageddon_army, shown.n_army)
    )


cdef list turned_over(
    list names, const Shown *shown, int observer, int reveal, int end_reveals, int army, int end_army
):
    """Lines of the heads and then of the Babies in these ranges."""
    cdef int i, t
    lines = []
    for i in range(reveal, end_reveals):
        if shown.reveals[i].viewers >> observer & 1:
            lines.append(f"reveal m{shown.reveals[i].number} {head_name(names[shown.reveals[i].kind])}")
    for t in range(N_TYPES):
        babies = [names[shown.army[i]] for i in range(army, end_army) if baby_type(shown.army[i]) == t]
        if babies:
            lines.append(" ".join(["army", TYPES[t], *babies]))
    return lines


def action_fields(text: str, head_ids: dict[str, str]) -> dict[str, object]:
    """The parts of an action's notation: verb, and among pile, type, card, monster, other_monster, side, part.

    `head_ids` gives card ids by the notation's word for a head. Raises ValueError naming what is wrong.
    """
    verb, *words = text.split(" ")
    if verb not in GRAMMAR:
        raise ValueError(f"{verb!r} is not one of {', '.join(GRAMMAR)}")
    least, most = GRAMMAR[verb]
    if not least <= len(words) <= most:
        raise ValueError(f"{verb} is followed by {least if least == most else f'{least} or {most}'} words, not {len(words)}")
    fields: dict[str, object] = {"verb": verb}
    if verb == "draw":
        if words[0] not in ("1", "2", "3"):
            raise ValueError(f"the pile is 1, 2 or 3, not {words[0]!r}")
        fields["pile"] = int(words[0])
    elif verb in ("provoke", "wild", "lullaby"):
        if words[0] not in TYPES:
            raise ValueError(f"the army is land, sea or sky, not {words[0]!r}")
        fields["type"] = words[0]
    elif verb in ("head", "mask"):
        if words[0] not in head_ids:
            raise ValueError(f"the head is one of {', '.join(head_ids)}, not {words[0]!r}")
        fields["card"] = head_ids[words[0]]
        words = words[1:]
    elif verb in ("torso", "dive"):
        fields["card"] = words[0]
        words = words[1:]
    if verb in ("head", "mask", "torso", "arm", "legs", "tool", "hat", "swap", "dismember"):
        for key, word in zip(("monster", "other_monster") if verb == "swap" else ("monster",), words):
            if word[:1] != "m" or not word[1:].isdecimal() or not word.isascii():
                raise ValueError(f"a monster is written as in m3, not {word!r}")
            fields[key] = int(word[1:])
        if verb in ("arm", "tool"):
            if words[1] not in SIDES:
                raise ValueError(f"the side is left or right, not {words[1]!r}")
            fields["side"] = words[1]
        elif verb == "dismember":
            if words[1] not in PARTS:
                raise ValueError(f"the part is one of {', '.join(PARTS)}, not {words[1]!r}")
            fields["part"] = words[1]
    return fields
