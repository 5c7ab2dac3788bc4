"""AnalyzeGame and `bvb analyze`."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import grpc
import pytest
from click.testing import CliRunner, Result

import bvb
import bvb_core
from bvb.v1 import engine_pb2
from server.cli import main
from server.plot import win_probability_svg

from .conftest import Service
from .test_operation import wait_until

Start = Callable[..., Service]
SVG = "{http://www.w3.org/2000/svg}"


def a_record(actions: int = 60, players: int = 3) -> dict[str, Any]:
    rng = random.Random(4)
    state = bvb_core.new_game(players=players, seed=4)
    for _ in range(actions):
        state.apply(rng.choice(state.legal_actions()))
    record: dict[str, Any] = state.to_record()
    return record


def bvb_analyze(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["analyze", *arguments])


@pytest.fixture
def record_file(tmp_path: Path) -> str:
    path = tmp_path / "game.jsonl"
    path.write_text(json.dumps(a_record()) + "\n")
    return str(path)


def test_reviews_and_one_summary(service: Service) -> None:
    record = a_record()
    *steps, last = service.client.analyze_game(record, iterations=300, seed=2, marks=4)
    assert [step.done for step in steps] == list(range(1, 61))
    assert {step.total for step in (*steps, last)} == {60}
    reviews = [step.review for step in steps]
    assert [review.played.notation for review in reviews] == record["actions"]
    assert [review.index for review in reviews] == list(range(60))
    assert all(len(review.result.alternatives) == 1 for review in reviews)
    losses = {review.index: review.loss for review in reviews}
    assert min(losses.values()) == 0
    assert max(losses.values()) > 0.02
    summary = last.summary
    assert list(summary.marked) == sorted(losses, key=lambda index: (-losses[index], index))[:4]
    for seat in range(3):
        own = [review.loss for review in reviews if review.seat == seat]
        assert summary.decisions[seat] == len(own)
        assert summary.mean_loss[seat] == pytest.approx(sum(own) / len(own))


def test_a_review_is_the_search_of_the_seat(service: Service) -> None:
    """It sees what the seat saw: the best move is that of SuggestMove, the played one that of a search of it alone."""
    record = a_record()
    (step, _) = service.client.analyze_game(record, iterations=400, seed=2, first=41, count=1)
    state = bvb_core.State.from_record(record, after=41)
    view, seat = state.observation(state.current_player), state.current_player
    best = service.client.suggest_move(view, iterations=400, seed=2, multi_pv=1)
    alone = service.client.suggest_move(
        view, iterations=400, seed=2, multi_pv=1, allow_moves=[record["actions"][41]]
    )
    review = step.review
    assert (review.index, review.seat, review.turn_number) == (41, seat, state.turn_number)
    review.result.ClearField("elapsed_ms")
    best.ClearField("elapsed_ms")
    assert review.result == best
    assert review.played.notation != best.action.notation
    assert list(review.win_probability) == list(alone.win_probability)
    assert review.loss == pytest.approx(max(0, best.win_probability[seat] - alone.win_probability[seat]))
    assert 0 < review.loss_error < 0.2


def test_a_move_for_nothing_is_marked(service: Service) -> None:
    """With the last decision between winning and losing, the losing one is the worst of the game."""
    for seed in range(200):
        rng = random.Random(seed)
        state = bvb_core.new_game(players=2, seed=seed)
        while not state.is_terminal:
            before = state.clone()
            state.apply(rng.choice(state.legal_actions()))
        ends = {}
        for action in before.legal_actions():
            after = before.clone()
            after.apply(action)
            if after.is_terminal:
                ends[str(action)] = after.returns()[before.current_player]
        if before.legal_actions() and set(ends.values()) == {0.0, 1.0} and len(ends) == len(before.legal_actions()):
            break
    else:
        raise AssertionError("no such game")
    before.apply(min(ends, key=lambda text: ends[text]))
    record = before.to_record()
    first = len(record["actions"]) - 6
    *_, last = service.client.analyze_game(record, iterations=3000, seed=1, first=first, marks=1)
    assert list(last.summary.marked) == [len(record["actions"]) - 1]


def test_parts_of_a_game(service: Service) -> None:
    steps = list(service.client.analyze_game(a_record(), iterations=5, seats=[1], first=10, count=30))
    reviews = [step.review for step in steps[:-1]]
    assert reviews
    assert {review.seat for review in reviews} == {1}
    assert all(10 <= review.index < 40 for review in reviews)
    assert list(steps[-1].summary.decisions) == [0, len(reviews), 0]
    (only,) = service.client.analyze_game(a_record(0), iterations=5)
    assert (only.total, list(only.summary.marked)) == (0, [])


def test_cancel(service: Service) -> None:
    reviews = service.client.analyze_game(a_record(), time_ms=400)
    next(reviews)
    reviews.close()  # type: ignore[attr-defined]
    wait_until(lambda: service.app.pool.running == 0, timeout_s=2)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"record": ""}, "record"),
        ({"record": "[]"}, "record"),
        ({"record": "{"}, "record"),
        ({"record": '{"format": "other"}'}, "record.format"),
        ({"first": 61}, "first"),
        ({"first": -1}, "first"),
        ({"count": -1}, "count"),
        ({"marks": -1}, "marks"),
        ({"seats": [0, 3]}, "seats[1]"),
        ({"bot": "greedy"}, "bot"),
        ({"bot": "nobody"}, "bot"),
        ({"budget": engine_pb2.Budget()}, "budget"),
        ({"threads": -1}, "threads"),
    ],
)
def test_wrong_requests(service: Service, change: dict[str, Any], field: str) -> None:
    request = {"record": json.dumps(a_record()), "budget": engine_pb2.Budget(iterations=1), **change}
    with pytest.raises(grpc.RpcError) as caught:
        list(service.stub.AnalyzeGame(engine_pb2.AnalyzeGameRequest(**request)))
    error = bvb.Error.from_call(caught.value)
    assert error.code == grpc.StatusCode.INVALID_ARGUMENT
    assert error.violations[0].field == field


@pytest.mark.parametrize(
    ("path", "reason", "spoil"),
    [
        ("record", "INVALID_RECORD", lambda r: r.update(unheard_of=1)),
        ("record.format", "INVALID_RECORD", lambda r: r.pop("format")),
        ("record.actions[7]", "INVALID_RECORD", lambda r: r["actions"].insert(7, "draw 9")),
        ("record.rules.deck", "UNKNOWN_DECK", lambda r: r["rules"].update(deck="sha256:00")),
        ("record.rules.deck", "INVALID_RECORD", lambda r: r["rules"].update(deck=5)),
        ("record.deal.hands", "INVALID_RECORD", lambda r: r["deal"]["hands"].pop()),
    ],
)
def test_what_is_wrong_with_a_record(
    service: Service, path: str, reason: str, spoil: Callable[[dict[str, Any]], object]
) -> None:
    record = a_record()
    spoil(record)
    with pytest.raises(bvb.Error) as caught:
        list(service.client.analyze_game(record, iterations=1))
    assert ([violation.field for violation in caught.value.violations], caught.value.reason) == ([path], reason)


def test_an_observation_is_no_record(service: Service, position: dict[str, Any]) -> None:
    with pytest.raises(bvb.Error, match="record: this is an observation"):
        list(service.client.analyze_game(position, iterations=1))


# ---------------------------------------------------------------- command line


def test_table_and_plot(record_file: str, tmp_path: Path) -> None:
    picture = tmp_path / "game.svg"
    done = bvb_analyze(record_file, "--iterations", "100", "--seed", "1", "--marks", "3", "--plot", str(picture))
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    rows = lines[1:61]
    assert [row.split()[0].rstrip("!") for row in rows] == [str(i) for i in range(60)]
    assert sum(row.split()[0].endswith("!") for row in rows) == 3
    assert lines[-1].startswith("seat 2: ")
    root = ElementTree.parse(picture).getroot()
    assert root.tag == f"{SVG}svg"
    polylines = root.findall(f"{SVG}polyline")
    assert len(polylines) == 3
    assert all(len(line.attrib["points"].split()) == 60 for line in polylines)
    assert len(root.findall(f"{SVG}circle")) == 3


def test_json_is_the_same_from_a_server(service: Service, record_file: str) -> None:
    options = (record_file, "--iterations", "50", "--seed", "1", "--count", "8", "--json")
    answers = [json.loads(bvb_analyze(*options, *more).stdout) for more in ((), ("--server", service.address))]
    for answer in answers:
        assert len(answer["reviews"]) == 8
        for review in answer["reviews"]:
            del review["result"]["elapsed_ms"]
    assert answers[0] == answers[1]


def test_what_cannot_be_analyzed(record_file: str, tmp_path: Path) -> None:
    quick = ("--iterations", "1", "--count", "1")
    for arguments, code, message in (
        ((record_file, "--game", "1"), 1, "there is no game 1"),
        ((record_file, "--first", "99"), 1, "first"),
        ((record_file, "--seat", "7"), 1, "seats[0]"),
        ((record_file, *quick, "--plot", str(tmp_path / "no" / "where.svg")), 1, "where.svg"),
        ((record_file, *quick, "--first", "60", "--plot", str(tmp_path / "x.svg")), 1, "nothing to plot"),
        ((record_file, "--iterations", "0"), 2, "--iterations"),
    ):
        done = bvb_analyze(*arguments)
        assert done.exit_code == code, done.output
        assert message in done.stderr


def test_points_of_a_plot() -> None:
    picture = win_probability_svg([0, 10], [[1.0, 0.0], [0.25, 0.75]], [(10, 1)], "a < b")
    root = ElementTree.fromstring(picture)
    (title,) = root.findall(f"{SVG}title")
    assert title.text == "a < b"
    first, second = (line.attrib["points"] for line in root.findall(f"{SVG}polyline"))
    assert first == "60.0,50.0 940.0,290.0"
    assert second == "60.0,370.0 940.0,130.0"
    (circle,) = root.findall(f"{SVG}circle")
    assert (circle.attrib["cx"], circle.attrib["cy"]) == ("940.0", "130.0")
