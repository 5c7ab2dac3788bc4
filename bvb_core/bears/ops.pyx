# cython: boundscheck=True, wraparound=True, annotation_typing=False
"""Bears vs Babies on the game contract: the only void* casts, and the Python objects with what is particular to it."""

from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memcpy, memset

import functools
import hashlib
import os

from bvb_core.bears.belief cimport (
    ARMY_TOO_LARGE, CARDS_DO_NOT_ADD_UP, HAND_TOO_SMALL, TOO_MANY_CARDS, TOO_MANY_CHOICES,
    Belief, determinize, prepare_belief,
)
from bvb_core.bears.cards cimport (
    BABIES, N_CODES, N_HAND_KINDS, N_PILES, N_SLOTS, N_TYPES, NONE, UNKNOWN, V_DRAW, V_MASK, WILD_PROVOKE,
    Act, Bmi2, Cpu, Ctx, Portable, baby_type, fill_ctx, free_ctx, has_fast_bmi2,
)
from bvb_core.bears.cards import HAND_CODES, card_codes
from bvb_core.bears.deck import PRACTICE_ROLES, TYPES, Deck, DeckError, load_deck
from bvb_core.bears.moves cimport act_id, legal_actions, random_act, representative, search_actions
from bvb_core.bears.notation cimport event_lines, seen_text_of, text_of
from bvb_core.bears.notation import action_fields, head_name
from bvb_core.bears.observe cimport observe
from bvb_core.bears.position cimport view_from_dict, view_to_dict
from bvb_core.bears.position import brief
from bvb_core.bears.rules cimport apply_act, returns_of
from bvb_core.bears.state cimport (
    EATEN_BY, NOT_KEPT, PUBLIC, RUNNING, WAITING, Shown, View, army_push, deal, empty_state, start_game, state_problem,
)
from bvb_core.bears.state cimport State as StateStruct
from bvb_core.bears.tensor cimport TensorLayout, tensor_of
from bvb_core.game cimport ABI_VERSION, ABSENT, NOBODY, SPECTATOR, TERMINAL_NODE, GameOps, seed_bits
from bvb_core.game import Action as BaseAction
from bvb_core.rng cimport DEAL, Rng, rng_below, rng_mix, rng_seed

# Of saved states; changes with sizeof(State) or the meaning of any field.
FORMAT = b"bvb-state/2\n"
DEFAULT_TURN_LIMIT = 500
MAX_TURN_LIMIT = 65535
REASONS = (None, "finished", "turn_limit", "practice")


cdef void op_initial_state(const void *ctx, Rng *rng, void *state) noexcept nogil:
    empty_state(<StateStruct *>state, rng_below(rng, (<const Ctx *>ctx).players))
    deal(<const Ctx *>ctx, rng, <StateStruct *>state)


cdef int32_t op_current_player(const void *ctx, const void *state) noexcept nogil:
    cdef const StateStruct *s = <const StateStruct *>state
    return s.current if s.reason == RUNNING else TERMINAL_NODE


cdef int32_t op_legal_actions(const void *ctx, const void *state, int32_t *actions) noexcept nogil:
    return legal_actions(<const Ctx *>ctx, <const StateStruct *>state, actions)


cdef int32_t op_search_actions(const void *ctx, const void *state, int32_t *actions) noexcept nogil:
    return search_actions(<const Ctx *>ctx, <const StateStruct *>state, actions)


cdef int32_t op_representative(const void *ctx, const void *state, int32_t action) noexcept nogil:
    return representative(<const Ctx *>ctx, <const StateStruct *>state, action)


cdef void op_apply(const void *ctx, void *state, int32_t action) noexcept nogil:
    (<StateStruct *>state).shown.action = action
    apply_act(<const Ctx *>ctx, <StateStruct *>state, (<const Ctx *>ctx).acts[action])


cdef void op_returns(const void *ctx, const void *state, double *shares) noexcept nogil:
    returns_of(<const Ctx *>ctx, <const StateStruct *>state, shares)


cdef void op_scores(const void *ctx, const void *state, double *points) noexcept nogil:
    cdef int p
    for p in range((<const Ctx *>ctx).players):
        points[p] = (<const StateStruct *>state).score[p]


