"""What holds in every position of Bears vs Babies."""

import copy
import json
import pickle
import random
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bvb_core

from .strategies import positions

VERBS = (
    "draw",
    "pass",
    "provoke",
    "dive",
    "head",
    "mask",
    "torso",
    "arm",
    "legs",
    "tool",
    "hat",
    "swap",
    "dismember",
    "lullaby",
    "wild",
)
PARTS = ("left_arm", "right_arm", "legs", "left_tool", "right_tool", "hat")
quick = settings(max_examples=60, deadline=None)


def all_cards(deal: dict[str, Any]) -> Counter[str]:
    armies = [baby["kind"] for army in deal["armies"].values() for baby in army]
    return Counter(kind for group in (*deal["hands"], armies, *deal["piles"]) for kind in group)


def kinds_of(monster: dict[str, Any], head: str) -> list[str]:
    kinds = [head] if head else []
    kinds += [monster["torso"]] if monster["torso"] else []
    kinds += [part.split("_")[-1] for part in PARTS if monster[part]]
    return kinds + ["mask"] * bool(head and monster["head"]["masked"])


@quick
@given(positions())
def test_cards_are_conserved(state: Any) -> None:
    """What the seats see together, and what is left of the piles as dealt, is the deck, card by card."""
    deal = state.to_record()["deal"]
    views = [state.observation(seat).to_dict() for seat in range(state.game.num_players)]
    public = state.observation(None).to_dict()
    found = Counter(public["discard"])
    for seat, view in enumerate(views):
        assert len(view["players"][seat]["hand"]) == public["players"][seat]["hand_count"]
        found.update(view["players"][seat]["hand"])
        found.update(public["players"][seat]["collected"])
    for number, army in enumerate(public["armies"]):
        for place in range(len(army["babies"])):
            seen = {view["armies"][number]["babies"][place]["kind"] for view in views} - {""}
            assert len(seen) == 1
            found.update(seen)
    for number, monster in enumerate(public["monsters"]):
        heads = {view["monsters"][number]["head"]["kind"] for view in views if "head" in monster} - {""}
        assert len(heads) == ("head" in monster)
        found.update(kinds_of(monster, "".join(heads)))
    for pile, left in zip(deal["piles"], public["pile_counts"], strict=True):
        found.update(pile[len(pile) - left :])
    if public["pending"] != "PENDING_UNSPECIFIED":
        found["wild_provoke"] += 1
    assert found == all_cards(deal)
    practice = ("tool", "hat", "mask", "swap", "dismember", "lullaby", "wild_provoke")
    assert found == Counter(
        {c.id: c.count for c in state.game.deck.cards if not (state.rules["practice"] and c.role in practice)}
    )


@quick
@given(positions())
def test_scores_are_what_was_collected(state: Any) -> None:
    collected = [player["collected"] for player in state.observation(None).to_dict()["players"]]
    assert state.scores() == [sum(int(kind[-1]) for kind in kinds) for kinds in collected]
    assert state.babies() == [len(kinds) for kinds in collected]
    order = [(points, babies) for points, babies in zip(state.scores(), state.babies(), strict=True)]
    assert state.winners() == [seat for seat, rank in enumerate(order) if rank == max(order)]
    assert (state.result() is None) == (not state.is_terminal) == (state.reason is None)


# ---------------------------------------------------------------- there and back


@quick
@given(positions())
def test_bytes_there_and_back(state: Any) -> None:
    deck = state.game.deck
    again = bvb_core.State.from_bytes(bytes(state), deck)
    assert again == state
    assert bytes(again) == bytes(state)
    assert again.legal_actions() == state.legal_actions()
    for twin in (pickle.loads(pickle.dumps(state)), copy.copy(state), copy.deepcopy(state), state.clone()):
        assert twin == state
    with pytest.raises(ValueError, match="no history"):
        again.to_record()


@quick
@given(positions(), st.data())
def test_records_there_and_back(state: Any, data: st.DataObject) -> None:
    deck = state.game.deck
    record = json.loads(json.dumps(state.to_record(legal=True)))
    again = bvb_core.State.from_record(record, deck=deck)
    assert again == state
    assert again.to_record(legal=True) == record
    after = data.draw(st.integers(0, len(record["actions"])))
    before = bvb_core.State.from_record(record, after=after, deck=deck)
    for action, legal in zip(record["actions"][after:], record["legal"][after:], strict=True):
        assert [str(a) for a in before.legal_actions()] == legal
        before.apply(action)
    assert before == state


