"""Nothing that a seat cannot see reaches it: all is the same when the hidden cards are others."""

import random
import tempfile
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import bvb_core
from ai import make_bot
from bvb.v1 import engine_pb2
from bvb_core.bears.ops import Action
from server.convert import observation_to_proto

from .belief.draws import read_piles
from .belief.histories import new_tiny_game
from .belief.replay import ForgottenError, History
from .random_play import Policy
from .reference.pieces import load_deck
from .server.conftest import Service, running
from .soak import Tally, fixture_seeds, run_many

TINY_SHARE = 0.3
BOT = "ismcts:iterations=50"
ACTIONS_TRIED = 30
ILLEGAL = (
    "", "jump", "draw 0", "draw 1", "draw 2", "draw 3", "draw 4", "pass", "provoke land", "provoke sea",
    "provoke sky", "provoke fire", "wild land", "wild sea", "wild sky", "dive arm", "dive bear_head",
    "dive land_baby_2", "lullaby land", "lullaby sea", "head bear", "head land", "head sky m1",
    "mask bear", "mask sea", "mask sky m2", "torso mini_body m1", "torso crossroad_torso m2",
    "arm m1 left", "arm m9 right", "legs m1", "legs m2", "hat m1", "hat m2", "tool m1 left",
    "tool m2 right", "swap m1 m2", "swap m2 m1", "swap m1 m1", "dismember m1 head", "dismember m2 head",
    "dismember m1 hat", "dismember m3 left_arm", "dismember m99 torso", "mask ?",
)  # fmt: skip


def a_position(rng: random.Random, folder: Path) -> tuple[bvb_core.State, int]:
    """A random moment of a random game, and the seed of the game."""
    seed = rng.getrandbits(64)
    while True:
        if rng.random() < TINY_SHARE:
            state = new_tiny_game(rng, folder).state
        else:
            state = bvb_core.new_game(players=rng.randint(2, 5), seed=seed, practice=rng.random() < 0.1,
                                      armageddon=rng.random() < 0.3)
        policy = Policy(rng)
        for _ in range(rng.randrange(150)):
            if state.is_terminal:
                break
            state.apply(policy.choose(state.legal_actions()))
        if not state.is_terminal:
            return state, seed


def check_position(seed: int) -> Tally:
    """A random position as all observers see it, and a determinization for each of them."""
    rng = random.Random(seed)
    tally = Tally({"positions": 1})
    with tempfile.TemporaryDirectory() as folder:
        state, game_seed = a_position(rng, Path(folder))
        for observer in (None, *range(state.rules["players"])):
            guess = state.observation(observer).determinize(rng.getrandbits(64))
            check_views(state, guess, observer)
            tally["observers"] += 1
            tally += check_actions(state, guess, observer, rng)
            if observer == state.current_player:
                tally += check_errors(state, guess)
                check_bot(state, guess, game_seed)
    return tally


def check_views(state: bvb_core.State, guess: bvb_core.State, observer: int | None) -> None:
    seen, again = state.observation(observer), guess.observation(observer)
    assert bytes(seen) == bytes(again)
    assert seen.to_json() == again.to_json()
    assert seen.legal_actions() == again.legal_actions()
    assert (seen.legal_mask() == again.legal_mask()).all()
    deck = state.game.deck
    told = bvb_core.Observation.from_json(seen.to_json(), deck)
    assert bytes(told) == bytes(seen)
    drawn = bytes(seen.determinize(1))
    assert drawn == bytes(again.determinize(1)) == bytes(told.determinize(1))
    if observer == state.current_player:
        assert state.legal_actions() == guess.legal_actions() == seen.legal_actions()


def check_errors(state: bvb_core.State, guess: bvb_core.State) -> Tally:
    """What the player to move is told about actions that are illegal."""
    legal = {str(action) for action in state.legal_actions()}
    tried = [text for text in ILLEGAL if text not in legal]
    for text in tried:
        assert refusal(state, text) == refusal(guess, text)
    return Tally({"refusals": len(tried)})


def refusal(state: bvb_core.State, text: str) -> str:
    with pytest.raises(bvb_core.IllegalActionError) as refused:
        state.clone().apply(text)
    return str(refused.value)


def check_bot(state: bvb_core.State, guess: bvb_core.State, seed: int) -> None:
    answers = []
    for game in (state, guess):
        answer = make_bot(BOT, seed=seed).suggest(game.observation(game.current_player)).to_dict()
        del answer["elapsed_ms"]
        answers.append(answer)
    assert answers[0] == answers[1]


