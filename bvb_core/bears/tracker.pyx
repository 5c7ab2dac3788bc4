# cython: boundscheck=True, wraparound=True, annotation_typing=False
"""Observations from events: what a front-end's seat was shown, line by line, becomes what the seat knows.

The tracker plays every action on the seat's own view with the rules of the game. Cards that the action brings to light
are put in place first; hidden ones stay hidden. The lines that this shows must then be the lines that were given.
"""

from libc.stdint cimport int32_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcpy, memset

from bvb_core.bears.battle cimport fight
from bvb_core.bears.cards cimport *
from bvb_core.bears.deck import TYPES
from bvb_core.bears.monsters cimport refresh
from bvb_core.bears.moves cimport legal_actions
from bvb_core.bears.notation cimport event_lines, text_of
from bvb_core.bears.observe cimport observe
from bvb_core.bears.ops cimport Game, Observation
from bvb_core.bears.ops cimport State as StateObject
from bvb_core.bears.position import brief
from bvb_core.bears.rules cimport apply_act
from bvb_core.bears.state cimport *
from bvb_core.game cimport SPECTATOR
from bvb_core.game import ObservationError


class EventError(ValueError):
    """An event that cannot have happened. `index` counts the lines pushed from 0; `reason` says what is wrong."""

    def __init__(self, index: int, line: str, reason: str) -> None:
        super().__init__(f"events[{index}] {brief(line)}: {reason}")
        self.index = index
        self.line = line
        self.reason = reason


class _Refused(ValueError):
    """Why a line cannot follow."""


