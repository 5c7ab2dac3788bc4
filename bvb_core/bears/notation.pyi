from typing import Any, Final

SIDES: Final[tuple[str, ...]]
PARTS: Final[tuple[str, ...]]
GRAMMAR: Final[dict[str, Any]]

def head_name(kind: str) -> str: ...
def action_fields(text: str, head_ids: dict[str, str]) -> dict[str, Any]: ...