def check_actions(
    state: bvb_core.State, guess: bvb_core.State, observer: int | None, rng: random.Random
) -> Tally:
    """What actions show: the same where nothing hidden takes part; what is shown alike leaves views alike."""
    tally = Tally()
    view = state.observation(observer).to_dict()
    own = observer == state.current_player
    possible = {shown_as(action, own): action for action in guess.legal_actions()}
    legal = state.legal_actions()
    for action in rng.sample(legal, min(ACTIONS_TRIED, len(legal))):
        other = possible.get(shown_as(action, own))
        if other is None:
            assert not own
            continue
        one, two = state.clone(), guess.clone()
        one.apply(action)
        two.apply(other)
        alike = one.events(observer) == two.events(observer) and public(one) == public(two)
        assert (one.event_key(observer) == two.event_key(observer)) == alike
        assert not alike or bytes(one.observation(observer)) == bytes(two.observation(observer))
        tally["actions alike" if alike else "actions that show what was hidden"] += 1
        if not depends_on_hidden_cards(view, action, own):
            assert alike, f"{action}: {one.events(observer)} and {two.events(observer)}"
            tally["public actions"] += 1
    return tally


def shown_as(action: Action, own: bool) -> str:
    words = str(action).split()
    if words[0] == "mask" and not own:
        words[1] = "?"
    return " ".join(words)


def public(state: bvb_core.State) -> tuple[Any, ...]:
    view = state.observation(None).to_dict()
    return view["pending"], view.get("current_player"), view["turn_number"], state.result()


def depends_on_hidden_cards(view: dict[str, Any], action: Action, own: bool) -> bool:
    """Whether cards that the observer does not see decide what an action of the player to move shows them."""
    fields = action.fields()
    verb = fields["verb"]
    monsters = {monster["number"]: monster for monster in view["monsters"]}
    masked = {number for number, monster in monsters.items()
              if "head" in monster and not monster["head"]["kind"]}
    unknown = {army["type"] for army in view["armies"] if not all(baby["kind"] for baby in army["babies"])}
    if view["rules"]["armageddon"] and view.get("final_turns_left") == 0:
        return bool(masked or unknown)
    if verb == "draw":
        return True
    if verb in ("provoke", "wild"):
        return bool(masked) or fields["type"] in unknown
    if verb == "lullaby":
        return fields["type"] in unknown
    if verb == "dive":
        return fields["card"] == "wild_provoke" and not own and bool(masked)
    if verb == "dismember":
        return fields["part"] == "head" and fields["monster"] in masked
    if verb == "swap":
        one, other = fields["monster"], fields["other_monster"]
        return any(head in masked and monsters[to]["owner"] == view.get("seat")
                   for head, to in ((one, other), (other, one)))
    return False


def test_hidden_cards_change_nothing() -> None:
    tally = run_many("leaks", check_position, [*fixture_seeds("leaks"), *range(100)])
    assert tally["public actions"] > 500
    assert tally["actions that show what was hidden"] > 100
    assert tally["refusals"] > 2_000


@pytest.mark.soak
def test_hidden_cards_change_nothing_in_many_positions() -> None:
    run_many("leaks", check_position, [*fixture_seeds("leaks"), *range(1_000)], resume=True)


# ---------------------------------------------------------------- over the wire


def check_calls(seeds: Iterable[int], folder: Path) -> int:
    """What the service answers to the seat to move, in random positions; returns their number."""
    positions = 0
    with running() as service:
        for seed in seeds:
            rng = random.Random(seed)
            state, game_seed = a_position(rng, folder)
            if state.rules["deck"] != "standard":
                continue
            seat = state.current_player
            guess = state.observation(seat).determinize(rng.getrandbits(64))
            one, two = (answers(service, game.observation(seat), game_seed) for game in (state, guess))
            assert one == two
            positions += 1
    return positions


def answers(service: Service, observation: bvb_core.Observation, seed: int) -> list[bytes]:
    """The bytes of the observation and of all that is answered to it, but the time it took."""
    message = observation_to_proto(observation)
    move = service.stub.SuggestMove(engine_pb2.SuggestMoveRequest(
        observation=message, budget=engine_pb2.Budget(iterations=50), seed=seed % 2**31))
    move.ClearField("elapsed_ms")
    legal = service.stub.ListLegalMoves(engine_pb2.ListLegalMovesRequest(observation=message))
    with service.client.analyze(observation, iterations=50, seed=seed % 2**31) as analysis:
        *_, update = analysis
    update.result.ClearField("elapsed_ms")
    with service.client.play_seat(observation, iterations=50, seed=seed % 2**31) as bot:
        played = bot.move()
    played.result.ClearField("elapsed_ms")
    return [
        answer.SerializeToString(deterministic=True) for answer in (message, move, legal, update.result, played)
    ]


def test_the_service_tells_nothing_hidden(tmp_path: Path) -> None:
    assert check_calls(range(60), tmp_path) > 30


