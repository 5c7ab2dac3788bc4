"""Win probabilities over a game as an SVG picture."""

from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 960, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 50, 50
# Told apart also by people who see few colours (Okabe and Ito 2008).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9")


def win_probability_svg(
    indices: Sequence[int], win_probability: Sequence[Sequence[float]], marked: Sequence[tuple[int, int]], title: str
) -> str:
    """A line for every seat over the numbers of the actions. `win_probability` holds a vector by seat for every index;
    `marked` are pairs of index and seat to be pointed out."""
    if not indices:
        raise ValueError("there is nothing to plot")
    low, high = indices[0], max(indices[-1], indices[0] + 1)
    values = dict(zip(indices, win_probability, strict=True))

    def at(index: int, value: float) -> tuple[float, float]:
        x = LEFT + (index - low) / (high - low) * (WIDTH - LEFT - RIGHT)
        return x, TOP + (1 - value) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="13">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>',
    ]
    for percent in range(0, 101, 25):
        x, y = at(low, percent / 100)
        parts.append(f'<line x1="{x}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{x - 8}" y="{y + 4:.1f}" text-anchor="end">{percent}%</text>')
    ticks = sorted({low + round(i * (high - low) / 8) for i in range(9)})
    for tick in ticks:
        x, y = at(tick, 0)
        parts.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{tick}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 12}" text-anchor="middle">action</text>')
    for seat in range(len(win_probability[0])):
        colour = COLOURS[seat]
        points = " ".join("{:.1f},{:.1f}".format(*at(index, vector[seat])) for index, vector in values.items())
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        x = WIDTH - RIGHT - 70 * (len(win_probability[0]) - seat)
        parts.append(f'<text x="{x}" y="22" fill="{colour}">seat {seat}</text>')
    for index, seat in marked:
        x, y = at(index, values[index][seat])
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="none" stroke="{COLOURS[seat]}" stroke-width="2"/>')
        parts.append(f'<text x="{x:.1f}" y="{y - 9:.1f}" text-anchor="middle" font-size="11">{index}</text>')
    return "\n".join([*parts, "</svg>", ""])
