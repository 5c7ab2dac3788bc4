"""The rules of Bears vs Babies, compiled: states, observations, determinizations, records.

    state = bvb_core.new_game(players=3, seed=7)
    state.apply(state.legal_actions()[0])
    seen = state.observation(seat=0)
    guess = seen.determinize(seed=1)
"""

from importlib.metadata import version

try:
    from bvb_core.bears.ops import Action, Observation, State, game_for, new_game
except ModuleNotFoundError as error:
    if error.name is not None and error.name.startswith("bvb_core"):
        raise ImportError(
            "bvb_core is not compiled here: install it with `pip install .`, or run Python outside of the checkout"
        ) from error
    raise
from bvb_core.bears.deck import Card, Deck, DeckError, load_deck
from bvb_core.bears.record import RecordError
from bvb_core.bears.tracker import EventError, Tracker
from bvb_core.game import CHANCE, TERMINAL, IllegalActionError, ObservationError

MIN_PLAYERS, MAX_PLAYERS = 2, 5
#: Of the installed bvb-engine, from pyproject.toml.
__version__ = version("bvb-engine")

__all__ = [
    "CHANCE", "MAX_PLAYERS", "MIN_PLAYERS", "TERMINAL",
    "Action", "Card", "Deck", "DeckError", "EventError", "IllegalActionError", "Observation", "ObservationError",
    "RecordError", "State", "Tracker", "__version__",
    "game_for", "load_deck", "new_game",
]  # fmt: skip
