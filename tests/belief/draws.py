"""What lies in the hidden places of a determinization, read as its players would see it."""

from collections import Counter
from typing import Any

import bvb_core

from .enumeration import PILES, Hidden, Outcome


def outcome_of(state: bvb_core.State, secret: Hidden) -> Outcome:
    """The kinds in the hidden places."""
    views: dict[int, dict[str, Any]] = {
        seat: state.observation(seat).to_dict() for seat in set(secret.revealers.values())}
    heads = {seat: {monster["number"]: monster["head"]["kind"]
                    for monster in view["monsters"] if "head" in monster} for seat, view in views.items()}
    contents = []
    for place in sorted(secret.capacity):
        if place == PILES:
            continue
        what, number, index = place
        seat = secret.revealers[place]
        if what == "hand":
            kinds = tuple(sorted(views[seat]["players"][number]["hand"]))
        elif what == "mask":
            kinds = (heads[seat][number],)
        else:
            kinds = (views[seat]["armies"][number]["babies"][index]["kind"],)
        contents.append((place, kinds))
    return tuple(contents)


def read_piles(state: bvb_core.State) -> list[list[str]]:
    """The draw piles, top first, by drawing every card; they stay incomplete when the game ends before."""
    state = state.clone()
    piles: list[list[str]] = [[], [], []]
    while not state.is_terminal:
        seat = state.current_player
        legal = state.legal_actions()
        action = next((action for action in legal if action.fields()["verb"] in ("draw", "wild")), None)
        if action is None:
            break
        state.apply(action)
        fields = action.fields()
        if fields["verb"] == "draw":
            piles[fields["pile"] - 1].append(state.events(seat)[0].split(" = ")[1])
    return piles


def rest(secret: Hidden, outcome: Outcome) -> tuple[str, ...]:
    """The kinds in the draw piles, sorted."""
    kinds = Counter(card.kind for card in secret.cards)
    for _, held in outcome:
        kinds.subtract(held)
    return tuple(sorted(kinds.elements()))
