# cython: boundscheck=True, wraparound=True, annotation_typing=False
"""Views as the JSON form of bvb.v1.Observation, and back with every check."""

import re

from bvb_core.bears.deck import TYPES
from bvb_core.bears.battle cimport provokable
from bvb_core.bears.observe cimport observe
from bvb_core.bears.state cimport rebuild
from bvb_core.game import ObservationError

PENDING = ("PENDING_UNSPECIFIED", "PENDING_WILD_PROVOKE_DRAWN", "PENDING_WILD_PROVOKE_DIVED")
REASONS = ("finished", "turn_limit", "practice")
PART_NAMES = (("left_arm", LEFT_ARM), ("right_arm", RIGHT_ARM), ("legs", HAS_LEGS), ("left_tool", LEFT_TOOL),
              ("right_tool", RIGHT_TOOL), ("hat", HAS_HAT))
# What remains without head and torso can be: whatever was the last card joined to the torso.
REMAINS = (LEFT_ARM, RIGHT_ARM, LEFT_ARM | LEFT_TOOL, RIGHT_ARM | RIGHT_TOOL, HAS_LEGS, LEFT_TOOL, RIGHT_TOOL)


cdef list kinds_of(const Ctx *ctx, list names, const uint8_t *counts, int first, int end):
    """Card ids by their counts, in deck order; counts[0] is for the code `first`."""
    cdef int i, code
    result = []
    for i in range(ctx.n_kinds):
        code = ctx.code[i]
        if first <= code < end and counts[code - first]:
            result += [names[code]] * counts[code - first]
    return result


cdef list seats_in(int observers):
    return [] if observers == EVERYONE else [p for p in range(MAX_PLAYERS) if observers >> p & 1]


cdef dict view_to_dict(const Ctx *ctx, list names, dict rules, object seat, const State *s):
    """The observation of a view's state; given a full state, only its table means anything."""
    cdef int observer = PUBLIC if seat is None else seat
    cdef int t, i, j, p, k, slot, known
    cdef const Monster *m
    cdef const Mask *mask
    view = {"rules": rules}
    if seat is not None:
        view["seat"] = seat
    view["turn_number"] = s.turn
    if s.reason == RUNNING:
        view["current_player"] = s.current
    view["actions_used"] = s.used
    view["pending"] = PENDING[s.pending]
    if s.final_left >= 0:
        view["final_turns_left"] = s.final_left
    view["pile_counts"] = [s.n_pile[i] for i in range(N_PILES)]
    armies = []
    for t in range(N_TYPES):
        babies = []
        for i in range(s.n_army[t]):
            known = s.army_known[t][i]
            babies.append({
                "kind": names[s.army[t][i]] if s.army[t][i] != UNKNOWN else "",
                "seen_by": seats_in(known), "public": known == EVERYONE,
            })
        armies.append({"type": TYPES[t], "babies": babies})
    view["armies"] = armies
    players = []
    for p in range(ctx.players):
        located = []
        for i in range(ctx.n_kinds):
            k = ctx.code[i]
            if k < TORSOS:
                facts = []
                for j in range(s.n_facts):
                    if s.facts[j].owner == p and s.facts[j].kind == k:
                        masks = [
                            s.monsters[s.masks[slot].slot].number
                            for slot in range(MAX_MASKS) if s.facts[j].places[observer] >> (1 + slot) & 1
                        ]
                        facts.append({"kind": names[k], "masks": sorted(masks)})
                located += sorted(facts, key=lambda fact: fact["masks"])
            elif k < N_HAND_KINDS:
                located += [{"kind": names[k], "masks": []} for _ in range(s.located[p][k])]
        players.append({
            "hand_count": s.n_hand[p],
            "hand": kinds_of(ctx, names, s.hand[p], 0, N_HAND_KINDS) if p == observer else [],
            "located": located,
            "collected": kinds_of(ctx, names, s.collected[p], BABIES, N_CODES),
        })
    view["players"] = players
    monsters = []
    for slot in range(N_SLOTS):
        if s.slots >> slot & 1:
            m = &s.monsters[slot]
            entry = {"number": m.number, "owner": m.owner}
            if m.head != NONE:
                head = {"kind": names[m.head] if m.head != UNKNOWN else "", "masked": m.mask != 0,
                        "seen_by": [], "public": False, "excluded_types": []}
                if m.mask:
                    mask = &s.masks[m.mask - 1]
                    head["seen_by"] = seats_in(mask.known)
                    head["public"] = mask.known == EVERYONE
                    head["excluded_types"] = [TYPES[t] for t in range(N_TYPES) if mask.excluded >> t & 1]
                entry["head"] = head
            entry["torso"] = names[m.torso] if m.torso != NONE else ""
            for name, part in PART_NAMES:
                entry[name] = bool(m.parts & <int>part)
            entry["place"] = slot
            monsters.append(entry)
        if s.remains_taken >> slot & 1:
            entry = {"number": s.remains[slot].number, "owner": s.remains[slot].owner, "torso": ""}
            for name, part in PART_NAMES:
                entry[name] = bool(s.remains[slot].parts & <int>part)
            entry["place"] = slot
            monsters.append(entry)
    view["monsters"] = sorted(monsters, key=lambda entry: entry["number"])
    view["next_monster"] = s.next_number
    view["discard"] = kinds_of(ctx, names, s.discard, 0, N_CODES)
    if s.reason != RUNNING:
        babies = [s.babies[p] for p in range(ctx.players)]
        scores = [s.score[p] for p in range(ctx.players)]
        ranks = list(zip(scores, babies))
        view["result"] = {
            "scores": scores, "babies": babies,
            "winners": [p for p in range(ctx.players) if ranks[p] == max(ranks)],
            "reason": REASONS[s.reason - 1],
        }
    return view


