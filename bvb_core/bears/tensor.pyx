# cython: boundscheck=True, wraparound=True
"""Observations as float32 vectors for learning.

A tensor is flat, and made of blocks; TensorLayout names them, and every column of each. Its size depends on the
deck and the number of players alone. It is the observer's own point of view: wherever a seat stands, 0 is the
observer, 1 the seat after them, and so on; a spectator counts from seat 0. Every value lies in -1 to 1: value * scale
is the quantity itself, a count or points, and flags have the scale 1. Monsters, remains and masks stand by their
place on the table, as in action ids. The numbers of monsters (the N of mN) are mere names, and left out: of games
with the same deck, observations that differ in nothing else have equal tensors, and all others have different ones.
"""

from libc.string cimport memset

from dataclasses import dataclass
from math import prod

from bvb_core.bears.cards import card_codes
from bvb_core.bears.cards cimport *
from bvb_core.bears.deck import TYPES
from bvb_core.bears.state cimport *

PARTS = ("left_arm", "right_arm", "legs", "left_tool", "right_tool", "hat")


@dataclass(frozen=True)
class TensorBlock:
    """Part of a tensor: `tensor[offset : offset + size].reshape(shape)`.

    The last axis has the `columns`; `scales` says for each what its quantity was divided by.
    """

    name: str
    offset: int
    shape: tuple[int, ...]
    columns: tuple[str, ...]
    scales: tuple[float, ...]
    meaning: str

    @property
    def size(self) -> int:
        return prod(self.shape)


