"""A slow reading of the tensor's documentation: the quantities of every block, by column, from the dict."""

from typing import Any

from bvb_core import Deck, Observation

PARTS = ("left_arm", "right_arm", "legs", "left_tool", "right_tool", "hat")
TYPES = ("land", "sea", "sky")
# Position in a block without its last axis -> column -> quantity; what is left out is 0.
Block = dict[tuple[int, ...], dict[str, float]]


def quantities(observation: Observation) -> dict[str, Block]:
    view = observation.to_dict()
    rules = view["rules"]
    players = rules["players"]
    deck = observation.game.deck
    me = view.get("seat", 0)

    def row(seat: int) -> int:
        return (seat - me) % players

    def seen(item: dict[str, Any]) -> dict[str, float]:
        seats = range(players) if item["public"] else item["seen_by"]
        return {f"seen_{row(seat)}": 1 for seat in seats} | {"public": item["public"]}

    def counts(cards: list[str]) -> dict[str, float]:
        return {card: cards.count(card) for card in cards}

    places = {monster["number"]: monster["place"] for monster in view["monsters"]}
    masks = sorted(
        (monster["place"], monster["number"])
        for monster in view["monsters"]
        if monster.get("head", {}).get("masked")
    )
    mask_of = {number: f"mask_{i}" for i, (_, number) in enumerate(masks, 1)}
    heads = [card.id for card in deck.cards if card.role == "head"]
    base = 2 if rules["practice"] or players > 3 else 4 if players == 2 else 3
    blocks: dict[str, Block] = {block.name: {} for block in observation.game.tensor_layout.blocks}
    blocks["rules"][()] = {name: rules[name] for name in ("armageddon", "practice", "turn_limit")}
    turn = {
        "spectator": "seat" not in view,
        "turn_number": view["turn_number"],
        "actions_used": view["actions_used"],
        "wild_drawn": view["pending"] == "PENDING_WILD_PROVOKE_DRAWN",
        "wild_dived": view["pending"] == "PENDING_WILD_PROVOKE_DIVED",
        "piles_empty": not any(view["pile_counts"]),
        "final_turns_left": view.get("final_turns_left", 0),
        f"first_{row(rules['first_player'])}": 1,
    }
    if "result" in view:
        turn[view["result"]["reason"]] = 1
    else:
        turn[f"current_{row(view['current_player'])}"] = 1
    blocks["turn"][()] = turn
    blocks["piles"][()] = {f"pile_{i}": count for i, count in enumerate(view["pile_counts"], 1)}
    blocks["discard"][()] = counts(view["discard"])
    blocks["hand"][()] = counts(view["players"][me]["hand"]) if "seat" in view else {}
    for seat, player in enumerate(view["players"]):
        tools = sum(
            monster[side]
            for monster in view["monsters"]
            if monster["owner"] == seat and "head" in monster
            for side in ("left_tool", "right_tool")
        )
        blocks["players"][row(seat),] = counts(player["collected"]) | {
            "hand_count": player["hand_count"],
            "allowance": base + tools,
            "score": sum(deck[kind].points for kind in player["collected"]),
        }
        located = [fact["kind"] for fact in player["located"]]
        blocks["located"][row(seat),] = counts([kind for kind in located if kind not in heads])
        for fact in player["located"]:
            if fact["kind"] in heads:
                masked = sorted(fact["masks"], key=places.__getitem__)
                column = "+".join(["hand", *(mask_of[number] for number in masked)])
                cell = blocks["located_heads"].setdefault((row(seat), heads.index(fact["kind"])), {})
                cell[column] = cell.get(column, 0) + 1
    for t, army in enumerate(view["armies"]):
        for i, baby in enumerate(army["babies"]):
            points = deck[baby["kind"]].points if baby["kind"] else 0
            known = bool(baby["kind"])
            blocks["armies"][t, i] = {"present": 1, "known": known, "points": points} | seen(baby)
    for monster in view["monsters"]:
        cell = {f"owner_{row(monster['owner'])}": 1.0} | {part: monster[part] for part in PARTS}
        if "head" not in monster and not monster["torso"]:
            del cell["hat"]
            blocks["remains"][monster["place"],] = cell
            continue
        if monster["torso"]:
            cell[monster["torso"]] = 1
        if "head" in monster:
            head = monster["head"]
            cell[head["kind"] or "unknown_head"] = 1
            cell["strength"] = strength(deck, monster) if head["kind"] else 0
            if head["masked"]:
                cell[mask_of[monster["number"]]] = 1
                cell |= seen(head) | {f"not_{t}": 1 for t in head["excluded_types"]}
        blocks["monsters"][monster["place"],] = cell
    return blocks


def strength(deck: Deck, monster: dict[str, Any]) -> int:
    by_role = {card.role: card.strength for card in deck.cards if card.role in ("arm", "legs", "tool")}
    total = deck[monster["head"]["kind"]].strength
    if monster["torso"]:
        total += deck[monster["torso"]].strength
    total += sum(by_role[part.split("_")[-1]] for part in PARTS[:-1] if monster[part])
    return 2 * total if monster["hat"] else total


def nameless(observation: Observation) -> str:
    """All that an observation says but the numbers of monsters: they are replaced by places."""
    view = observation.to_dict()
    del view["next_monster"]
    view["rules"].pop("deck")
    places = {monster["number"]: monster["place"] for monster in view["monsters"]}
    for player in view["players"]:
        for fact in player["located"]:
            fact["masks"] = sorted(places[number] for number in fact["masks"])
        player["located"].sort(key=str)
    view["monsters"] = sorted(str(monster | {"number": 0}) for monster in view["monsters"])
    return str(view)