# Leaves room for the monsters of the rest of a game.
MAX_NUMBER = 50_000


# Characters of a value in an error text: the id of a deck with its quotes fits.
BRIEF = 80


def brief(value) -> str:
    """A value from outside in an error text: cut short, which dots show, and safe for what cannot be written out."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        return f"a huge {type(value).__name__}"
    return text if len(text) <= BRIEF else f"{text[:BRIEF - 4]}...{text[-1]}"


class Fields:
    """One JSON object that is being read; every complaint names the path of the field."""

    def __init__(self, data, path: str, names: tuple[str, ...]) -> None:
        if not isinstance(data, dict):
            raise ObservationError(path or "observation", f"must be an object, not {brief(data)}")
        self.path = path
        self.data = {}
        for key, value in data.items():
            snake = re.sub("[A-Z]", lambda m: "_" + m[0].lower(), key) if isinstance(key, str) else key
            if snake not in names:
                raise ObservationError(self.at(key), f"there is no such field; there are {', '.join(names)}")
            if snake in self.data:
                raise ObservationError(self.at(snake), "stands twice")
            if value is not None:
                self.data[snake] = value

    def __contains__(self, name: str) -> bool:
        return name in self.data

    def at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else str(name)

    def fail(self, name: str, problem: str):
        raise ObservationError(self.at(name), problem)

    def require(self, name: str, more: str = "") -> None:
        if name not in self.data:
            self.fail(name, f"is missing{more}")

    def integer(self, name: str, low: int, high: int, default: int | None = 0) -> int:
        """`default` None: the field is required."""
        if default is None:
            self.require(name)
        return self.check_integer(name, self.data.get(name, default), low, high)

    def check_integer(self, name: str, value, low: int, high: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            if not isinstance(value, float) or not value.is_integer():
                self.fail(name, f"must be a whole number, not {brief(value)}")
            value = int(value)
        if not low <= value <= high:
            wanted = f"{low} to {high}" if low != high else f"{low}"
            self.fail(name, f"must be {wanted}, not {brief(value)}")
        return value

    def flag(self, name: str) -> bool:
        value = self.data.get(name, False)
        if not isinstance(value, bool):
            self.fail(name, f"must be true or false, not {brief(value)}")
        return value

    def text(self, name: str) -> str:
        value = self.data.get(name, "")
        if not isinstance(value, str):
            self.fail(name, f"must be a text, not {brief(value)}")
        return value

    def items(self, name: str) -> list:
        value = self.data.get(name, [])
        if not isinstance(value, list):
            self.fail(name, f"must be a list, not {brief(value)}")
        return value

    def required_items(self, name: str, length: int, what: str) -> list:
        """A list that is never empty."""
        self.require(name, f"; it holds {length} {what}")
        values = self.items(name)
        if len(values) != length:
            self.fail(name, f"must hold {length} {what}, not {len(values)}")
        return values

    def seats(self, name: str, players: int) -> int:
        """A list of seats as a set of observers."""
        seats = 0
        for i, seat in enumerate(self.items(name)):
            seats |= 1 << self.check_integer(f"{name}[{i}]", seat, 0, players - 1)
        return seats

    def type(self, name: str) -> int:
        self.require(name)
        return self.check_type(name, self.data[name])

    def check_type(self, name: str, value) -> int:
        if value not in TYPES:
            self.fail(name, f"must be land, sea or sky, not {brief(value)}")
        return TYPES.index(value)


WAITS = "; the Wild Provoke that is pending counts, and lies neither in a hand nor in discard meanwhile"
OBSERVATION = ("rules", "seat", "turn_number", "current_player", "actions_used", "pending", "final_turns_left",
               "pile_counts", "armies", "players", "monsters", "next_monster", "discard", "result")
RULES = ("players", "first_player", "armageddon", "practice", "turn_limit", "deck")


cdef class Reader:
    """Reads an observation into a state that holds just what the observer knows."""

    cdef const Ctx *ctx
    cdef dict codes
    cdef list names
    cdef State s
    cdef int observer
    cdef int total[N_CODES]
    cdef list left_out         # armies that are not listed: they have no Babies
    cdef dict slot_of          # place by number, for living masked monsters whose head is hidden

    cdef int card(self, fields, str name, value, low: int, high: int, str what) except -1:
        """The code of a card in [low, high), counted towards the deck."""
        cdef int code
        if not isinstance(value, str) or value not in self.codes:
            fields.fail(name, f"no card {brief(value)} in this deck")
        code = self.codes[value]
        if not low <= code < high:
            fields.fail(name, f"{value} is no {what}")
        self.count(fields, name, code)
        return code

    cdef int count(self, fields, str name, int code) except -1:
        self.total[code] += 1
        if self.total[code] > self.ctx.count[code]:
            fields.fail(
                name, f"{self.total[code]} {self.names[code]} in this observation, but the deck has {self.ctx.count[code]}"
                + (WAITS if self.s.pending and code == WILD_PROVOKE else ""))
        return 0

    cdef int check_sum(self, fields) except -1:
        """Every card of the deck is somewhere."""
        cdef const State *s = &self.s
        cdef int p, t, slot, cards = 0
        for slot in range(N_SLOTS):
            if s.slots >> slot & 1:
                cards += (s.monsters[slot].head != NONE) + (s.monsters[slot].torso != NONE) + (s.monsters[slot].mask != 0)
                cards += popcount(s.monsters[slot].parts)
            if s.remains_taken >> slot & 1:
                cards += popcount(s.remains[slot].parts)
        places = {
            "pile_counts": sum([s.n_pile[t] for t in range(N_PILES)]),
            "hand_count": sum([s.n_hand[p] for p in range(self.ctx.players)]),
            "collected": sum([s.babies[p] for p in range(self.ctx.players)]),
            "armies": sum([s.n_army[t] for t in range(N_TYPES)]),
            "monsters": cards,
            "discard": len(fields.items("discard")),
            "pending": int(s.pending != NOT_PENDING),
        }
        total = sum(places.values())
        if total == self.ctx.n_cards:
            return 0
        if total < self.ctx.n_cards and self.left_out:
            fields.require("armies", f"; it holds one army for each of {', '.join(TYPES)}")
            fields.fail("armies", f"the {self.left_out[0]} army is missing: an army that is left out has no Babies, and "
                                  f"{self.ctx.n_cards - total} of {self.ctx.n_cards} cards are not accounted for")
        hands = [f"players[{p}].hand_count" for p in range(self.ctx.players) if p != self.observer]
        left_out = [name for name in ("monsters", "discard") if total < self.ctx.n_cards and not places[name]]
        wanting = {name: " (empty or left out)" for name in left_out}
        summands = ", ".join([f"{name} {n}{wanting.get(name, '')}" for name, n in places.items()])
        named = [*left_out, *hands, "pile_counts"]
        difference = f"{abs(total - self.ctx.n_cards)} too {'many' if total > self.ctx.n_cards else 'few'}"
        raise ObservationError(named[0], (
            f"the cards do not add up, {difference}: the deck has {self.ctx.n_cards}, this observation {total}: {summands}"
            + (WAITS if s.pending else "")), tuple(named[1:]))

    cdef int read_turn(self, fields) except -1:
        cdef State *s = &self.s
        cdef int players = self.ctx.players, left = 0, i
        s.turn = fields.integer("turn_number", 1, self.ctx.turn_limit, None)
        s.current = (s.first_player + s.turn - 1) % players
        for i, n in enumerate(fields.required_items("pile_counts", N_PILES, "numbers")):
            s.n_pile[i] = fields.check_integer(f"pile_counts[{i}]", n, 0, PILE_CAPACITY)
            left += s.n_pile[i]
        pending = fields.data.get("pending", 0)
        if pending in PENDING:
            pending = PENDING.index(pending)
        s.pending = fields.check_integer("pending", pending, 0, WILD_DIVED)
        if s.pending:
            self.count(fields, "pending", WILD_PROVOKE)
        s.used = fields.integer("actions_used", 0, 255)
        if "final_turns_left" in fields:
            s.final_left = fields.integer("final_turns_left", 0, players)
            if left:
                fields.fail("final_turns_left", "must be left out while draw piles have cards")
        elif not left:
            fields.fail("final_turns_left", "is missing: all draw piles are empty")
        if "result" in fields:
            result = Fields(fields.data["result"], "result", ("scores", "babies", "winners", "reason"))
            result.require("reason")
            if result.text("reason") not in REASONS:
                result.fail("reason", f"must be one of {', '.join(REASONS)}")
            s.reason = 1 + REASONS.index(result.text("reason"))
            if "current_player" in fields:
                fields.fail("current_player", "must be left out when there is a result")
            if s.pending or s.used:
                fields.fail("pending" if s.pending else "actions_used", "the game is over")
        elif "current_player" not in fields:
            fields.fail("current_player", "is missing (a game that is over has a result instead)")
        elif fields.integer("current_player", 0, players - 1) != s.current:
            fields.fail("current_player", f"seat {s.current} has turn {s.turn}, since seat {s.first_player} had the first")
        return 0

    cdef int read_armies(self, fields) except -1:
        cdef State *s = &self.s
        cdef int t, known
        seen = set()
        for i, item in enumerate(fields.items("armies")):
            army = Fields(item, f"armies[{i}]", ("type", "babies"))
            t = army.type("type")
            if t in seen:
                army.fail("type", f"the {TYPES[t]} army stands twice")
            seen.add(t)
            babies = army.items("babies")
            if len(babies) > ARMY_CAPACITY:
                army.fail("babies", f"at most {ARMY_CAPACITY}, not {len(babies)}")
            for j, entry in enumerate(babies):
                baby = Fields(entry, f"armies[{i}].babies[{j}]", ("kind", "seen_by", "public"))
                known = self.knowledge(baby, "Baby")
                if baby.text("kind"):
                    s.army[t][s.n_army[t]] = self.card(
                        baby, "kind", baby.text("kind"), BABIES + 10 * t, BABIES + 10 * t + 10, f"{TYPES[t]} Baby")
                else:
                    s.army[t][s.n_army[t]] = UNKNOWN
                s.army_known[t][s.n_army[t]] = known
                s.n_army[t] += 1
        self.left_out = [TYPES[t] for t in range(N_TYPES) if t not in seen]
        return 0

    cdef int knowledge(self, fields, str what) except -1:
        """The set of observers who know a Baby or a masked head, in accord with whether its kind is given."""
        cdef int known = fields.seats("seen_by", self.ctx.players)
        given = bool(fields.text("kind"))
        if fields.flag("public"):
            if not given:
                fields.fail("kind", f"is missing, and everyone has seen this {what}")
            return EVERYONE
        if given and self.observer == PUBLIC:
            self.no_spectator(fields, "kind")
        if not given and known >> self.observer & 1:
            fields.fail("kind", f"is missing, and the observer has seen this {what}")
        return known | given << self.observer

    cdef int no_spectator(self, fields, str name) except -1:
        """Refuse an observation without a seat that tells what only a player can know."""
        raise ObservationError(
            "seat", f"is missing, and no spectator can know {fields.at(name)}: set it to the seat whose view this is")

    cdef int read_players(self, fields) except -1:
        cdef State *s = &self.s
        cdef int p, k
        for p, item in enumerate(fields.required_items("players", self.ctx.players, "players, as rules.players says")):
            player = Fields(item, f"players[{p}]", ("hand_count", "hand", "located", "collected"))
            hand = player.items("hand")
            if hand and self.observer == PUBLIC:
                self.no_spectator(player, "hand")
            if hand and p != self.observer:
                player.fail("hand", "only the observer's own hand is known; known cards of others are located")
            for i, kind in enumerate(hand):
                s.hand[p][self.card(player, f"hand[{i}]", kind, 0, N_HAND_KINDS, "card of a hand")] += 1
            n = player.integer("hand_count", 0, self.ctx.n_cards)
            if p == self.observer and n:
                player.require("hand", f"; seat {p} is the observer, with a hand_count of {n}")
            if p == self.observer and n != len(hand):
                player.fail("hand_count", f"is {n}, but the length of hand is {len(hand)}")
            for i, kind in enumerate(player.items("collected")):
                k = self.card(player, f"collected[{i}]", kind, BABIES, UNKNOWN, "Baby")
                s.collected[p][k - BABIES] += 1
        return 0

    cdef int read_located(self, fields) except -1:
        """After the monsters, since located heads may be under their masks."""
        cdef State *s = &self.s
        cdef int p, k, places, slot
        for p, item in enumerate(fields.items("players")):
            player = Fields(item, f"players[{p}]", ("hand_count", "hand", "located", "collected"))
            located = player.items("located")
            if located and p == self.observer:
                player.fail("located", "the observer's own cards stand in hand")
            for i, entry in enumerate(located):
                fact = Fields(entry, f"players[{p}].located[{i}]", ("kind", "masks"))
                fact.require("kind")
                k = self.card(fact, "kind", fact.text("kind"), 0, N_HAND_KINDS, "card of a hand")
                if k >= TORSOS:
                    if fact.items("masks"):
                        fact.fail("masks", f"{fact.text('kind')} is no head")
                    s.located[p][k] += 1
                    continue
                places = IN_HAND
                for j, number in enumerate(fact.items("masks")):
                    if not isinstance(number, int) or isinstance(number, bool) or number not in self.slot_of:
                        fact.fail(f"masks[{j}]", f"m{brief(number)} has no masked head that the observer does not know")
                    slot = self.slot_of[number]
                    if s.masks[s.monsters[slot].mask - 1].excluded & self.ctx.types[k]:
                        fact.fail(f"masks[{j}]", f"the head of m{number} is known not to fight in a type of {fact.text('kind')}")
                    places |= 2 << (s.monsters[slot].mask - 1)
                s.facts[s.n_facts].owner = p
                s.facts[s.n_facts].kind = k
                s.facts[s.n_facts].places[self.observer] = places
                s.n_facts += 1
        return 0

    cdef int read_monsters(self, fields) except -1:
        cdef State *s = &self.s
        cdef int highest = 0
        monsters = []
        numbers = set()
        names = ("number", "owner", "head", "torso", *(name for name, _ in PART_NAMES), "place")
        for i, item in enumerate(fields.items("monsters")):
            monster = Fields(item, f"monsters[{i}]", names)
            number = monster.integer("number", 1, MAX_NUMBER, None)
            if number in numbers:
                monster.fail("number", f"m{number} stands twice")
            numbers.add(number)
            highest = max(highest, number)
            monsters.append((number, monster))
        s.next_number = fields.integer("next_monster", 1, MAX_NUMBER + 1, highest + 1)
        if s.next_number <= highest:
            fields.fail("next_monster", f"must be greater than the numbers of all monsters, {highest}")
        for number, monster in sorted(monsters, key=lambda pair: pair[0]):
            self.read_monster(monster, number)
        return 0

    cdef int read_monster(self, fields, int number) except -1:
        cdef State *s = &self.s
        cdef Monster *m
        cdef int parts = 0, owner, torso = NONE, place, limit
        cdef uint64_t taken
        cdef bint alive = "head" in fields
        owner = fields.integer("owner", 0, self.ctx.players - 1)
        for name, part in PART_NAMES:
            if fields.flag(name):
                parts |= <int>part
                self.count(fields, name, (ARM, ARM, LEGS, TOOL, TOOL, HAT)[[n for n, _ in PART_NAMES].index(name)])
        if fields.text("torso"):
            torso = self.card(fields, "torso", fields.text("torso"), TORSOS, ARM, "torso or body")
        remains = not alive and torso == NONE
        limit = self.ctx.n_remains if remains else self.ctx.n_slots
        taken = s.remains_taken if remains else s.slots
        if "place" in fields:
            place = fields.integer("place", 0, limit - 1)
            if taken >> place & 1:
                fields.fail("place", f"{place} is taken by another monster")
        else:
            place = ctz(~taken)
        if remains:
            if parts not in REMAINS:
                fields.fail("head", "without head and torso one card remains, or one arm with its tool")
            s.remains_taken |= <uint64_t>1 << place
            s.remains[place] = Remains(parts, owner, number)
            return 0
        self.check_parts(fields, alive, torso, parts)
        s.slots |= <uint64_t>1 << place
        m = &s.monsters[place]
        m.head = NONE
        m.torso = torso
        m.parts = parts
        m.owner = owner
        m.number = number
        if alive:
            self.read_head(Fields(
                fields.data["head"], fields.at("head"), ("kind", "masked", "seen_by", "public", "excluded_types")),
                m, place)
        return 0

    cdef int check_parts(self, fields, bint alive, int torso, int parts) except -1:
        """Whether the parts can be joined: each lies where the monster without it has a joint or socket."""
        cdef int body, without
        for name, part, room, needs in (
            ("left_arm", LEFT_ARM, OPEN_LEFT, LEFT_TOOL), ("right_arm", RIGHT_ARM, OPEN_RIGHT, RIGHT_TOOL),
            ("legs", HAS_LEGS, OPEN_WAIST, 0),
            ("left_tool", LEFT_TOOL, SOCKET_LEFT, 0), ("right_tool", RIGHT_TOOL, SOCKET_RIGHT, 0),
        ):
            if parts & <int>part:
                without = parts & ~(<int>part | <int>needs)
                body = body_index(torso, without)
                if not self.ctx.capability[1][body] >> <int>room & 1:
                    fields.fail(name, "there is nothing on this monster that it could be joined to")
        if parts & HAS_HAT and not alive:
            fields.fail("hat", "a hat sits on a head")
        return 0

    cdef int read_head(self, head, Monster *m, int place) except -1:
        cdef State *s = &self.s
        cdef Mask *mask
        cdef int i = 0, types = 0
        kind = head.text("kind")
        m.head = UNKNOWN
        if kind:
            m.head = self.card(head, "kind", kind, 0, TORSOS, "head")
        if not head.flag("masked"):
            if not kind:
                head.fail("kind", "is missing, and the head is not masked")
            for name in ("seen_by", "public", "excluded_types"):
                if head.data.get(name):
                    head.fail(name, "the head is not masked")
            return 0
        self.count(head, "masked", MASK)
        while s.masks[i].used:
            i += 1
        m.mask = i + 1
        mask = &s.masks[i]
        mask.used = 1
        mask.slot = place
        mask.known = self.knowledge(head, "head") | 1 << m.owner
        if m.owner == self.observer and not kind:
            head.fail("kind", "is missing, and the observer knows the heads of their own monsters")
        for j, name in enumerate(head.items("excluded_types")):
            types |= 1 << <int>head.check_type(f"excluded_types[{j}]", name)
        if types and mask.known == EVERYONE:
            head.fail("excluded_types", "the head is public")
        mask.excluded = types
        if not any(self.ctx.count[k] and not self.ctx.types[k] & types for k in range(self.ctx.n_heads)):
            head.fail("excluded_types", "no head of this deck is left that could lie under the mask")
        if kind:
            if types & self.ctx.types[m.head]:
                head.fail("excluded_types", f"{kind} fights in one of these types")
        else:
            self.slot_of[m.number] = place
        return 0


cdef int view_from_dict(const Ctx *ctx, dict codes, list names, dict data, int first_player, View *view) except -1:
    """Fill a view. Raises ObservationError naming the field; what only the belief can find is left to it."""
    cdef Reader reader = Reader()
    cdef State *s = &reader.s
    cdef int p
    fields = Fields(data, "", OBSERVATION)
    reader.ctx = ctx
    reader.codes = codes
    reader.names = names
    reader.slot_of = {}
    reader.observer = fields.integer("seat", 0, ctx.players - 1) if "seat" in fields else PUBLIC
    s.first_player = first_player
    s.final_left = -1
    reader.read_turn(fields)
    reader.read_armies(fields)
    reader.read_players(fields)
    reader.read_monsters(fields)
    for i, kind in enumerate(fields.items("discard")):
        s.discard[reader.card(fields, f"discard[{i}]", kind, 0, UNKNOWN, "card")] += 1
    reader.read_located(fields)
    rebuild(ctx, s)
    for p, player in enumerate(fields.items("players")):
        s.n_hand[p] = Fields(player, "", ("hand_count", "hand", "located", "collected")).integer("hand_count", 0, 255)
    if s.pending and not (s.n_army[0] or s.n_army[1] or s.n_army[2]):
        fields.fail("pending", "no army has Babies, so a Wild Provoke is wasted at once")
    if s.pending and reader.observer == s.current and not provokable(ctx, s, s.current):
        fields.fail("pending", "no army may be provoked, so a Wild Provoke is wasted at once")
    if s.reason == RUNNING:
        allowance = ctx.base_actions + s.tools[s.current]
        if s.pending == WILD_DRAWN and not 1 <= s.used <= allowance:
            fields.fail("actions_used", f"must be 1 to {allowance}: the drawn Wild Provoke has been counted")
        if s.pending == WILD_DIVED and s.used:
            fields.fail("actions_used", "must be 0: the Wild Provoke was dived")
        if not s.pending and s.used >= allowance:
            fields.fail("actions_used", f"must be below {allowance}, the actions of seat {s.current} in this turn")
    if "result" in fields:
        result = Fields(fields.data["result"], "result", ("scores", "babies", "winners", "reason"))
        scores = [s.score[p] for p in range(ctx.players)]
        if result.items("scores") not in ([], scores):
            result.fail("scores", f"the collected Babies make {scores}")
    reader.check_sum(fields)
    observe(ctx, s, reader.observer, view)
    return 0