cdef class TensorLayout:
    """The blocks of the tensors of one game, in order of offset."""

    def __cinit__(self, deck, players: int, base_actions: int, turn_limit: int):
        cdef Shape *shape = &self.shape
        cdef int code, i, t
        codes = card_codes(deck)
        by_role = {}
        for card in deck.cards:
            by_role.setdefault(card.role, []).append(card)
        heads, torsos, babies = (by_role.get(role, []) for role in ("head", "torso", "baby"))
        in_hand = [card for card in deck.cards if codes[card.id] < N_HAND_KINDS]
        loose = [card for card in in_hand if card.role != "head"]
        copies = {card.id: card.count for card in deck.cards}
        for i, card in enumerate(deck.cards):
            code = codes[card.id]
            shape.code[i] = code
            shape.copies[code] = card.count

        def total(*roles: str) -> int:
            return sum(card.count for card in deck.cards if card.role in roles)

        def largest(role: str) -> int:
            return max((abs(card.strength) for card in by_role.get(role, [])), default=0)

        shape.players = players
        shape.base_actions = base_actions
        shape.n_kinds = len(deck.cards)
        shape.n_heads = len(heads)
        shape.n_torsos = len(torsos)
        shape.n_masks = total("mask")
        shape.n_slots = total("head", "torso")
        shape.n_remains = total("arm", "legs", "tool")
        shape.army_size = max(sum(card.count for card in babies if card.type == t) for t in TYPES)
        shape.n_hand = len(in_hand)
        shape.n_babies = len(babies)
        shape.head_copies = max(card.count for card in heads)
        shape.turn_limit = turn_limit
        shape.actions = 4 + total("tool")
        shape.hand_cards = sum(card.count for card in in_hand)
        shape.score = max(1, sum(card.count * card.points for card in babies))
        shape.points = max((card.points for card in babies), default=0) or 1
        shape.strength = 2 * (
            largest("head") + largest("torso") + largest("legs") + 2 * largest("arm") + 2 * largest("tool")
        ) or 1

        def seats(word: str) -> dict[str, float]:
            return {f"{word}_{p}": 1 for p in range(players)}

        def flags(*words: str) -> dict[str, float]:
            return dict.fromkeys(words, 1)

        subsets = [
            "+".join(["hand", *(f"mask_{i + 1}" for i in range(shape.n_masks) if places >> i & 1)])
            for places in range(1 << shape.n_masks)
        ]
        blocks = []

        def block(name: str, axes: tuple[int, ...], columns: dict[str, float], meaning: str) -> int:
            offset = blocks[-1].offset + blocks[-1].size if blocks else 0
            blocks.append(TensorBlock(
                name, offset, (*axes, len(columns)), tuple(columns), tuple(map(float, columns.values())), meaning))
            return offset

        shape.rules = block(
            "rules", (), flags("armageddon", "practice") | {"turn_limit": 65535}, "options of the game")
        shape.turn = block(
            "turn", (),
            flags("spectator") | {"turn_number": turn_limit, "actions_used": shape.actions}
            | flags("wild_drawn", "wild_dived", "piles_empty") | {"final_turns_left": players}
            | flags("finished", "turn_limit", "practice") | seats("current") | seats("first"),
            "whether the observer is a spectator; turn, a pending Wild Provoke, the final turns; why the game is "
            "over; whose turn it is (no seat when over) and who had the first")
        shape.piles = block(
            "piles", (), {f"pile_{p + 1}": PILE_CAPACITY for p in range(N_PILES)}, "cards in the draw piles")
        shape.hand = block(
            "hand", (), {card.id: card.count for card in in_hand}, "cards of the observer's hand, by kind")
        shape.discard = block("discard", (), copies, "cards in the discard pile, by kind")
        shape.players_block = block(
            "players", (players,),
            {"hand_count": shape.hand_cards, "allowance": shape.actions, "score": shape.score}
            | {card.id: card.count for card in babies},
            "by seat: cards in the hand, actions a turn with the tools of now, points and Babies collected, by kind")
        shape.located = block(
            "located", (players,), {card.id: card.count for card in loose},
            "by seat: copies known to be in the hand of another, by kind; heads have the next block")
        shape.located_heads = block(
            "located_heads", (players, shape.n_heads), dict.fromkeys(subsets, shape.head_copies),
            "by seat and kind of head: copies known to be in the hand or under one of these masks, and nowhere "
            "else; masks are counted from 1 in order of their places")
        shape.armies = block(
            "armies", (N_TYPES, shape.army_size),
            flags("present", "known") | {"points": shape.points} | flags("public") | seats("seen"),
            "by type and position, bottom first: whether a Baby lies there, whether the observer knows it, its "
            "points if so; whether everyone, and which seats, have seen it")
        shape.monsters = block(
            "monsters", (shape.n_slots,),
            seats("owner") | flags(*(card.id for card in heads), "unknown_head")
            | flags(*(f"mask_{i + 1}" for i in range(shape.n_masks)), "public") | seats("seen")
            | flags(*(f"not_{t}" for t in TYPES), *(card.id for card in torsos), *PARTS)
            | {"strength": shape.strength},
            "by place: owner (no seat: the place is free), head (none: dead), its mask, whether everyone and which "
            "seats have seen what is under it, types in which it is publicly known not to fight; torso, parts, "
            "strength (0 when the head is unknown or missing)")
        shape.remains = block(
            "remains", (shape.n_remains,), seats("owner") | flags(*PARTS[:-1]),
            "what is left of monsters with neither head nor torso, by place")
        shape.size = blocks[-1].offset + blocks[-1].size
        self.blocks = tuple(blocks)

    @property
    def size(self) -> int:
        """Length of a tensor."""
        return self.shape.size

    def split(self, tensor) -> dict[str, object]:
        """The blocks of a tensor by name, in their shapes, as views of it; further axes in front (batches) stay."""
        return {
            block.name: tensor[..., block.offset:block.offset + block.size].reshape(
                *tensor.shape[:-1], *block.shape)
            for block in self.blocks
        }


cdef inline void put_seats(const Shape *shape, const int *row, int observers, float *x) noexcept nogil:
    cdef int p
    for p in range(shape.players):
        x[row[p]] = observers >> p & 1


