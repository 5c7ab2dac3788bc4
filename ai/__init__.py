"""Search and bots over any game that meets bvb_core.game.

    bot = make_bot("ismcts:iterations=1000", seed=3)
    suggestion = bot.suggest(state.observation(state.current_player))
"""

from ai.analysis import Analysis
from ai.bots import make_bot
from ai.ismcts import StopToken
from ai.suggestion import Alternative, Bot, Outcome, Root, Suggestion

__all__ = ["Alternative", "Analysis", "Bot", "Outcome", "Root", "StopToken", "Suggestion", "make_bot"]