@quick
@given(positions())
def test_observations_there_and_back(state: Any) -> None:
    deck = state.game.deck
    for seat in (*range(state.game.num_players), None):
        seen = state.observation(seat)
        for again in (
            bvb_core.Observation.from_dict(seen.to_dict(), deck),
            bvb_core.Observation.from_json(seen.to_json(), deck),
            bvb_core.Observation.from_dict(in_camel_case(seen.to_dict()), deck),
            pickle.loads(pickle.dumps(seen)),
        ):
            assert again == seen
            assert again.to_dict() == seen.to_dict()
            assert again.seat == seat
            assert again.legal_actions() == seen.legal_actions()
            assert again.determinize(3) == seen.determinize(3)


def in_camel_case(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            re.sub("_(.)", lambda m: m[1].upper(), key): in_camel_case(item) for key, item in value.items()
        }
    return [in_camel_case(item) for item in value] if isinstance(value, list) else value


@quick
@given(positions())
def test_notation_there_and_back(state: Any) -> None:
    for action in state.legal_actions():
        by_text, by_action, by_id = state.clone(), state.clone(), state.clone()
        by_text.apply(str(action))
        by_action.apply(action)
        by_id.apply(action.id)
        assert by_text == by_action == by_id != state
        fields = action.fields()
        assert fields["verb"] == str(action).split()[0]
        assert set(fields) <= {"verb", "pile", "type", "card", "monster", "other_monster", "side", "part"}
        assert by_text.events(state.current_player)[0].startswith(str(action))


# ---------------------------------------------------------------- symmetry


def outlook(state: Any, action: int) -> tuple[Counter[str], int, list[int]]:
    """What an action leads to, whatever the side or the pile it was played at."""
    after = state.clone()
    after.apply(action)
    verbs = Counter(str(a).split()[0] for a in after.legal_actions())
    return verbs, len(after.search_action_ids()), after.scores()


@quick
@given(positions())
def test_moves_of_a_class_are_alike(state: Any) -> None:
    classes: dict[int, list[Any]] = {}
    for action in state.legal_actions():
        classes.setdefault(state.representative(action.id), []).append(action)
    for chosen, members in classes.items():
        assert (
            len({(a.fields()["verb"], a.fields().get("card"), a.fields().get("monster")) for a in members})
            == 1
        )
        if not str(members[0]).startswith("draw"):
            assert all(outlook(state, a.id) == outlook(state, chosen) for a in members)


def test_sides_and_piles_are_symmetric() -> None:
    """Left and right of a monster with nothing at either, not of one with an arm; and piles of any size."""
    found = set()
    for seed in range(150):
        state = bvb_core.new_game(players=2, seed=seed, first_player=0)
        for number in range(40):
            table = {f"m{m['number']}": m for m in state.observation(None).to_dict()["monsters"]}
            for action in state.legal_actions():
                match str(action).split():
                    case ["arm" | "tool" as verb, monster, side]:
                        parts = table[monster]
                        other = f"{verb} {monster} {'left' if side == 'right' else 'right'}"
                        legal = {str(a): a for a in state.legal_actions()}
                        if not any(parts[f"{s}_{p}"] for s in ("left", "right") for p in ("arm", "tool")):
                            assert state.representative(action.id) == state.representative(legal[other].id)
                            found.add((verb, "free"))
                        elif other in legal and sum(parts[f"{s}_arm"] for s in ("left", "right")) == 1:
                            assert state.representative(action.id) != state.representative(legal[other].id)
                            found.add((verb, "taken"))
            state.apply(state.random_action(number))
            if state.is_terminal:
                break
    assert {("arm", "free"), ("tool", "free")} <= found
    state = bvb_core.new_game(players=2, seed=1)
    state.apply("draw 1")
    draws = [a.id for a in state.legal_actions() if str(a).startswith("draw")]
    assert len({state.representative(action) for action in draws}) == 1 < len(draws)


# ---------------------------------------------------------------- what is illegal