cdef void op_follow(const void *ctx, void *state) noexcept nogil:
    cdef StateStruct *s = <StateStruct *>state
    cdef int t
    for t in range(N_TYPES):
        s.fate[t] = WAITING if s.n_army[t] else NOT_KEPT


cdef void op_outcomes(const void *ctx, const void *state, int32_t *seats) noexcept nogil:
    cdef const StateStruct *s = <const StateStruct *>state
    cdef int t
    for t in range(N_TYPES):
        if s.fate[t] == NOT_KEPT:
            seats[t] = ABSENT
        else:
            seats[t] = NOBODY if s.fate[t] == WAITING else <int>s.fate[t] - EATEN_BY


cdef int32_t op_random_action(const void *ctx, const void *state, Rng *rng) noexcept nogil:
    cdef Act act = random_act(<const Ctx *>ctx, <const StateStruct *>state, rng, <Portable>0)
    return act_id(<const Ctx *>ctx, act.verb, act.a, act.b, act.c)


cdef int32_t op_playout(const void *ctx, void *state, Rng *rng) noexcept nogil:
    return play_out(<const Ctx *>ctx, <StateStruct *>state, rng, <Portable>0)


cdef int32_t op_playout_bmi2(const void *ctx, void *state, Rng *rng) noexcept nogil:
    return play_out(<const Ctx *>ctx, <StateStruct *>state, rng, <Bmi2>0)


cdef inline int32_t play_out(const Ctx *ctx, StateStruct *s, Rng *rng, Cpu cpu) noexcept nogil:
    cdef int32_t n = 0
    if s.reason != RUNNING:
        return 0
    # Who has located what plays no part in what is legal; at the end of a playout nobody has located anything.
    memset(s.located, 0, sizeof(s.located))
    memset(s.facts, 0, sizeof(s.facts))
    s.n_facts = 0
    s.untracked = 1
    while s.reason == RUNNING:
        apply_act(ctx, s, random_act(ctx, s, rng, cpu))
        n += 1
    s.untracked = 0
    return n


cdef void op_observe(const void *ctx, const void *state, int32_t observer, void *observation) noexcept nogil:
    observe(
        <const Ctx *>ctx, <const StateStruct *>state, PUBLIC if observer == SPECTATOR else observer, <View *>observation)


cdef int32_t op_prepare_belief(const void *ctx, const void *observation, void *belief) noexcept nogil:
    return prepare_belief(<const Ctx *>ctx, <const View *>observation, <Belief *>belief)


cdef void op_determinize(const void *ctx, const void *belief, Rng *rng, void *state) noexcept nogil:
    determinize(<const Ctx *>ctx, <const Belief *>belief, rng, <StateStruct *>state)


cdef uint64_t op_event_key(const void *ctx, const void *state, int32_t observer) noexcept nogil:
    cdef const StateStruct *s = <const StateStruct *>state
    cdef const Shown *shown = &s.shown
    cdef Act act = (<const Ctx *>ctx).acts[shown.action]
    cdef int seen_by = PUBLIC if observer == SPECTATOR else observer
    cdef bint own = shown.actor == seen_by
    cdef int kind = shown.kind, i
    cdef uint64_t key
    if act.verb == V_MASK and not own:
        act.a = UNKNOWN
    if act.verb == V_DRAW and not own and kind != WILD_PROVOKE:
        kind = N_CODES + baby_type(kind) if kind >= BABIES else UNKNOWN
    key = rng_mix(act.verb | act.a << 8 | act.b << 16 | <uint64_t>act.c << 24 | <uint64_t>kind << 32)
    # Whether a Wild Provoke can be used, and whose turn it is now, is seen by everyone.
    key = rng_mix(key ^ (s.pending | s.current << 8 | s.reason << 16))
    for i in range(shown.n_reveals):
        if shown.reveals[i].viewers >> seen_by & 1:
            key = rng_mix(key + (shown.reveals[i].number | <uint64_t>shown.reveals[i].kind << 16 | <uint64_t>1 << 32))
    for i in range(shown.n_army):
        key = rng_mix(key + (shown.army[i] | <uint64_t>1 << 33))
    return key


