"""A page of SVG: boxes, lines and text, with every label escaped."""

from xml.sax.saxutils import escape

FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
PHASE_COLOURS = ("#b9d3ea", "#7fb0d8", "#3f86bd", "#1f5a8c", "#e08a2e", "#b55d11")


class Svg:
    """Collects shapes on a white page, in pixels from the top left corner."""

    def __init__(self, width: float, height: float) -> None:
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONT}">',
            '<rect width="100%" height="100%" fill="white"/>',
        ]

    def line(
        self, x1: float, y1: float, x2: float, y2: float, *, colour: str, width: float = 1
    ) -> None:
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour}" stroke-width="{width:.2f}"/>'
        )

    def curve(
        self, x1: float, y1: float, x2: float, y2: float, *, colour: str, width: float, dash: bool
    ) -> None:
        """A line that leaves and arrives level."""
        middle = (x1 + x2) / 2
        dashes = ' stroke-dasharray="3 3"' if dash else ""
        self.parts.append(
            f'<path d="M{x1:.1f} {y1:.1f}C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} '
            f'{x2:.1f} {y2:.1f}" fill="none" stroke="{colour}" stroke-width="{width:.2f}"{dashes}/>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str,
        stroke: str = "none",
        thick: float = 1,
        round: float = 0,
        title: str = "",
    ) -> None:
        inside = f"<title>{escape(clean(title))}</title>" if title else ""
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{round}" fill="{fill}" stroke="{stroke}" stroke-width="{thick}">{inside}</rect>'
        )

    def text(
        self,
        x: float,
        y: float,
        label: str,
        *,
        size: float,
        colour: str = "#222",
        anchor: str = "start",
        bold: bool = False,
        limit: int = 200,
    ) -> None:
        label = clean(label)
        label = label if len(label) <= limit else label[: limit - 1] + "…"
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" '
            f'text-anchor="{anchor}"{weight}>{escape(label)}</text>'
        )

    def done(self) -> str:
        return "\n".join([*self.parts, "</svg>"]) + "\n"


def clean(label: str) -> str:
    """The label in one line, without the characters that XML cannot hold."""
    kept = (" " if c.isspace() else c for c in label if c.isspace() or c.isprintable())
    return "".join(kept)