words = st.one_of(
    st.sampled_from(
        [
            *VERBS,
            *PARTS,
            "land",
            "sea",
            "sky",
            "bear",
            "left",
            "right",
            "head",
            "torso",
            "crossroad_torso",
            "land_baby_1",
        ]
    ),
    st.integers(0, 70).map(lambda n: f"m{n}"),
    st.integers(-1, 4).map(str),
    st.text(max_size=4),
)
texts = st.one_of(
    st.builds(
        lambda verb, rest: " ".join([verb, *rest]), st.sampled_from(VERBS), st.lists(words, max_size=3)
    ),
    st.text(max_size=20),
)


@quick
@given(positions(), st.lists(texts, min_size=20, max_size=40))
def test_an_illegal_action_is_named_and_changes_nothing(state: Any, attempts: list[str]) -> None:
    legal = {str(action) for action in state.legal_actions()}
    kept, record = bytes(state), state.to_record()
    for text in {
        *attempts,
        *(action + " " for action in legal),
        *(action.upper() for action in legal),
    } - legal:
        with pytest.raises(bvb_core.IllegalActionError) as error:
            state.apply(text)
        assert repr(text) in str(error.value)
        reason = str(error.value).partition(f"{text!r}: ")[2]
        assert len(reason) > 10
        assert bytes(state) == kept
    assert state.to_record() == record


@quick
@given(positions(), positions())
def test_actions_of_other_positions_are_refused_with_a_reason(state: Any, other: Any) -> None:
    legal = {str(action) for action in state.legal_actions()}
    kept = bytes(state)
    for action in other.legal_actions():
        if str(action) not in legal:
            with pytest.raises(bvb_core.IllegalActionError) as error:
                state.apply(action)
            assert str(error.value).startswith(f"illegal action {str(action)!r}: ")
            assert "not an action" not in str(error.value) or state.game is not other.game
    assert bytes(state) == kept


# ---------------------------------------------------------------- what others are shown

HIDDEN_FROM_OTHERS = re.compile(r"^(draw|mask) ")
SHOWN_TO_OTHERS = re.compile(r"^(draw [123] = (\?|(land|sea|sky)_baby|wild_provoke)|mask \?( m\d+)?)$")
TURNED_OVER = re.compile(r"^(reveal m\d+ \w+|army (land|sea|sky)( \w+_baby_\d)*)$")
SHOW_NOTHING_MORE = ("pass", "draw", "mask", "head", "torso", "arm", "legs", "tool", "hat")


@quick
@given(positions())
def test_event_lines_of_others_hide_what_they_must(state: Any) -> None:
    mover = state.current_player
    for action in state.legal_actions():
        after = state.clone()
        after.apply(action)
        own = after.events(mover)[0]
        for seat in {*range(state.game.num_players), None} - {mover}:
            line, *shown = after.events(seat)
            if HIDDEN_FROM_OTHERS.match(line):
                assert SHOWN_TO_OTHERS.match(line)
            else:
                assert line == own
            assert all(TURNED_OVER.match(s) for s in shown)


@quick
@given(positions(), st.integers(0, 2**32))
def test_event_lines_depend_on_nothing_hidden(state: Any, seed: int) -> None:
    """The hidden cards are dealt anew; the same action with the same visible outcome reads the same."""
    rng = random.Random(seed)
    mover = state.current_player
    for seat in {*range(state.game.num_players), None} - {mover}:
        seen = state.observation(seat)
        lines: dict[tuple[str, str], set[tuple[str, ...]]] = {}
        for number in range(4):
            guess = seen.determinize(number)
            legal = [a for a in guess.legal_actions() if str(a).split()[0] in SHOW_NOTHING_MORE]
            for action in rng.sample(legal, min(len(legal), 12)):
                after = guess.clone()
                after.apply(action)
                verb, *rest = str(action).split()
                named = f"mask {' '.join(rest[1:])}" if verb == "mask" else str(action)
                drawn = after.events(mover)[0].rpartition(" = ")[2] if verb == "draw" else ""
                if drawn != "wild_provoke":
                    drawn = drawn.rpartition("_")[0] if "_baby_" in drawn else "kept"
                lines.setdefault((named, drawn), set()).add(tuple(after.events(seat)))
        for shown in lines.values():
            assert len(shown) == 1