class Action(BaseAction):
    """An action of Bears vs Babies."""

    __slots__ = ("heads",)

    def __init__(self, id: int, text: str, heads: dict[str, str]) -> None:
        super().__init__(id, text)
        self.heads = heads

    def fields(self) -> dict[str, object]:
        """Its parts by name: verb, and among pile, type, card, monster, other_monster, side, part."""
        return action_fields(self.text, self.heads)


def uses_bmi2() -> bool:
    """Whether playouts use instructions (BMI2) that not every processor of this kind has, or has fast. The environment variable
    BVB_PORTABLE=1 forbids it."""
    return has_fast_bmi2() and os.environ.get("BVB_PORTABLE") != "1"


cdef class Game(BaseGame):
    """Bears vs Babies for a number of players, with deck and options. Made by `game_for`, one object for equal rules."""

    state_type = State
    observation_type = Observation

    def __cinit__(self, players: int, deck: Deck, armageddon: bool, practice: bool, turn_limit: int):
        fill_ctx(&self.context, deck, players, practice, armageddon, turn_limit)
        self.deck, self.armageddon, self.practice, self.turn_limit = deck, armageddon, practice, turn_limit
        self.codes = card_codes(deck)
        self.names = [""] * N_CODES
        for kind, code in self.codes.items():
            self.names[code] = kind
        self.tensor_layout = TensorLayout(deck, players, self.context.base_actions, turn_limit)
        self.heads = {head_name(c.id): c.id for c in deck.cards if c.role == "head"}
        self.ctx = &self.context
        self.ops = GameOps(
            abi_version=ABI_VERSION,
            struct_size=sizeof(GameOps),
            num_players=players,
            state_size=sizeof(StateStruct),
            observation_size=sizeof(View),
            belief_size=sizeof(Belief),
            num_distinct_actions=self.context.n_actions,
            max_legal_actions=self.context.n_actions,
            num_outcomes=N_TYPES,
            initial_state=op_initial_state,
            current_player=op_current_player,
            legal_actions=op_legal_actions,
            search_actions=op_search_actions,
            representative=op_representative,
            apply=op_apply,
            sample_chance=NULL,
            apply_chance=NULL,
            returns=op_returns,
            scores=op_scores,
            follow=op_follow,
            outcomes=op_outcomes,
            random_action=op_random_action,
            playout=op_playout,
            observe=op_observe,
            prepare_belief=op_prepare_belief,
            determinize=op_determinize,
            event_key=op_event_key,
        )
        if uses_bmi2():
            self.ops.playout = op_playout_bmi2
        self.check_ops()

    def __dealloc__(self):
        free_ctx(&self.context)

    def check_deck(self) -> None:
        """Raises DeckError when the deck is too small to deal, whatever the shuffle, and leave a card to draw."""
        cdef int p = self.context.players
        cdef int kept = -p * (5 if self.context.practice else 4), wild = 0
        for card in self.deck.cards:
            if self.practice and card.role not in PRACTICE_ROLES:
                continue
            if card.role == "wild_provoke":
                wild += card.count
            elif card.role != "baby":
                kept += card.count
        if not self.practice:
            bears = sum(card.count for card in self.deck.cards if card.id == "bear_head")
            if bears < p:
                raise DeckError(f"deck {self.deck.name}: bear_head: {bears} copies, but {p} players are dealt one each")
            kept -= p
        if kept < 0 or kept + wild < 1:
            raise DeckError(
                f"deck {self.deck.name}: {-kept if kept < 0 else 1} cards too few for {p} players "
                "(Babies not counted, since they are replaced when dealt)"
            )

    def _digest(self) -> bytes:
        """What a saved state belongs to: digest of the deck, then the options (37 bytes)."""
        cards = hashlib.sha256(repr(self.deck.cards).encode()).digest()
        return cards + bytes([self.players, self.armageddon, self.practice]) + self.turn_limit.to_bytes(2, "little")

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """The armies that are there may each be eaten by a seat or by nobody."""
        return TYPES

    @property
    def players(self) -> int:
        return self.context.players

    def rules(self, first_player: int) -> dict[str, object]:
        """The "rules" of records and observations."""
        return {
            "players": self.context.players, "first_player": first_player, "armageddon": self.armageddon,
            "practice": self.practice, "turn_limit": self.turn_limit, "deck": self.deck.id,
        }

    def new_state(self, seed: int) -> State:
        return self.new_game(seed)

    def new_game(self, seed: int, first_player: int | None = None) -> State:
        """A new game; the first player is drawn from the seed when not given."""
        if first_player is not None and (
            isinstance(first_player, bool) or not isinstance(first_player, int)
            or not 0 <= first_player < self.context.players
        ):
            raise ValueError(f"first_player must be 0 to {self.context.players - 1}, not {first_player!r}")
        self.check_deck()
        cdef State state = State(self)
        cdef StateStruct *s = <StateStruct *>state.data
        cdef Rng rng
        rng_seed(&rng, seed_bits(seed), DEAL, 0)
        self.ops.initial_state(self.ctx, &rng, s)
        if first_player is not None:
            s.current = s.first_player = first_player
        state.start = state._raw()
        return state

    def from_deal(self, first_player: int, hands: list, armies: dict, piles: list) -> State:
        """A game from the deal of a record, which has been checked: card ids; armies bottom first, piles top first."""
        cdef State state = State(self)
        cdef StateStruct *s = <StateStruct *>state.data
        cdef int p, i, n
        empty_state(s, first_player)
        for p, hand in enumerate(hands):
            for kind in hand:
                s.hand[p][<int>self.codes[kind]] += 1
        for army in TYPES:
            for baby in armies[army]:
                army_push(s, self.codes[baby["kind"]], 1 << <int>baby["seat"])
        for p, pile in enumerate(piles):
            n = len(pile)
            s.n_pile[p] = n
            for i in range(n):
                s.pile[p][n - 1 - i] = self.codes[pile[i]]
        start_game(&self.context, s)
        state.start = state._raw()
        return state

    def observation_from_dict(self, data: dict, first_player: int) -> Observation:
        """See Observation.from_dict."""
        cdef Observation observation
        seat = data.get("seat")
        observation = Observation(self, seat)
        view_from_dict(&self.context, self.codes, self.names, data, first_player, <View *>observation.data)
        observation.prepared()
        return observation

    cpdef str action_text(self, BaseState state, int32_t action):
        return text_of(self.names, &self.context, <const StateStruct *>state.data, action)

    cpdef str seen_text(self, BaseState state, int32_t action, object observer):
        return seen_text_of(
            self.names, &self.context, <const StateStruct *>state.data, action, PUBLIC if observer is None else observer)

    cpdef tuple belief_problem(self, BaseObservation observation, int32_t code):
        cdef const Belief *belief = <const Belief *>observation.belief
        cdef int where = belief.where
        if code == TOO_MANY_CARDS:
            return "players", (
                f"more than the {self.context.count[where]} copies of {self.names[where]} in the deck are seen or located")
        if code == ARMY_TOO_LARGE:
            return f"armies[{where}].babies", (
                f"more of unknown kind than the {belief.n_unseen[where]} {TYPES[where]} Babies that have not been seen")
        if code == HAND_TOO_SMALL:
            return f"players[{where}].hand_count", "fewer cards than are located in this hand"
        if code == CARDS_DO_NOT_ADD_UP:
            fields = [f"players[{p}].hand_count" for p in range(self.players) if p != observation.seat]
            return fields[0], (
                f"hidden cards do not add up: hands of others, piles, unknown Babies and masked heads hold {abs(where)} "
                f"cards too {'few' if where > 0 else 'many'} for the cards that have not been seen"
            ), (*fields[1:], "pile_counts")
        if code == TOO_MANY_CHOICES:
            return "players", "too many located heads that could be under masks"
        return "monsters", "the unseen cards cannot be assigned to masks, hands and piles in any way"


