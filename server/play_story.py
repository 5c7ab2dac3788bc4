"""What happened, in sentences: the event lines of one observer, and what became of battles."""

from collections import Counter
from collections.abc import Mapping, Sequence

from bvb_core import Deck
from server.play_table import View, fights, strength
from server.text import plural


def narrate(deck: Deck, before: View, events: Sequence[str], after: View) -> list[str]:
    """Sentences for the event lines of one action, which led from one view of an observer to the next."""
    observer, actor = before.get("seat"), before["current_player"]
    action, *shown = events
    verb, *words = action.split()
    lines = [sentence(action, actor == observer, actor, before)]
    heads = {line.split()[1]: line.split()[2] for line in shown if line.startswith("reveal ")}
    lines += [f"  {number} turns out to be a {head} head" for number, head in heads.items()]
    armies = [line.split()[1:] for line in shown if line.startswith("army ")]
    gained: Counter[int] = Counter()
    if verb == "lullaby":
        lines.append(f"  asleep and discarded: {', '.join(armies.pop(0)[1:])}")
    elif verb in ("provoke", "wild"):
        monsters = [turned_over(monster, heads) for monster in before["monsters"]]
        fighters = [monster for monster in monsters if fights(deck, monster, words[0])]
        if fighters:
            _, *babies = armies.pop(0)
            fought, collector = battle(deck, fighters, babies, observer)
            lines += fought
            if collector is not None:
                gained[collector] = len(babies)
        else:
            lines.append("  no monster fights them, nothing happens")
    elif words[-1:] == ["wild_provoke"] and after["pending"] == "PENDING_UNSPECIFIED":
        lines.append("  there is nothing to provoke")
    if "final_turns_left" in after and "final_turns_left" not in before:
        lines.append("The draw piles are empty: after this turn, everyone has a final one.")
    if armies:
        babies = [kind for _, *kinds in armies for kind in kinds]
        winners = [
            seat
            for seat, player in enumerate(after["players"])
            if len(player["collected"]) - len(before["players"][seat]["collected"]) > gained[seat]
        ]
        lines.append(f"Armageddon, all Babies against all monsters: {', '.join(babies)}")
        lines.append(f"  {collects(winners[0], observer)} them" if winners else "  nobody collects them")
    return lines


def turned_over(monster: View, heads: Mapping[str, str]) -> View:
    """A monster with the head that a battle showed."""
    head = heads.get(f"m{monster['number']}")
    return {**monster, "head": {**monster["head"], "kind": f"{head}_head"}} if head else monster


def battle(
    deck: Deck, fighters: Sequence[View], babies: Sequence[str], observer: int | None
) -> tuple[list[str], int | None]:
    """Sentences for a battle of known monsters against known Babies, and the seat that collects them."""
    points = sum(deck[kind].points for kind in babies)
    musters: Counter[int] = Counter()
    for monster in fighters:
        musters[monster["owner"]] += strength(deck, monster) or 0
    sides = ", ".join(f"{who(seat, observer)} with {musters[seat]}" for seat in sorted(musters))
    worth = " ".join(str(deck[kind].points) for kind in babies)
    lines = [f"  Babies {worth}, {plural(points, 'point')} in all, against {sides}"]
    best = max(musters.values())
    winners = [seat for seat in sorted(musters) if musters[seat] == best >= points]
    if len(winners) == 1:
        return [*lines, f"  {collects(winners[0], observer)} {plural(points, 'point')}"], winners[0]
    if winners:
        tied = " and ".join(who(seat, observer) for seat in winners)
        return [*lines, f"  a tie between {tied}: the Babies stay"], None
    return [*lines, "  nobody is strong enough: Babies and monsters are discarded"], None


def who(seat: int, observer: int | None) -> str:
    return "you" if seat == observer else f"seat {seat}"


def collects(seat: int, observer: int | None) -> str:
    return "you collect" if seat == observer else f"seat {seat} collects"


def sentence(action: str, own: bool, actor: int, before: View) -> str:
    """The action line of an event; `own` when the observer acts."""
    played, _, drawn = action.partition(" = ")
    verb, *words = played.split()

    def say(does: str, what: str) -> str:
        if own:
            return f"you {does} {what}".rstrip()
        return f"seat {actor} {does}{'es' if does == 'pass' else 's'} {what}".rstrip()

    def onto(rest: list[str]) -> str:
        return f"onto {rest[0]}" if rest else f"as m{before['next_monster']}"

    if verb == "draw":
        if drawn == "?":
            drawn = "a card"
        elif drawn == "wild_provoke":
            drawn = "a Wild Provoke"
        elif drawn.endswith("_baby"):
            drawn = f"a {drawn.removesuffix('_baby')} Baby"
        return say("draw", f"{drawn} from pile {words[0]}")
    if verb == "pass":
        return say("pass", "")
    if verb in ("provoke", "wild"):
        return say("provoke", f"the {words[0]} Babies")
    if verb == "dive":
        return say("dive", f"for {words[0]}")
    if verb == "head":
        return say("play", f"a {words[0]} head {onto(words[1:])}")
    if verb == "mask":
        hidden = "a masked head" if words[0] == "?" else f"a {words[0]} head under a mask"
        return say("play", f"{hidden} {onto(words[1:])}")
    if verb == "torso":
        return say("add", f"{words[0]} to {words[1]}")
    if verb in ("arm", "tool"):
        return say("add", f"a {words[1]} {verb} to {words[0]}")
    if verb == "legs":
        return say("add", f"legs to {words[0]}")
    if verb == "hat":
        return say("put", f"a hat on {words[0]}")
    if verb == "swap":
        return say("swap", f"the heads of {words[0]} and {words[1]}")
    if verb == "dismember":
        return say("take", f"the {words[1].replace('_', ' ')} off {words[0]}")
    return say("sing", f"a lullaby to the {words[0]} Babies")
