# SPDX-License-Identifier: Apache-2.0
"""Latency distributions as an SVG: for each launcher the line of its quantiles, over a logarithmic
axis of time. Readable on a light and on a dark page."""
import math
from xml.sax.saxutils import escape

import stats

WIDTH, LEFT, RIGHT, TOP, ROW = 860, 250, 40, 64, 30
SHARES = [index / 100 for index in range(1, 100)]
COLOURS = {True: "#1a6fb5", False: "#8a6d1f"}
STYLE = ("text{font-family:sans-serif;font-size:13px;fill:#222}.t{font-size:16px;font-weight:bold}"
         ".s{font-size:12px;fill:#555}.g{stroke:#ccc}")


def ticks(low, high):
    """The 1, 2 and 5 of each decade that lie between."""
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for step in (1, 2, 5):
            if low <= step * 10 ** power <= high:
                yield step * 10 ** power


def time_text(us):
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= size:
            return f"{us / size:g} {unit}"
    return f"{us:g} \u00b5s"


def text(x, y, words, anchor="start", style=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
            f'{f" class={chr(34)}{style}{chr(34)}" if style else ""}>{escape(words)}</text>')


def shape(values, place, y):
    """How dense the times are: the outline's height at a quantile is what lies near it."""
    points = sorted(values)
    steps = [stats.quantile(points, share) for share in SHARES]
    xs = [place(step) for step in steps]
    density = [1 / max(1.0, xs[min(i + 5, len(xs) - 1)] - xs[max(i - 5, 0)]) for i in
               range(len(xs))]
    most = max(density)
    upper = [f"{x:.1f},{y - 11 * part / most:.1f}" for x, part in zip(xs, density)]
    lower = [f"{x:.1f},{y + 11 * part / most:.1f}" for x, part in zip(xs, density)]
    return " ".join(upper + lower[::-1])


def row(group, name, place, y):
    values, colour = group.values(name), COLOURS[name in group.ours]
    ten, middle, ninety = (stats.quantile(values, share) for share in (0.1, 0.5, 0.9))
    return [text(LEFT - 12, y + 4, name, "end"),
            f'<polygon points="{shape(values, place, y)}" fill="{colour}" fill-opacity="0.35"/>',
            f'<line x1="{place(ten):.1f}" x2="{place(ninety):.1f}" y1="{y}" y2="{y}" '
            f'stroke="{colour}" stroke-width="2"/>',
            f'<circle cx="{place(middle):.1f}" cy="{y}" r="4" fill="{colour}"/>',
            text(WIDTH - RIGHT + 4, y + 4, time_text(float(f"{middle:.3g}")), "end", "s")]


def axis(low, high, place, bottom):
    lines = []
    for tick in ticks(low, high):
        x = place(tick)
        lines += [f'<line class="g" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 14}" y2="{bottom}"/>',
                  text(x, bottom + 18, time_text(tick), "middle", "s")]
    return lines


def distributions(group):
    """The image of a group of launch times, fastest on top."""
    names = sorted((name for name in group.series if group.values(name)),
                   key=lambda name: stats.median(group.values(name)))
    spans = [(stats.quantile(group.values(name), 0.01), stats.quantile(group.values(name), 0.99))
             for name in names]
    low, high = min(span[0] for span in spans) / 1.1, max(span[1] for span in spans) * 1.1
    width = WIDTH - LEFT - RIGHT - 60

    def place(value):
        return LEFT + width * math.log(value / low) / math.log(high / low)

    bottom = TOP + ROW * len(names)
    title = group.title.replace("`", "")
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 56}" '
             f'role="img" aria-label="{escape(title)}">', f"<style>{STYLE}</style>",
             f'<rect width="{WIDTH}" height="{bottom + 56}" fill="#fff"/>',
             text(LEFT, 24, title, style="t"),
             text(LEFT, 42, "dot: median; line: p10 to p90; outline: where the times lie (1 to "
                  "99 %)", style="s")]
    lines += axis(low, high, place, bottom)
    for index, name in enumerate(names):
        lines += row(group, name, place, TOP + ROW * index + 8)
    lines += [text(LEFT + width / 2, bottom + 42, "wall time of one launch, logarithmic", "middle",
                   "s"), "</svg>"]
    return "\n".join(lines) + "\n"
