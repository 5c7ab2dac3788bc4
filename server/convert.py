"""Protobuf messages to core objects and back. The only module that knows both."""

from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format

import ai
import bvb_core
from ai.bots import BotKind
from ai.params import settings_of
from bvb.v1 import action_pb2, deck_pb2, engine_pb2, observation_pb2
from server.errors import invalid


def observation_from_proto(
    message: observation_pb2.Observation, decks: Mapping[str, bvb_core.Deck], path: str = ""
) -> bvb_core.Observation:
    """The position that a message describes; a ServiceError names the field, below `path`, that makes it impossible."""
    deck = known_deck(message.rules.deck, decks, path + "rules.deck")
    fields = json_format.MessageToDict(message, preserving_proto_field_name=True)
    try:
        return bvb_core.Observation.from_dict(fields, deck=deck)
    except bvb_core.ObservationError as error:
        field, *others = (path + name for name in error.fields)
        raise invalid(field, error.problem, "INVALID_OBSERVATION", tuple(others)) from None


def known_deck(deck_id: str, decks: Mapping[str, bvb_core.Deck], field: str) -> bvb_core.Deck:
    """The deck of an id, which an empty `field` leaves to be the standard one. Raises a ServiceError for another one."""
    deck = decks.get(deck_id or "standard")
    if deck is None:
        known = ", ".join(f"'{name}'" for name in decks)
        raise invalid(field, f"deck '{deck_id}' is not known here; known: {known}", "UNKNOWN_DECK")
    return deck


def observation_from_history(
    message: engine_pb2.History, decks: Mapping[str, bvb_core.Deck]
) -> bvb_core.Observation:
    """The position after the events; a ServiceError names the event that cannot have happened."""
    return follow_history(message, decks)[0]


def follow_history(
    message: engine_pb2.History, decks: Mapping[str, bvb_core.Deck]
) -> tuple[bvb_core.Observation, list[tuple[int, int | None]]]:
    """The position after the events, and for every action the number of lines up to its last one and its event key, None
    where it has none. A ServiceError names the event that cannot have happened."""
    keys: list[tuple[int, int | None]] = []
    initial = observation_from_proto(message.initial_view, decks, "history.initial_view.")
    tracker = bvb_core.Tracker(initial.rules, initial.seat, initial)
    try:
        for line in message.events:
            push_line(tracker, line, keys)
        return tracker.observation(), keys
    except bvb_core.EventError as error:
        raise invalid(f"history.events[{error.index}]", error.reason, "INVALID_EVENT") from None


def push_line(tracker: bvb_core.Tracker, line: str, keys: list[tuple[int, int | None]]) -> None:
    """Push a line, and keep `keys` as follow_history gives them. Raises EventError, and changes nothing, for a wrong one."""
    tracker.push(line)
    if keys and line.startswith(("reveal ", "army ")):
        keys.pop()
    keys.append((tracker.count, tracker.event_key()))


def observation_to_proto(observation: bvb_core.Observation) -> observation_pb2.Observation:
    return json_format.ParseDict(observation.to_dict(), observation_pb2.Observation())


def action_to_proto(action: Any) -> action_pb2.Action:
    """The message of an action of a Bears vs Babies state."""
    return action_pb2.Action(notation=str(action), **action.fields())


def suggestion_to_proto(suggestion: ai.Suggestion, seed: int) -> engine_pb2.SuggestMoveResponse:
    return engine_pb2.SuggestMoveResponse(
        action=action_to_proto(suggestion.action),
        win_probability=suggestion.win_probability,
        expected_score=suggestion.expected_score,
        alternatives=[
            engine_pb2.Alternative(
                action=action_to_proto(alternative.action),
                equivalent=[action_to_proto(action) for action in alternative.equivalent],
                visits=alternative.visits,
                availability=alternative.availability,
                win_probability=alternative.win_probability,
                expected_score=alternative.expected_score,
                pv=alternative.pv,
                standard_error=alternative.standard_error,
                pv_visits=alternative.pv_visits,
                order=order,
            )
            for order, alternative in enumerate(suggestion.alternatives)
        ],
        iterations=suggestion.iterations,
        elapsed_ms=suggestion.elapsed_ms,
        stop_reason=engine_pb2.StopReason.Value(f"STOP_REASON_{suggestion.stop_reason.upper()}"),
        warnings=suggestion.warnings,
        seed=seed,
        root=None if suggestion.root is None else root_to_proto(suggestion.root),
        adopted=suggestion.adopted,
    )


def root_to_proto(root: ai.Root) -> engine_pb2.RootSummary:
    return engine_pb2.RootSummary(
        win_probability=root.win_probability,
        expected_score=root.expected_score,
        score_spread=root.score_spread,
        armies=[
            engine_pb2.ArmyOutcome(type=army.name, eaten_by=army.seats, eaten_by_nobody=army.nobody)
            for army in root.outcomes
        ],
    )


def bot_to_proto(name: str, kind: BotKind) -> engine_pb2.BotInfo:
    return engine_pb2.BotInfo(
        name=name,
        description=kind.description,
        searches=kind.params is not None,
        settings=[
            engine_pb2.SettingInfo(
                name=setting.name,
                type=engine_pb2.SETTING_TYPE_INT if setting.whole else engine_pb2.SETTING_TYPE_DOUBLE,
                min=setting.low,
                max=setting.high,
                default=setting.default,
                description=setting.doc,
            )
            for setting in (() if kind.params is None else settings_of(kind.params))
        ],
    )


def suggestion_to_dict(response: engine_pb2.SuggestMoveResponse) -> dict[str, object]:
    """The JSON object that `bvb suggest --json` prints: actions are in notation."""
    return {
        "action": response.action.notation,
        "win_probability": list(response.win_probability),
        "expected_score": list(response.expected_score),
        "alternatives": [
            {
                "action": alternative.action.notation,
                "equivalent": [action.notation for action in alternative.equivalent],
                "visits": alternative.visits,
                "availability": alternative.availability,
                "win_probability": list(alternative.win_probability),
                "expected_score": list(alternative.expected_score),
                "standard_error": list(alternative.standard_error),
                "pv": list(alternative.pv),
                "pv_visits": list(alternative.pv_visits),
            }
            for alternative in response.alternatives
        ],
        "root": {
            "win_probability": list(response.root.win_probability),
            "expected_score": list(response.root.expected_score),
            "score_spread": list(response.root.score_spread),
            "armies": [
                {"type": army.type, "eaten_by": list(army.eaten_by), "eaten_by_nobody": army.eaten_by_nobody}
                for army in response.root.armies
            ],
        },
        "iterations": response.iterations,
        "elapsed_ms": response.elapsed_ms,
        "stop_reason": engine_pb2.StopReason.Name(response.stop_reason).removeprefix("STOP_REASON_").lower(),
        "warnings": list(response.warnings),
        "seed": response.seed,
    }


def deck_to_proto(deck: bvb_core.Deck) -> deck_pb2.Deck:
    return deck_pb2.Deck(
        id=deck.id,
        name=deck.name,
        cards=[
            deck_pb2.Card(
                id=card.id,
                count=card.count,
                role=card.role,
                strength=card.strength,
                types=[card.type] if card.role == "baby" else card.types,
                points=card.points,
                joints=card.joints,
                sockets=card.sockets,
            )
            for card in deck.cards
        ],
    )
