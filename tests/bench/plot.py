"""Lines as an SVG picture."""

import math
from html import escape

WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 60, 110, 45, 50
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")     # Okabe and Ito 2008
Point = tuple[float, float]


def ticks(high: float) -> list[float]:
    """From 0 in steps of 1, 2 or 5 times a power of ten, up to at least `high`, five to ten of them."""
    power = 10.0 ** math.floor(math.log10(high))
    step = next(s for s in (power / 10, power / 5, power / 2, power, 2 * power) if high / s <= 8)
    return [i * step for i in range(math.ceil(high / step) + 1)]


def plot(title: str, across: str, lines: dict[str, list[Point]], logarithmic: bool = False) -> str:
    """Lines over one axis, which may be logarithmic, as SVG."""
    xs = sorted({x for points in lines.values() for x, _ in points})
    levels = ticks(max(y for points in lines.values() for _, y in points))

    def place(x: float) -> float:
        return math.log10(x) if logarithmic else x

    low, high = place(xs[0]), place(xs[-1])

    def at(x: float, y: float) -> tuple[str, str]:
        right = LEFT + (place(x) - low) / (high - low) * (WIDTH - LEFT - RIGHT)
        return f"{right:.1f}", f"{TOP + (1 - y / levels[-1]) * (HEIGHT - TOP - BOTTOM):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="15">{escape(title)}</text>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{escape(across)}</text>',
    ]
    for level in levels:
        x, y = at(xs[0], level)
        parts.append(f'<line x1="{x}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y}" dy="4" text-anchor="end">{level:g}</text>')
    for x_value in xs if len(xs) < 12 and not logarithmic else [x for x in xs if math.log10(x).is_integer()]:
        x, y = at(x_value, 0)
        parts.append(f'<text x="{x}" y="{y}" dy="18" text-anchor="middle">{x_value:,.0f}</text>')
    for number, (name, points) in enumerate(lines.items()):
        colour = COLOURS[number]
        places = " ".join(",".join(at(*point)) for point in points)
        parts.append(f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y_name = TOP + 8 + 20 * number
        parts.append(f'<text x="{WIDTH - RIGHT + 12}" y="{y_name}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])