cdef class Tracker:
    """Follows a game from one seat (None: a spectator) by its initial view and the event lines it is shown.

    `rules` is the "rules" object of records, `initial_view` an Observation, its dict or its JSON text, at any moment of the
    game. `push` takes one line; the lines of one action (its own, then `reveal` and `army` lines) follow each other.
    """

    cdef readonly Game game
    cdef readonly object seat
    cdef int observer
    cdef State base            # before the action whose lines are being collected
    cdef State now             # after it
    cdef State wasted          # after it, where a Wild Provoke may or may not have been of use
    cdef bint doubtful         # now and wasted are both possible
    cdef list group            # lines of the action
    cdef bint complete         # no line of the action is known to be missing
    cdef readonly int count    # lines pushed

    def __init__(self, rules: dict, seat: int | None, initial_view, deck=None) -> None:
        if isinstance(initial_view, str):
            view = Observation.from_json(initial_view, deck)
        elif isinstance(initial_view, dict):
            view = Observation.from_dict(initial_view, deck)
        else:
            view = initial_view
        if not isinstance(view, Observation):
            raise TypeError(f"initial_view must be an Observation, its dict or its JSON, not {type(initial_view).__name__}")
        if view.seat != seat:
            raise ValueError(f"initial_view is the view of seat {view.seat}, not of seat {seat}")
        for key, value in rules.items():
            if view.rules.get(key) != value:
                raise ValueError(f"rules: {key} is {value!r}, but the initial view says {view.rules.get(key)!r}")
        self.game = view.game
        self.seat = seat
        self.observer = PUBLIC if seat is None else seat
        self.now = (<View *>(<Observation>view).data).state
        self.group = []
        self.complete = True

    def push(self, line: str) -> None:
        """Take the next line. Raises EventError, and leaves the tracker as it was, for one that cannot follow."""
        cdef State base = self.base, now = self.now, wasted = self.wasted
        cdef bint doubtful = self.doubtful, complete = self.complete
        group = self.group
        try:
            if not isinstance(line, str):
                raise _Refused("an event is a text")
            words = line.split(" ")
            if words and words[0] in ("reveal", "army"):
                if not group:
                    raise _Refused("there is no action that it could belong to")
                self.group = [*group, line]
            else:
                if not complete:
                    raise _Refused(f"first a line of {group[0]!r} is missing: what it turned over")
                if doubtful and words[:1] != ["wild"]:
                    self.now = self.wasted
                self.base = self.now
                self.group = [line]
            self.replay()
        except _Refused as problem:
            self.base, self.now, self.wasted = base, now, wasted
            self.doubtful, self.complete, self.group = doubtful, complete, group
            raise EventError(self.count, line, str(problem)) from None
        self.count += 1

    def observation(self) -> Observation:
        """What the seat knows now. Raises EventError when lines of the last action are missing.

        Where nobody but the player who drew a Wild Provoke can tell yet whether it is of use, the reading is taken by which
        this seat is to move, if there is one.
        """
        cdef State *s = &self.now
        if not self.complete:
            raise EventError(self.count, "", f"a line of {self.group[0]!r} is missing: what it turned over")
        if self.doubtful and self.wasted.reason == RUNNING and self.wasted.current == self.observer:
            s = &self.wasted
        cdef Observation observation = Observation(self.game, self.seat)
        observe(&self.game.context, s, self.observer, <View *>observation.data)
        return observation

    def event_key(self) -> int | None:
        """What State.event_key gives this seat for the last action. None before the first one, while lines of it are missing,
        and where this seat cannot tell yet whether a Wild Provoke is of use."""
        if not self.group or not self.complete or self.doubtful:
            return None
        return self.game.ops.event_key(
            self.game.ctx, &self.now, SPECTATOR if self.seat is None else self.observer)

    cdef int replay(self) except -1:
        """Play the action of the group on the base, and compare what it shows with the group."""
        cdef const Ctx *ctx = &self.game.context
        cdef State *s = &self.now
        cdef Ctx calm
        cdef int32_t action
        cdef Act act
        cdef int t, own_lines, kind = NONE
        cdef int saved[N_TYPES]
        self.now = self.base
        self.doubtful = False
        if s.reason != RUNNING:
            raise _Refused("the game is over")
        text, equals, brought = self.group[0].partition(" = ")
        own = s.current == self.observer
        action = self.find(text, own)
        act = ctx.acts[action]
        if act.verb == V_DRAW:
            kind = self.drawn(brought if equals else None, own)
            s.pile[act.a][s.n_pile[act.a] - 1] = kind
        elif act.verb == V_DIVE:
            if equals and brought != self.game.names[act.a]:
                raise _Refused(f"the dive brings {self.game.names[act.a]}")
            self.group = [text, *self.group[1:]]
        elif equals:
            raise _Refused("only a draw brings a card")
        s.shown.action = action
        if ctx.armageddon and s.final_left == 0:
            # Armageddon may follow at once: the action is played without it, then Armageddon with the lines that are left.
            calm = ctx[0]
            calm.armageddon = False
            own_lines = self.lines_of_action(&calm, act, own)
            self.fill_in(self.group[1:own_lines], True)
            self.play(&calm, act, own)
            if s.reason == FINISHED and (s.n_army[0] or s.n_army[1] or s.n_army[2]):
                self.fill_in(self.group[own_lines:], False)
                fight(ctx, s, 7)
        else:
            self.fill_in(self.group[1:], True)
            self.play(ctx, act, own)
        if (
            s.shown.kind == WILD_PROVOKE and s.pending == NOT_PENDING and not own and len(self.group) == 1
            and self.may_know(self.armies())
        ):
            # Play it again as if there were a monster of every type to be seen.
            self.wasted = self.now
            self.now = self.base
            self.doubtful = True
            for t in range(N_TYPES):
                saved[t] = s.visible[t]
                s.visible[t] = 1
            if act.verb == V_DRAW:
                s.pile[act.a][s.n_pile[act.a] - 1] = WILD_PROVOKE
            s.shown.action = action
            self.play(ctx, act, own)
            for t in range(N_TYPES):
                s.visible[t] = saved[t]
            if self.contradiction(&self.wasted):
                self.doubtful = False
            elif self.contradiction(s):
                self.now = self.wasted
                self.doubtful = False
        lines = event_lines(self.game.names, ctx, s, self.observer)
        for given, shown in zip(self.group, lines):
            if given != shown:
                raise _Refused(f"expected {shown.rstrip()!r}" + (" and what was turned over" if shown != shown.rstrip() else ""))
        if len(self.group) > len(lines):
            raise _Refused("this action turned nothing more over")
        self.complete = len(self.group) == len(lines) and not memchr(s.shown.army, UNKNOWN, s.shown.n_army)
        if self.complete:
            problem = self.contradiction(s)
            # A battle can only have turned over what would resolve it.
            self.complete = problem is None
            if problem and act.verb != V_PROVOKE and act.verb != V_WILD and s.reason == RUNNING:
                raise _Refused(f"contradicts what was seen before: {problem}")
        return 0

    cdef int lines_of_action(self, const Ctx *calm, Act act, bint own) except -1:
        """How many lines of the group belong to the action itself, where Armageddon may follow."""
        cdef int n = 1, slot, types
        cdef State before
        cdef bint sure = False, fits = True
        if act.verb == V_LULLABY:
            return min(2, len(self.group))
        if act.verb != V_PROVOKE and act.verb != V_WILD:
            before = self.now
            self.play(calm, act, own)
            n = len(event_lines(self.game.names, calm, &self.now, self.observer))
            self.now = before
            return min(n, len(self.group))
        types = 1 << act.a
        for slot in range(N_SLOTS):
            if self.now.slots >> slot & 1 and self.now.monsters[slot].head < calm.n_heads:
                sure = sure or bool(calm.types[self.now.monsters[slot].head] & types)
        while n < len(self.group) and self.group[n].startswith("reveal "):
            head = self.game.heads.get(self.group[n].split(" ")[-1])
            fits = fits and head is not None and bool(calm.types[<int>self.game.codes[head]] & types)
            n += 1
        if not sure and (n == 1 or not fits):
            return 1  # no battle: all lines are of Armageddon
        return min(n + 1, len(self.group))

    cdef int play(self, const Ctx *ctx, Act act, bint own) noexcept:
        """Apply the action to the view; what others hold stays hidden."""
        cdef State *s = &self.now
        cdef int actor = s.current, kind, slot, t
        cdef uint32_t number = s.next_number
        apply_act(ctx, s, act)
        if own:
            return 0
        memset(&s.hand[actor], 0, sizeof(s.hand[actor]))
        s.hand_kinds[actor] = 0
        kind = s.shown.kind
        if act.verb == V_DRAW and kind >= BABIES and kind != NONE:
            t = baby_type(kind)
            s.army[t][s.n_army[t] - 1] = UNKNOWN
        if act.verb == V_MASK:
            number = s.shown.monster[0]
            for slot in range(N_SLOTS):
                if s.slots >> slot & 1 and s.monsters[slot].number == number:
                    s.monsters[slot].head = UNKNOWN
                    refresh(ctx, s, slot)
        return 0

    cdef int drawn(self, object brought, bint own) except -1:
        """The code of a drawn card, or of one that may stand for it where only its type, or nothing, was shown."""
        if brought is None:
            raise _Refused("a draw says what it brought, as in 'draw 2 = arm', or '= ?' for a card that others keep")
        if own or brought == "wild_provoke":
            code = self.game.codes.get(brought)
            if code is None and brought in ("?", *(f"{army}_baby" for army in TYPES)):
                raise _Refused("the seat knows what it drew, so this line names the card, as in 'draw 2 = arm'")
            if code is None:
                raise _Refused(f"no card {brought!r} in this deck")
            return code
        if brought == "?":
            return HEADS
        for t, army in enumerate(TYPES):
            if brought == f"{army}_baby":
                return BABIES + 10 * t
        raise _Refused("others see '?', wild_provoke or the type of a Baby, as in land_baby, of what is drawn")

    cdef int32_t find(self, str text, bint own) except -1:
        """The id of an action in notation, with the cards that it needs in the hand of the player."""
        cdef const Ctx *ctx = &self.game.context
        cdef State *s = &self.now
        cdef State trial
        cdef int32_t action
        cdef int kind, actor = s.current, needed = 0
        if not own:
            if text.startswith("mask ") and not text.startswith("mask ?"):
                raise _Refused("others do not see the head under a mask: mask ?")
            # Any card may be in a hand that is not seen, as long as it has cards enough.
            for kind in range(N_HAND_KINDS):
                if ctx.index[kind] != NONE:
                    s.hand[actor][kind] += 1
                    s.hand_kinds[actor] |= <uint32_t>1 << kind
            if text.startswith("mask ?"):
                text = "mask " + self.game.names[HEADS].removesuffix("_head") + text.removeprefix("mask ?")
                needed = 2
        elif text.startswith("mask ?"):
            raise _Refused("the seat knows the heads that it plays")
        memcpy(&trial, s, sizeof(State))
        if not own:
            # The player may know heads that this seat does not.
            for kind in range(N_TYPES):
                if self.may_know(1 << kind):
                    trial.visible[kind] += 1
        for action in self.ids(&trial):
            if text_of(self.game.names, ctx, s, action) == text:
                kind = ctx.acts[action].verb
                if not own and max(needed, 1) > s.n_hand[actor] and kind >= V_LULLABY and kind != V_DIVE:
                    raise _Refused(f"seat {actor} has too few cards for it: {s.n_hand[actor]}")
                return action
        raise _Refused(self.why_illegal(text))

    cdef str why_illegal(self, str text):
        cdef StateObject state = StateObject(self.game)
        memcpy(state.data, &self.now, sizeof(State))
        return state.why_illegal(text)

    cdef list ids(self, const State *s):
        cdef const Ctx *ctx = &self.game.context
        cdef int32_t *ids = <int32_t *>malloc(ctx.n_actions * sizeof(int32_t))
        cdef int n, i
        if ids == NULL:
            raise MemoryError
        n = legal_actions(ctx, s, ids)
        result = [ids[i] for i in range(n)]
        free(ids)
        return result

    cdef bint may_know(self, int types) noexcept:
        """Whether the player may know a masked head of one of these types that this seat does not know."""
        cdef const Mask *mask
        cdef int i
        for i in range(MAX_MASKS):
            mask = &self.base.masks[i]
            if (
                mask.used and mask.known >> self.base.current & 1 and not mask.known >> self.observer & 1
                and types & ~mask.excluded
            ):
                return True
        return False

    cdef int armies(self) noexcept:
        """Set of types that have Babies."""
        cdef int t, types = 0
        for t in range(N_TYPES):
            if self.base.n_army[t]:
                types |= 1 << t
        return types

    cdef int fill_in(self, list lines, bint before_action) except -1:
        """Put the heads and Babies that the lines name in place."""
        cdef State *s = &self.now
        cdef int t, first, i, kind
        for line in lines:
            verb, *words = line.split(" ")
            if verb == "reveal":
                if len(words) != 2 or words[1] not in self.game.heads:
                    raise _Refused("a head is revealed as in 'reveal m3 sky'")
                self.reveal(words[0], self.game.codes[self.game.heads[words[1]]], before_action)
                continue
            if not words or words[0] not in TYPES:
                raise _Refused("an army is turned over as in 'army land land_baby_2 land_baby_0'")
            t = TYPES.index(words[0])
            kinds = [self.game.codes.get(word, -1) for word in words[1:]]
            if any(not BABIES + 10 * t <= kind < BABIES + 10 * t + 10 for kind in kinds):
                raise _Refused(f"these are not {words[0]} Babies of this deck")
            # A battle turns the whole army over, a Lullaby its top.
            first = s.n_army[t] - len(kinds)
            if first < 0:
                raise _Refused(f"this is longer than the {words[0]} army, which has {s.n_army[t]}")
            for i, kind in enumerate(kinds):
                if s.army[t][first + i] not in (UNKNOWN, kind):
                    raise _Refused(f"Baby {first + i + 1} from the bottom is {self.game.names[s.army[t][first + i]]}")
                s.army[t][first + i] = kind
        return 0

    cdef int slot_of(self, str name) except -1:
        cdef int slot
        for slot in range(N_SLOTS):
            if self.now.slots >> slot & 1 and f"m{self.now.monsters[slot].number}" == name:
                return slot
        raise _Refused(f"there is no monster {name}")

    cdef int reveal(self, str name, int kind, bint before_action) except -1:
        """Put a head under its mask; before a swap it is where it comes from."""
        cdef const Ctx *ctx = &self.game.context
        cdef State *s = &self.now
        cdef int slot
        words = self.group[0].split(" ")
        if before_action and words[0] == "swap" and name in words:
            slot = self.slot_of(words[2] if words[1] == name else words[1])
        else:
            slot = self.slot_of(name)
        if not s.monsters[slot].mask:
            raise _Refused(f"no mask lies on the head that {name} shows")
        if s.monsters[slot].head not in (UNKNOWN, kind):
            raise _Refused(f"this head is known to be {self.game.names[s.monsters[slot].head]}")
        if s.masks[s.monsters[slot].mask - 1].excluded & ctx.types[kind]:
            raise _Refused(f"this head is known not to fight in a type of {self.game.names[kind]}")
        s.monsters[slot].head = kind
        refresh(ctx, s, slot)
        return 0

    cdef object contradiction(self, const State *s):
        """Why no assignment of cards fits what the seat knows in a state, or None."""
        cdef Observation observation = Observation(self.game, self.seat)
        observe(&self.game.context, s, self.observer, <View *>observation.data)
        try:
            observation.prepared()
        except ObservationError as error:
            return error
        return None
