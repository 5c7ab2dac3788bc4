"""Game records (bvb-record/1) and observations from outside: what a dict must hold, and replaying."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn

from bvb_core.bears.deck import PRACTICE_ROLES, TYPES, Deck
from bvb_core.bears.ops import DEFAULT_TURN_LIMIT, Game, Observation, State, as_deck, game_for
from bvb_core.bears.position import OBSERVATION, RULES, Fields, brief
from bvb_core.game import IllegalActionError, ObservationError

FORMAT = "bvb-record/1"


class RecordError(ValueError):
    """A record that cannot be. `field` is the path of the field that is wrong, as in "actions[4]" (counted from 0) or
    "deal.piles", empty for the record as a whole; `problem` says why."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field or 'record'}: {problem}")
        self.field = field
        self.problem = problem


def _fail(where: str, problem: str) -> NoReturn:
    raise RecordError(where, problem)


def _table(data: Any, where: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    if not isinstance(data, dict):
        _fail(where, f"must be an object, not {brief(data)}")
    for key in required:
        if key not in data:
            _fail(f"{where}.{key}" if where else key, "is missing")
    for key in data:
        if key not in required + optional:
            _fail(where, f"there is no field {brief(key)}; there are {', '.join(required + optional)}")
    return data


def _list(data: Any, where: str, length: int | None = None) -> list[Any]:
    if not isinstance(data, list):
        _fail(where, f"must be a list, not {brief(data)}")
    if length is not None and len(data) != length:
        _fail(where, f"must be of length {length}, not {len(data)}")
    return data


def _deck(name: Any, where: str, deck: Deck) -> None:
    if name != deck.id:
        _fail(where, f"is {brief(name)}, but the deck given is {deck.id!r}; give its deck file")


def _game(rules: Any, deck: Any) -> tuple[Game, int]:
    """Game and first player."""
    rules = _table(rules, "rules", ("players", "first_player"), ("armageddon", "practice", "turn_limit", "deck"))
    cards = as_deck(deck)
    _deck(rules.get("deck", "standard"), "rules.deck", cards)
    try:
        game = game_for(
            rules["players"], rules.get("armageddon", False), rules.get("practice", False),
            rules.get("turn_limit", DEFAULT_TURN_LIMIT), cards,
        )
    except ValueError as error:
        _fail("rules", str(error))
    first = rules["first_player"]
    if isinstance(first, bool) or not isinstance(first, int) or not 0 <= first < game.players:
        _fail("rules.first_player", f"must be 0 to {game.players - 1}, not {brief(first)}")
    return game, first


def _deal(data: Any, game: Game, first_player: int) -> State:
    deal = _table(data, "deal", ("hands", "armies", "piles"))
    roles = {card.id: card for card in game.deck.cards if not game.practice or card.role in PRACTICE_ROLES}
    left = Counter({card.id: card.count for card in roles.values()})

    def take(kind: Any, where: str) -> None:
        if not isinstance(kind, str) or kind not in roles:
            _fail(where, f"no card {brief(kind)} in this game")
        left[kind] -= 1
        if left[kind] < 0:
            _fail(where, f"more {kind} than the {roles[kind].count} in the deck")

    hands = _list(deal["hands"], "deal.hands", game.players)
    for seat, hand in enumerate(hands):
        for i, kind in enumerate(_list(hand, f"deal.hands[{seat}]", 5)):
            take(kind, f"deal.hands[{seat}][{i}]")
            if roles[kind].role in ("baby", "wild_provoke"):
                _fail(f"deal.hands[{seat}][{i}]", f"{kind} is replaced when dealt")
        if not game.practice and "bear_head" not in hand:
            _fail(f"deal.hands[{seat}]", "every player is dealt a bear_head")
    armies = _table(deal["armies"], "deal.armies", TYPES)
    for army in TYPES:
        for i, item in enumerate(_list(armies[army], f"deal.armies.{army}")):
            where = f"deal.armies.{army}[{i}]"
            baby = _table(item, where, ("kind", "seat"))
            take(baby["kind"], f"{where}.kind")
            if roles[baby["kind"]].role != "baby" or roles[baby["kind"]].type != army:
                _fail(f"{where}.kind", f"{baby['kind']} is no {army} Baby")
            seat = baby["seat"]
            if isinstance(seat, bool) or not isinstance(seat, int) or not 0 <= seat < game.players:
                _fail(f"{where}.seat", f"must be 0 to {game.players - 1}, not {brief(seat)}")
    piles = _list(deal["piles"], "deal.piles", 3)
    for p, pile in enumerate(piles):
        for i, kind in enumerate(_list(pile, f"deal.piles[{p}]")):
            take(kind, f"deal.piles[{p}][{i}]")
    if not any(piles):
        _fail("deal.piles", "no card is left to draw")
    missing = +left
    if missing:
        kind, n = next(iter(missing.items()))
        _fail("deal", f"cards of the deck are missing: {missing.total()}, among them {n} {kind}")
    sizes = [len(pile) for pile in piles]
    total = sum(sizes)
    if sizes != [(total + 2 - p) // 3 for p in range(3)]:
        _fail("deal.piles", f"sizes are {sizes}; they must be as equal as possible, larger first")
    return game.from_deal(first_player, hands, armies, piles)


def replay(data: Any, after: int | None, deck: Any) -> State:
    """See State.from_record."""
    if isinstance(data, dict) and "format" not in data and "armies" in data:
        _fail("", "this is an observation, what one seat knows; a record holds the deal and all actions")
    if isinstance(data, dict) and data.get("format", FORMAT) != FORMAT:
        _fail("format", f"must be {FORMAT!r}, not {brief(data['format'])}")
    record = _table(data, "", ("format", "rules", "deal", "actions"), ("result", "legal"))
    game, first_player = _game(record["rules"], deck)
    state = _deal(record["deal"], game, first_player)
    actions = _list(record["actions"], "actions")
    legal = record.get("legal")
    if legal is not None:
        _list(legal, "legal", len(actions))
    if after is not None and (type(after) is not int or not 0 <= after <= len(actions)):
        _fail("after", f"must be 0 to {len(actions)}, the number of actions, not {brief(after)}")
    for i, action in enumerate(actions if after is None else actions[:after]):
        if not isinstance(action, str):
            _fail(f"actions[{i}]", f"must be a text, not {brief(action)}")
        if legal is not None:
            expected = [str(a) for a in state.legal_actions()]
            if legal[i] != expected:
                listed = set(map(str, _list(legal[i], f"legal[{i}]")))
                odd = sorted(listed.symmetric_difference(expected))
                _fail(f"legal[{i}]", f"{odd[0]!r} is {'not legal' if odd[0] in listed else 'missing'}"
                      if odd else "not sorted as strings")
        try:
            state.apply(action)
        except IllegalActionError as error:
            _fail(f"actions[{i}]", str(error))
    if after is None and record.get("result") != state.result():
        _fail("result", f"is {record.get('result')!r:.200}, but the actions lead to {state.result()}")
    return state


def observation_from_dict(data: Any, deck: Any) -> Observation:
    """See Observation.from_dict."""
    if isinstance(data, dict) and "deal" in data:
        raise ObservationError("observation", "this is the record of a game; State.from_record and observation make one of it")
    fields = Fields(data, "", OBSERVATION)
    fields.require("rules")
    rules = Fields(fields.data["rules"], "rules", RULES)
    cards = as_deck(deck)
    name = rules.text("deck") or "standard"
    if name != cards.id:
        rules.fail("deck", f"is {brief(name)}, but the deck given is {cards.id!r}")
    players = rules.integer("players", 2, 5, None)
    first_player = rules.integer("first_player", 0, players - 1)
    turn_limit = rules.integer("turn_limit", 1, 65535, DEFAULT_TURN_LIMIT)
    try:
        game = game_for(players, rules.flag("armageddon"), rules.flag("practice"), turn_limit, cards)
    except ValueError as error:
        raise ObservationError("rules", str(error)) from None
    if "seat" in fields:
        data = {**fields.data, "seat": fields.integer("seat", 0, players - 1)}
    return game.observation_from_dict(data, first_player)


def observation_from_json(text: str, deck: Any) -> Observation:
    """See Observation.from_json."""
    try:
        data = json.loads(text)
    except (RecursionError, ValueError) as error:
        raise ObservationError("observation", f"is not JSON: {error}") from None
    return observation_from_dict(data, deck)
