"""Asks for the best move in a position: python suggest.py HOST:PORT position.json"""

import sys
from pathlib import Path

import bvb


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: python suggest.py HOST:PORT position.json")
    address, file = sys.argv[1:]
    try:
        position = Path(file).read_text(encoding="utf-8")  # as `bvb position` prints it
        with bvb.Client(address) as client:
            answer = client.suggest_move(position, iterations=1000, seed=1)
    except bvb.Error as error:
        sys.exit(f"{error}\n" + "\n".join(f"  {v.field}: {v.description}" for v in error.violations))
    except (OSError, ValueError) as error:  # no such file, or no observation in it
        sys.exit(f"{file}: {error}")
    print(answer.action.notation)
    for alternative in answer.alternatives[:5]:
        print(f"  {alternative.action.notation}: {[round(p, 3) for p in alternative.win_probability]}")


main()