@functools.lru_cache(maxsize=256)
def _game(players: int, deck: Deck, armageddon: bool, practice: bool, turn_limit: int) -> Game:
    return Game(players, deck, armageddon, practice, turn_limit)


def game_for(
    players: int, armageddon: bool = False, practice: bool = False, turn_limit: int = DEFAULT_TURN_LIMIT,
    deck: Deck | None = None,
) -> Game:
    """The game with these rules. Raises ValueError (DeckError for a deck that is too small) naming what is wrong."""
    for name, value, low, high in (("players", players, 2, 5), ("turn_limit", turn_limit, 1, MAX_TURN_LIMIT)):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"{name} must be a whole number from {low} to {high}, not {brief(value)}")
    for name, value in (("armageddon", armageddon), ("practice", practice)):
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false, not {brief(value)}")
    return _game(players, deck or load_deck(), armageddon, practice, turn_limit)


cdef class State(BaseState):
    """A game of Bears vs Babies with every hidden card, and its history where it is known."""

    def __init__(self, game: Game) -> None:
        self.history = []

    @property
    def turn_number(self) -> int:
        """Turns of all players, from 1; at the end the number of the last one."""
        return (<StateStruct *>self.data).turn

    @property
    def rules(self) -> dict[str, object]:
        return (<Game>self.game).rules((<StateStruct *>self.data).first_player)

    @property
    def reason(self) -> str | None:
        """Why the game is over: "finished", "turn_limit" or "practice"; None while it runs."""
        return REASONS[(<StateStruct *>self.data).reason]

    def babies(self) -> list[int]:
        """Baby cards collected, by seat."""
        return [(<StateStruct *>self.data).babies[p] for p in range(self.game.num_players)]

    def winners(self) -> list[int]:
        """Seats that share the victory as the game stands."""
        return [seat for seat, share in enumerate(self.returns()) if share]

    def result(self) -> dict[str, object] | None:
        """The "result" of records; None while the game runs."""
        if not self.is_terminal:
            return None
        return {"scores": self.scores(), "babies": self.babies(), "winners": self.winners(), "reason": self.reason}

    def action(self, action_id: int) -> Action:
        self.game.check_id(action_id)
        return Action(action_id, self.game.action_text(self, action_id), (<Game>self.game).heads)

    def _apply_id(self, action_id: int) -> None:
        BaseState._apply_id(self, action_id)
        self.history.append(action_id)

    def events(self, seat: int | None) -> list[str]:
        """Lines that the last action showed to a seat, or to a spectator (None): the action, then what it turned over."""
        observer = self._observer(seat)
        cdef Game game = self.game
        return event_lines(
            game.names, &game.context, <StateStruct *>self.data, PUBLIC if observer == SPECTATOR else observer)

    def why_illegal(self, text: str) -> str:
        """Why a text is no legal action here."""
        cdef StateStruct *s = <StateStruct *>self.data
        cdef Game game = self.game
        try:
            fields = action_fields(text, game.heads)
        except ValueError as error:
            return f"not an action: {error}"
        if s.reason != RUNNING:
            return "the game is over"
        verb, card = fields["verb"], fields.get("card")
        if s.pending:
            return "a Wild Provoke has to be resolved first, with wild and one of the armies that may be provoked"
        if verb == "wild":
            return "no Wild Provoke was drawn or dived"
        if card is not None and card not in game.codes:
            return f"no card {card} in this deck"
        if verb in ("provoke", "dive") and s.used:
            return f"{verb} takes a whole turn, and an action was used in this one"
        if verb == "dive":
            return f"no {card} in the discard pile"
        if verb == "draw":
            return f"pile {fields['pile']} is empty"
        if verb == "pass":
            return "pass is possible once all draw piles are empty"
        if verb in ("provoke", "lullaby") and not s.n_army[TYPES.index(fields["type"])]:
            return f"the army of {fields['type']} Babies is empty"
        if verb == "provoke":
            return f"no monster on the table can be one that fights {fields['type']} Babies"
        for code in (HAND_CODES.get(verb), game.codes.get(card)):
            if code is not None and (code >= N_HAND_KINDS or not s.hand[s.current][<int>code]):
                return f"no {game.names[code] or verb} in the hand of seat {s.current}"
        table = {m["number"]: m for m in view_to_dict(
            &game.context, game.names, game.rules(s.first_player), None, s)["monsters"]}
        for key in ("monster", "other_monster"):
            number = fields.get(key)
            if number is None:
                continue
            if number not in table:
                return f"there is no monster m{number}"
            if verb == "swap":
                if "head" not in table[number]:
                    return f"m{number} is dead"
            elif verb != "dismember":
                if table[number]["owner"] != s.current:
                    return f"m{number} belongs to seat {table[number]['owner']}"
                if ("head" in table[number]) == (verb in ("head", "mask")):
                    return f"m{number} is {'alive' if 'head' in table[number] else 'dead'}"
        if verb == "swap":
            return "two different monsters are swapped, the smaller number first"
        if verb == "dismember":
            return f"m{fields['monster']} has no edge card {fields['part']}"
        return f"m{fields['monster']} has no free place for it"

    def clone(self) -> State:
        cdef State copy = BaseState.clone(self)
        copy.start = self.start
        copy.history = self.history.copy()
        return copy

    def to_record(self, legal: bool = False) -> dict[str, object]:
        """The game as bvb-record/1, with the legal actions at every step if asked for.

        Raises ValueError for a state whose history is not known (a determinization, or one made from bytes).
        """
        cdef Game game = self.game
        cdef State state = State(game)
        cdef StateStruct *s = <StateStruct *>state.data
        cdef int p, i
        if self.start is None:
            raise ValueError("this state has no history: it was not played from a deal")
        memcpy(s, <const char *>self.start, sizeof(StateStruct))
        names = game.names
        record = {
            "format": "bvb-record/1",
            "rules": self.rules,
            "deal": {
                "hands": [
                    [names[game.context.code[i]] for i in range(game.context.n_kinds)
                     if game.context.code[i] < N_HAND_KINDS for _ in range(s.hand[p][game.context.code[i]])]
                    for p in range(game.context.players)
                ],
                "armies": {
                    army: [{"kind": names[s.army[p][i]], "seat": [q for q in range(5) if s.army_known[p][i] >> q & 1][0]}
                           for i in range(s.n_army[p])]
                    for p, army in enumerate(TYPES)
                },
                "piles": [[names[s.pile[p][i]] for i in reversed(range(s.n_pile[p]))] for p in range(N_PILES)],
            },
            "actions": [],
            "result": self.result(),
        }
        lists = []
        for action_id in self.history:
            if legal:
                lists.append([str(action) for action in state.legal_actions()])
            record["actions"].append(game.action_text(state, action_id))
            BaseState._apply_id(state, action_id)
        if legal:
            record["legal"] = lists
        return record

    @staticmethod
    def from_record(data, after: int | None = None, deck=None) -> State:
        """The game of a record (dict) after a number of its actions, None for all.

        Raises RecordError naming the first thing that is wrong: a field, an action and why, or the result.
        """
        from bvb_core.bears.record import replay
        return replay(data, after, deck)

    def __bytes__(self) -> bytes:
        """The state without its history, for from_bytes; the same on every platform."""
        header = FORMAT + (<Game>self.game)._digest()
        return header + self._raw()

    @staticmethod
    def from_bytes(data: bytes, deck=None) -> State:
        """The state that `bytes` was made of. Raises ValueError for another version or deck, and for what cannot be a state."""
        cdef Game game
        cdef State state
        rest = data.removeprefix(FORMAT)
        if len(rest) != len(data) - len(FORMAT):
            raise ValueError("not a saved state of this version")
        if len(rest) != 37 + sizeof(StateStruct):
            raise ValueError(f"a saved state has {len(FORMAT) + 37 + sizeof(StateStruct)} bytes, not {len(data)}")
        game = game_for(rest[32], bool(rest[33]), bool(rest[34]), int.from_bytes(rest[35:37], "little"), as_deck(deck))
        if rest[:37] != game._digest():
            raise ValueError("saved with another deck")
        state = State(game)
        raw = rest[37:]
        memcpy(state.data, <const char *>raw, sizeof(StateStruct))
        problem = state_problem(&game.context, <StateStruct *>state.data)
        if problem:
            raise ValueError(f"not a state: {problem}")
        return state

    def __reduce__(self):
        return State.from_bytes, (bytes(self), (<Game>self.game).deck)


