# SPDX-License-Identifier: Apache-2.0
"""A picture of a terminal: its screen with colours, as `tmux capture-pane -e` gives it, as SVG.
Nothing here is a test."""
import html
import re
import unicodedata

WIDTH, HEIGHT, SIZE = 8, 18, 13  # of a cell, and of its letters, in pixels
EDGE = 12
FOREGROUND, BACKGROUND = "#d4d4d4", "#1e1e1e"
BASIC = ("#3b3b3b", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d4d4d4",
         "#7f848e", "#ff7b85", "#b5e890", "#ffd98a", "#82c7ff", "#de8ff5", "#7fd8e2", "#ffffff")
SEQUENCE = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|[\x0e\x0f]")
PLAIN = {"fore": None, "back": None, "bold": False, "dim": False, "slant": False, "line": False,
         "swap": False}
# Codes that switch one property.
SWITCHES = {1: ("bold", True), 2: ("dim", True), 3: ("slant", True), 4: ("line", True),
            7: ("swap", True), 23: ("slant", False), 24: ("line", False), 27: ("swap", False)}


def palette(index):
    """The colour of the 256 that terminals have."""
    if index < 16:
        return BASIC[index]
    if index >= 232:
        return "#" + 3 * f"{8 + 10 * (index - 232):02x}"
    levels = (0, 95, 135, 175, 215, 255)
    index -= 16
    return "#" + "".join(f"{levels[part]:02x}"
                         for part in (index // 36, index // 6 % 6, index % 6))


def take_colour(codes):
    """The colour that follows 38 or 48; what is left of the codes."""
    if codes[:1] == [5] and len(codes) > 1:
        return palette(codes[1]), codes[2:]
    if codes[:1] == [2] and len(codes) > 3:
        return "#" + "".join(f"{part:02x}" for part in codes[1:4]), codes[4:]
    return None, []


def change(style, text):
    """The style after a sequence."""
    codes = [int(code or 0) for code in re.split("[;:]", text)]
    style = dict(style)
    while codes:
        code, *codes = codes
        if code == 0:
            style = dict(PLAIN)
        elif code == 22:
            style.update(bold=False, dim=False)
        elif code in SWITCHES:
            style.update([SWITCHES[code]])
        elif code in (38, 48):
            style["fore" if code == 38 else "back"], codes = take_colour(codes)
        elif code in (39, 49):
            style["fore" if code == 39 else "back"] = None
        elif 30 <= code % 60 <= 37 or 40 <= code % 60 <= 47:
            bright = 8 if code >= 90 else 0
            style["fore" if code % 60 < 40 else "back"] = BASIC[code % 10 + bright]
    return style


def width_of(letter):
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def pieces(line, style):
    """Each stretch of one style with its column; the style at the end."""
    found, column, at = [], 0, 0
    for match in [*SEQUENCE.finditer(line), None]:
        text = line[at:match.start() if match else len(line)]
        if text:
            width = sum(map(width_of, text))
            found.append((column, width, text, style))
            column += width
        if match:
            at = match.end()
            style = change(style, match.group(1)) if match.group(1) is not None else style
    return found, style


def draw(column, row, width, text, style):
    fore, back = style["fore"] or FOREGROUND, style["back"]
    if style["swap"]:
        fore, back = back or BACKGROUND, fore
    x, y = EDGE + column * WIDTH, EDGE + row * HEIGHT
    if back:
        yield f'<rect x="{x}" y="{y}" width="{width * WIDTH}" height="{HEIGHT}" fill="{back}"/>'
    if text.strip():
        more = "".join((' font-weight="bold"' if style["bold"] else "",
                        ' opacity="0.6"' if style["dim"] else "",
                        ' font-style="italic"' if style["slant"] else "",
                        ' text-decoration="underline"' if style["line"] else ""))
        yield (f'<text x="{x}" y="{y + SIZE}" fill="{fore}" textLength="{width * WIDTH}" '
               f'lengthAdjust="spacingAndGlyphs"{more}>{html.escape(text)}</text>')


def picture(screen, title):
    """The SVG of a screen; `title` says in words what it shows."""
    lines = screen.rstrip("\n").split("\n")
    style, parts, columns = dict(PLAIN), [], 80
    for row, line in enumerate(lines):
        found, style = pieces(line, style)
        for column, width, text, own in found:
            parts += draw(column, row, width, text, own)
            columns = max(columns, column + width)
    width, height = columns * WIDTH + 2 * EDGE, len(lines) * HEIGHT + 2 * EDGE
    return "\n".join((
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" '
        f'font-size="{SIZE}" xml:space="preserve">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>',
        *parts, "</svg>", ""))
