"""Hosts a game with a bot from the service in seat 0, the others playing at random: python host.py HOST:PORT PLAYERS SEED

The rules are those of bvb_core. The bot is told what its seat is shown, and nothing else.
"""

import random
import sys

import bvb
import bvb_core

SEAT = 0


def play(game: bvb_core.State, bot: bvb.Seat, others: random.Random) -> None:
    while not game.is_terminal:
        mover = game.current_player
        game.apply(bot.move().action.notation if mover == SEAT else others.choice(game.legal_actions()))
        shown = game.events(SEAT)  # what the action showed to this seat
        bot.events(shown)
        print(f"seat {mover}: {', '.join(shown)}")


def main() -> None:
    if len(sys.argv) != 4 or not all(number.isdecimal() for number in sys.argv[2:]):
        sys.exit("usage: python host.py HOST:PORT PLAYERS SEED")
    address, players, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    try:
        game = bvb_core.new_game(players=players, seed=seed)
        with bvb.Client(address) as client, client.play_seat(game.observation(SEAT), iterations=100, seed=seed) as bot:
            play(game, bot, random.Random(seed))
    except (bvb.Error, ValueError) as error:  # no such server, or no such number of players
        sys.exit(str(error))
    print(f"points {game.scores()}, won by {game.winners()}")


main()