cdef class Observation(BaseObservation):
    """What one seat, or a spectator, knows of a game of Bears vs Babies."""

    @property
    def rules(self) -> dict[str, object]:
        return (<Game>self.game).rules((<View *>self.data).state.first_player)

    @property
    def turn_number(self) -> int:
        return (<View *>self.data).state.turn

    @property
    def current_player(self) -> int:
        cdef StateStruct *s = &(<View *>self.data).state
        return s.current if s.reason == RUNNING else TERMINAL_NODE

    def warnings(self) -> list[str]:
        """What every observer of a game knows and this observation leaves out, with the field where it belongs."""
        cdef const StateStruct *s = &(<View *>self.data).state
        cdef Game game = self.game
        cdef int t, i, kind = game.context.dealt_head, traced = 0
        warnings = []
        for t in range(N_TYPES):
            for i in range(s.n_army[t]):
                if not s.army_known[t][i]:
                    warnings.append(
                        f"armies[{t}].babies[{i}].seen_by: nobody is said to have seen this Baby, though a player drew it")
        if kind != NONE:
            # Each dealt head is in sight or located.
            for i in range(s.n_facts):
                traced += s.facts[i].kind == kind
            traced += s.discard[kind] + (s.hand[<int>self.seat][kind] if self.seat is not None else 0)
            for i in range(N_SLOTS):
                traced += s.slots >> i & 1 and s.monsters[i].head == kind
            if traced < game.context.players:
                warnings.append(
                    f"players[].located: every player was dealt a {game.names[kind]}, but only {traced} are in sight or located")
        return warnings

    def may_follow(self, earlier: Observation) -> bool:
        """Whether this can be what the same seat knows at a later moment of the same game than `earlier`: False when it
        certainly cannot, and for equal observations. Located cards may be left out of either."""
        from bvb_core.bears.follows import may_follow
        return may_follow(self, earlier)

    def to_dict(self) -> dict[str, object]:
        """The JSON form of bvb.v1.Observation, every field present that can be."""
        cdef Game game = self.game
        cdef View *view = <View *>self.data
        return view_to_dict(&game.context, game.names, self.rules, self.seat, &view.state)

    def tensor(self, out=None):
        """See Observation.tensor of the contract; `game.tensor_layout` says what is where."""
        cdef Game game = self.game
        return tensor_of(game.tensor_layout, <View *>self.data, game.armageddon, game.practice, out)

    def to_json(self) -> str:
        import json
        return json.dumps(self.to_dict())

    @staticmethod
    def from_dict(data, deck=None) -> Observation:
        """The observation of a dict in the JSON form of bvb.v1.Observation.

        Names may also be in lowerCamelCase, and what proto3 leaves out may be left out. Knowledge (seen_by, located,
        excluded_types) may be left out too: the belief is then weaker, and still consistent. `deck` is a Deck or the path
        of a deck file. Raises ObservationError naming the field.
        """
        from bvb_core.bears.record import observation_from_dict
        return observation_from_dict(data, deck)

    @staticmethod
    def from_json(text: str, deck=None) -> Observation:
        """The observation of a JSON text; see from_dict."""
        from bvb_core.bears.record import observation_from_json
        return observation_from_json(text, deck)

    def __reduce__(self):
        return Observation.from_dict, (self.to_dict(), (<Game>self.game).deck)


def as_deck(deck) -> Deck:
    """A Deck from a Deck, the path of a deck file, or None."""
    return deck if isinstance(deck, Deck) else load_deck(deck)


def new_game(
    players: int, seed: int, first_player: int | None = None, armageddon: bool = False, practice: bool = False,
    turn_limit: int = DEFAULT_TURN_LIMIT, deck=None,
) -> State:
    """A new game for 2 to 5 players. The same seed gives the same deal on every platform.

    `first_player` is drawn from the seed when not given; `deck` is a Deck or the path of a deck file. Raises ValueError
    naming the option that is wrong, DeckError for a deck that cannot be used.
    """
    return game_for(players, armageddon, practice, turn_limit, as_deck(deck)).new_game(seed, first_player)
