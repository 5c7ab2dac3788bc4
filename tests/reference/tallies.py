"""The cards of the published game, typed by hand from the rules text: what the shipped deck file must say."""

from typing import Any

LAND_SEA_SKY = ["land", "sea", "sky"]

# id, count, role, strength, and what the role needs; in deck order.
HEADS: list[tuple[str, int, int, list[str]]] = [
    ("bear_head", 5, 3, LAND_SEA_SKY),
    ("land_head", 7, 2, ["land"]),
    ("sea_head", 7, 2, ["sea"]),
    ("sky_head", 7, 2, ["sky"]),
]
TORSOS: list[tuple[str, int, int, list[str], list[str]]] = [
    ("crossroad_torso", 9, 1, ["neck", "left_shoulder", "right_shoulder", "waist"], []),
    ("mini_arm_torso", 3, 1, ["neck", "waist"], ["left", "right"]),
    ("mini_body", 3, 2, ["neck"], ["left", "right"]),
    ("armless_body", 2, 2, ["neck", "left_shoulder", "right_shoulder"], []),
]
PARTS: list[tuple[str, int, int, list[str]]] = [
    ("legs", 7, 2, []),
    ("arm", 10, 1, ["hand"]),
    ("tool", 5, -1, []),
    ("hat", 3, 0, []),
    ("mask", 3, 0, []),
]
BABY_COUNTS = [1, 3, 3, 2]  # babies of one type that are worth 0, 1, 2 and 3 points
ACTION_CARDS: list[tuple[str, int]] = [("swap", 2), ("dismember", 3), ("lullaby", 2), ("wild_provoke", 2)]

TOTAL = 107
PRACTICE_TOTAL = 87


def standard() -> dict[str, Any]:
    """The tallies in the shape of a parsed deck file."""
    cards: list[dict[str, Any]] = []
    for kind, count, strength, types in HEADS:
        cards.append({"id": kind, "count": count, "role": "head", "strength": strength, "types": types})
    for kind, count, strength, joints, sockets in TORSOS:
        cards.append(
            {
                "id": kind,
                "count": count,
                "role": "torso",
                "strength": strength,
                "joints": joints,
                "sockets": sockets,
            }
        )
    for kind, count, strength, sockets in PARTS:
        cards.append({"id": kind, "count": count, "role": kind, "strength": strength, "sockets": sockets})
    for baby_type in LAND_SEA_SKY:
        for points, count in enumerate(BABY_COUNTS):
            cards.append(
                {
                    "id": f"{baby_type}_baby_{points}",
                    "count": count,
                    "role": "baby",
                    "type": baby_type,
                    "points": points,
                }
            )
    for kind, count in ACTION_CARDS:
        cards.append({"id": kind, "count": count, "role": kind})
    return {"name": "standard", "card": cards}