@pytest.mark.soak
def test_the_service_tells_nothing_hidden_in_many_positions(tmp_path: Path) -> None:
    assert check_calls(range(1_600), tmp_path) > 1_000


def check_reviews(seeds: Iterable[int]) -> Tally:
    """AnalyzeGame of a random course, as one seat saw it, with the deal and with another deal behind it."""
    tally = Tally()
    deck, engine_deck = load_deck(), bvb_core.load_deck()
    with running() as service:
        for seed in seeds:
            rng = random.Random(seed)
            state = bvb_core.new_game(players=rng.randint(2, 4), seed=seed, armageddon=rng.random() < 0.3)
            history, policy = History(state, deck, engine_deck), Policy(rng)
            for _ in range(rng.randrange(20, 120)):
                if not state.is_terminal:
                    history.apply(policy.choose(state.legal_actions()))
            seat = rng.randrange(state.rules["players"])
            try:
                other = history.replay(seat, state.observation(seat).determinize(rng.getrandbits(64)))
            except ForgottenError:
                continue
            records = [game.to_record() for game in (state, other)]
            assert records[0]["deal"] != records[1]["deal"]
            one, two = (reviews(service, record, seat) for record in records)
            assert one == two
            tally += Tally({"games": 1, "reviews": len(one) - 1})
            tally["other actions differ"] += records[0]["actions"] != records[1]["actions"]
    return tally


def reviews(service: Service, record: dict[str, Any], seat: int) -> list[bytes]:
    """The bytes of the last reviews of a seat's decisions and of the summary, but the time they took."""
    first = max(0, len(record["actions"]) - 25)
    steps = list(service.client.analyze_game(record, iterations=20, seed=1, seats=[seat], first=first, multi_pv=50))
    for step in steps[:-1]:
        step.review.result.ClearField("elapsed_ms")
    return [step.SerializeToString(deterministic=True) for step in steps]


def test_reviews_tell_nothing_hidden() -> None:
    tally = check_reviews(range(70))
    assert tally["games"] > 60
    assert tally["reviews"] > 200
    assert tally["other actions differ"] > 0  # heads that others played under masks


@pytest.mark.soak
def test_reviews_tell_nothing_hidden_in_many_games() -> None:
    assert check_reviews(range(1_000))["games"] > 900


# ---------------------------------------------------------------- seeds


def test_the_seed_of_a_game_does_not_determinize_to_its_deal() -> None:
    """The piles agree no more often than with another seed."""
    same = others = cards = 0
    for seed in range(150):
        state = bvb_core.new_game(players=3, seed=seed)
        truth = list(chain(*state.to_record()["deal"]["piles"]))
        observation = state.observation(0)
        for shift in (0, 1):
            drawn = list(chain(*read_piles(observation.determinize(seed + shift))))
            agreeing = sum(one == other for one, other in zip(truth, drawn, strict=True))
            same += agreeing * (shift == 0)
            others += agreeing * (shift == 1)
        cards += len(truth)
    assert 0.04 < same / cards < 0.08
    assert abs(same - others) / cards < 0.015


GAMBLE = """
name = "gamble"
[[card]]
id = "bear_head"
count = 2
role = "head"
strength = 20
types = ["land", "sea", "sky"]
[[card]]
id = "arm"
count = 9
role = "arm"
[[card]]
id = "wild_provoke"
count = 6
role = "wild_provoke"
"""
BABY = """
[[card]]
id = "land_baby_{points}"
count = 2
role = "baby"
type = "land"
points = {points}
"""


def test_the_seed_of_a_game_does_not_search_its_deal(tmp_path: Path) -> None:
    """One iteration, where the only action ends the game and the score tells which cards were searched."""
    path = tmp_path / "deck.toml"
    path.write_text(GAMBLE + "".join(BABY.format(points=points) for points in range(5)))
    deck = bvb_core.load_deck(path)
    games = same = others = 0
    for seed in range(6_000):
        state = bvb_core.new_game(players=2, seed=seed, first_player=0, turn_limit=1, deck=deck)
        state.apply("head bear")  # then it draws: the last action in the order of notation, or "wild land"
        while not state.is_terminal:
            observation = state.observation(0)
            view = observation.to_dict()
            unknown = [baby for baby in view["armies"][0]["babies"] if not baby["kind"]]
            last = view["actions_used"] == 4
            state.apply(state.legal_actions()[-1])
            if last and unknown:
                games += 1
                same += guessed_score(observation, seed) == state.scores()[0]
                others += guessed_score(observation, seed + 1) == state.scores()[0]
    assert games > 200
    assert same / games < 0.5
    assert abs(same - others) / games < 0.15


def guessed_score(observation: bvb_core.Observation, seed: int) -> float:
    suggestion = make_bot("ismcts:iterations=1", seed=seed).suggest(observation)
    return suggestion.expected_score[0]