cdef void fill(
    const Shape *shape, const View *view, bint armageddon, bint practice, float *tensor
) noexcept nogil:
    cdef const State *s = &view.state
    cdef const Monster *m
    cdef const Mask *mask
    cdef float *x
    cdef float *y
    cdef int row[MAX_PLAYERS]
    cdef int players = shape.players, observer = view.observer, p, t, i, j, code
    cdef uint64_t rest
    memset(tensor, 0, shape.size * sizeof(float))
    for p in range(players):
        row[p] = p if observer == PUBLIC else (p - observer + players) % players

    x = tensor + shape.rules
    x[0] = armageddon
    x[1] = practice
    x[2] = shape.turn_limit / 65535

    x = tensor + shape.turn
    x[0] = observer == PUBLIC
    x[1] = s.turn / shape.turn_limit
    x[2] = s.used / shape.actions
    x[3] = s.pending == WILD_DRAWN
    x[4] = s.pending == WILD_DIVED
    if s.final_left >= 0:
        x[5] = 1
        x[6] = <float>s.final_left / players
    if s.reason == RUNNING:
        x[10 + row[s.current]] = 1
    else:
        x[6 + s.reason] = 1
    x[10 + players + row[s.first_player]] = 1

    for i in range(N_PILES):
        tensor[shape.piles + i] = <float>s.n_pile[i] / PILE_CAPACITY

    x = tensor + shape.hand
    for i in range(shape.n_kinds):
        code = shape.code[i]
        tensor[shape.discard + i] = s.discard[code] / shape.copies[code]
        if code < N_HAND_KINDS:
            if observer != PUBLIC:
                x[0] = s.hand[observer][code] / shape.copies[code]
            x += 1

    for p in range(players):
        x = tensor + shape.players_block + row[p] * (3 + shape.n_babies)
        x[0] = s.n_hand[p] / shape.hand_cards
        x[1] = (shape.base_actions + s.tools[p]) / shape.actions
        x[2] = s.score[p] / shape.score
        x += 3
        y = tensor + shape.located + row[p] * (shape.n_hand - shape.n_heads)
        for i in range(shape.n_kinds):
            code = shape.code[i]
            if code >= BABIES:
                x[0] = s.collected[p][code - BABIES] / shape.copies[code]
                x += 1
            elif TORSOS <= code < N_HAND_KINDS:
                y[0] = s.located[p][code] / shape.copies[code]
                y += 1

    # Places are the hand, always, and a set of masks.
    for i in range(s.n_facts):
        j = row[s.facts[i].owner] * shape.n_heads + s.facts[i].kind
        x = tensor + shape.located_heads + (j << shape.n_masks) + (s.facts[i].places[observer] >> 1)
        x[0] += 1 / shape.head_copies

    for t in range(N_TYPES):
        x = tensor + shape.armies + t * shape.army_size * (4 + players)
        for i in range(s.n_army[t]):
            x[0] = 1
            if s.army[t][i] != UNKNOWN:
                x[1] = 1
                x[2] = (s.army[t][i] - BABIES - 10 * t) / shape.points
            x[3] = s.army_known[t][i] == EVERYONE
            put_seats(shape, row, s.army_known[t][i], x + 4)
            x += 4 + players

    j = 2 * players + shape.n_heads + shape.n_masks + shape.n_torsos + 12
    rest = s.slots
    while rest:
        i = ctz(rest)
        rest &= rest - 1
        m = &s.monsters[i]
        x = tensor + shape.monsters + i * j
        x[row[m.owner]] = 1
        x += players
        if m.head == UNKNOWN:
            x[shape.n_heads] = 1
        elif m.head != NONE:
            x[m.head] = 1
        x += shape.n_heads + 1
        if m.mask:
            mask = &s.masks[m.mask - 1]
            x[m.mask - 1] = 1
            x[shape.n_masks] = mask.known == EVERYONE
            put_seats(shape, row, mask.known, x + shape.n_masks + 1)
            for t in range(N_TYPES):
                x[shape.n_masks + 1 + players + t] = mask.excluded >> t & 1
        x += shape.n_masks + 1 + players + N_TYPES
        if m.torso != NONE:
            x[m.torso - TORSOS] = 1
        x += shape.n_torsos
        for t in range(6):
            x[t] = m.parts >> t & 1
        x[6] = m.strength / shape.strength

    rest = s.remains_taken
    while rest:
        i = ctz(rest)
        rest &= rest - 1
        x = tensor + shape.remains + i * (players + 5)
        x[row[s.remains[i].owner]] = 1
        x += players
        for t in range(5):
            x[t] = s.remains[i].parts >> t & 1


cdef object tensor_of(TensorLayout layout, const View *view, bint armageddon, bint practice, object out):
    """The tensor of a view, written into `out` when given."""
    cdef float[::1] values
    if out is None:
        import numpy
        out = numpy.empty(layout.shape.size, numpy.float32)
    values = out
    if values.shape[0] != layout.shape.size:
        raise ValueError(f"out must hold {layout.shape.size} numbers, not {values.shape[0]}")
    fill(&layout.shape, view, armageddon, practice, &values[0])
    return out
