"""Words for numbers."""


def plural(n: int, one: str, many: str = "") -> str:
    """A number of things; `many` where an s does not make the plural."""
    return f"{n} {one if n == 1 else many or one + 's'}"
