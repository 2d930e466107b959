"""A search tree as a picture: our own SVG, and Graphviz source."""

from dataclasses import dataclass, field

from halfmove.core.types import Plan
from halfmove.search.show.svg import Svg, clean
from halfmove.search.show.view import Names, View, check_shape, view

WIDE, HIGH = 168, 45  # of a card
ACROSS, DOWN = 70, 13  # between cards
HEAD, FOOT, SIDE = 20, 46, 20


@dataclass
class Card:
    """A node of the drawing: an action and what the search found out about it."""

    node: int | None  # None: nobody went there
    parent: int
    action: int
    depth: int
    children: list["Card"] = field(default_factory=list)
    hidden: int = 0  # children that are not drawn
    y: float = 0.0


def to_svg(
    plan: Plan,
    game: int = 0,
    depth: int = 3,
    top: int = 4,
    names: Names = str,
) -> str:
    """The `top` most visited actions of every node down to `depth`, as an SVG text.

    A card shows the visits, prior and Q of an action; at the root also the
    improved policy, as a number and as a bar. Lines are as thick as the share
    of visits; the action played has a strong border. `names` labels actions.
    """
    check_shape(depth, top)
    tree = view(plan, game)
    root = _cards(tree, depth, top)
    rows = _place(root, 0.0)
    levels = 1 + max((card.depth for card in _all(root)), default=0)
    svg = Svg(
        2 * SIDE + levels * WIDE + (levels - 1) * ACROSS,
        HEAD + max(rows, 1.0) * (HIGH + DOWN) + FOOT,
    )
    for card in _all(root):
        for child in card.children:
            _draw_edge(svg, tree, card, child)
    for card in _all(root):
        _draw_card(svg, tree, card, names)
    foot = HEAD + max(rows, 1.0) * (HIGH + DOWN) + 14
    svg.text(SIDE, foot, "N visits · P prior · Q value for the player who moves", size=11)
    last = "π′ improved policy (bar) · thickness of a line: share of visits · strong border: played"
    svg.text(SIDE, foot + 17, last, size=11)
    return svg.done()


def to_dot(plan: Plan, game: int = 0, depth: int = 3, top: int = 4, names: Names = str) -> str:
    """The same drawing as Graphviz source, for `dot -Tsvg`."""
    check_shape(depth, top)
    tree = view(plan, game)
    cards = list(_all(_cards(tree, depth, top)))
    number = {id(card): i for i, card in enumerate(cards)}
    lines = ["digraph search {", "  rankdir=LR; node [shape=box, style=rounded];"]
    for card in cards:
        name, visits, numbers = _labels(tree, card, names)
        label = "\\n".join(map(_quote, (name, " ".join([visits, *numbers]))))
        bold = ", penwidth=3" if _played(tree, card) else ""
        lines.append(f'  n{number[id(card)]} [label="{label}"{bold}];')
    for card in cards:
        for child in card.children:
            width = _thickness(tree, child)
            dash = ", style=dashed" if child.node is None else ""
            ends = f"n{number[id(card)]} -> n{number[id(child)]}"
            lines.append(f"  {ends} [penwidth={width:.2f}{dash}];")
    return "\n".join([*lines, "}"]) + "\n"


def _cards(tree: View, depth: int, top: int) -> Card:
    root = Card(node=0, parent=-1, action=-1, depth=0)
    waiting = [root]
    while waiting:
        card = waiting.pop()
        if card.node is None or card.depth == depth:
            continue
        actions = tree.children(card.node)
        card.hidden = max(0, len(actions) - top)
        for a in actions[:top]:
            card.children.append(Card(tree.at(card.node, a), card.node, a, card.depth + 1))
        waiting += card.children
    return root


def _all(card: Card) -> list[Card]:
    """The card and everything below it, parents first."""
    found, waiting = [], [card]
    while waiting:
        found.append(waiting.pop())
        waiting += reversed(found[-1].children)
    return found


def _place(root: Card, row: float) -> float:
    """Gives every card without children a row of its own, and parents their middle."""
    for card in _all(root):
        if not card.children:
            card.y, row = row, row + 1
    for card in reversed(_all(root)):
        if card.children:
            card.y = (card.children[0].y + card.children[-1].y) / 2
    return row


def _corner(card: Card) -> tuple[float, float]:
    return SIDE + card.depth * (WIDE + ACROSS), HEAD + card.y * (HIGH + DOWN)


def _share(tree: View, card: Card) -> float:
    """Visits of the card's action as a share of all simulations."""
    return float(tree.visits[card.parent, card.action]) / max(tree.simulations, 1)


def _thickness(tree: View, card: Card) -> float:
    return 1 + 11 * _share(tree, card)


def _played(tree: View, card: Card) -> bool:
    return card.depth == 1 and card.action == tree.chosen


def _labels(tree: View, card: Card, names: Names) -> tuple[str, str, list[str]]:
    """What a card says: its name, its visits, and the other numbers."""
    if card.depth == 0:
        value = f"value {tree.value[0]:+.2f} (raw {tree.raw_value[0]:+.2f})"
        return "root", f"N {tree.simulations}", [value]
    at = (card.parent, card.action)
    q = "–" if card.node is None else f"{tree.q[at]:+.2f}"
    numbers = [f"P {tree.prior[at]:.2f}", f"Q {q}"]
    if card.depth == 1:
        numbers.append(f"π′ {tree.policy[card.action]:.2f}")
    return names(card.action), f"N {tree.visits[at]}", numbers


def _draw_edge(svg: Svg, tree: View, card: Card, child: Card) -> None:
    (x1, y1), (x2, y2) = _corner(card), _corner(child)
    svg.curve(
        x1 + WIDE, y1 + HIGH / 2, x2, y2 + HIGH / 2,
        colour="#9db7cc", width=_thickness(tree, child), dash=child.node is None,
    )  # fmt: skip


def _draw_card(svg: Svg, tree: View, card: Card, names: Names) -> None:
    x, y = _corner(card)
    played = _played(tree, card)
    name, visits, numbers = _labels(tree, card, names)
    fill = "#f4f4f4" if card.node is None else "#eaf2f9"
    border, thick = ("#d06a12", 2.5) if played else ("#6b8ba4", 1)
    svg.box(x, y, WIDE, HIGH, fill=fill, stroke=border, thick=thick, round=6, title=name)
    if card.depth == 1:
        share = float(tree.policy[card.action])
        svg.box(x + 8, y + HIGH - 7, (WIDE - 16) * share, 3, fill="#d06a12")
    svg.text(x + 8, y + 16, name, size=13, bold=True, limit=12)
    svg.text(x + WIDE - 8, y + 16, visits, size=12, anchor="end")
    for at, number in zip((8, 54, 112), numbers, strict=False):
        svg.text(x + at, y + 32, number, size=11, colour="#444")
    if card.hidden:
        svg.text(x + 2, y + HIGH + 11, f"{card.hidden} more not drawn", size=9, colour="#777")


def _quote(label: str) -> str:
    """The label inside a quoted Graphviz string."""
    return clean(label).replace("\\", "\\\\").replace('"', '\\"')
