"""Draws the folders of the core and what each imports, from the sources alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

import sluicegate

CORE = Path(sluicegate.__file__).parent
_ROW, _TOP, _LEFT, _WIDTH = 30, 56, 190, 1180  # pixels
_STYLE = """\
  <style>
    text { font: 13px system-ui, sans-serif; fill: #1f2933; }
    .name { font-weight: 600; }
    .note { fill: #52606d; }
    rect { fill: #eef2f7; stroke: #cbd2d9; }
    path { fill: none; stroke: #627d98; stroke-width: 1.2; }
  </style>"""


def architecture_picture() -> str:
    """The drawing as SVG: a line for each folder and module at the top, arcs to what it imports.

    An arc is left out where other arcs lead to the same folder, and arrows go down only: a folder that
    is below imports nothing from above.
    """
    rooms = sorted(_rooms())
    imports = {room: _imports(room, frozenset(rooms)) for room in rooms}
    order = _from_top_to_bottom(imports)
    height = _TOP + _ROW * len(order) + 20
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        "  <title>Folders of gateway/sluicegate; each imports only what is below it</title>",
        _STYLE,
        '  <text x="20" y="28" class="note">gateway/sluicegate: an arc leads from a folder down to one '
        "that it imports; arcs that others imply are left out</text>",
    ]
    for number, room in enumerate(order):
        lines.extend(_line(number, room))
    arcs = [(room, below) for room in order for below in sorted(_direct(room, imports))]
    lines.extend(_arc(order.index(room), order.index(below)) for room, below in arcs)
    return "\n".join([*lines, "</svg>", ""])


def _rooms() -> Iterator[str]:
    for path in CORE.iterdir():
        if path.suffix == ".py" and path.stem != "__init__":
            yield path.stem
        elif (path / "__init__.py").exists():
            yield path.name


def _files(room: str) -> list[Path]:
    folder = CORE / room
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def _imports(room: str, rooms: frozenset[str]) -> frozenset[str]:
    """The other folders that one imports when it runs; what only type checkers see is left out."""
    found: set[str] = set()
    for file in _files(room):
        for module in _imported(ast.parse(file.read_text(encoding="utf-8"))):
            first, _, rest = module.partition(".")
            if first == "sluicegate" and rest:
                found.add(rest.partition(".")[0])
    return frozenset(found & rooms - {room})


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "sluicegate":
                yield from (f"sluicegate.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        yield from _imported(node)


def _from_top_to_bottom(imports: Mapping[str, frozenset[str]]) -> list[str]:
    """Folders in an order in which each imports only later ones."""
    order: list[str] = []
    left = dict(imports)
    while left:
        free = sorted(room for room in left if not any(room in below for below in left.values()))
        if not free:
            raise ValueError(f"these folders import each other: {sorted(left)}")
        order.append(free[0])
        del left[free[0]]
    return order


def _direct(room: str, imports: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """What a folder imports, without what one of these imports in turn."""
    implied: set[str] = set()
    waiting = list(imports[room])
    while waiting:
        below = imports[waiting.pop()]
        waiting.extend(below - implied)
        implied |= below
    return imports[room] - implied


def _line(number: int, room: str) -> Iterator[str]:
    files = _files(room)
    head = CORE / room / "__init__.py"
    doc = ast.get_docstring(ast.parse((head if head.exists() else files[0]).read_text("utf-8"))) or ""
    summary = doc.partition("\n")[0]
    middle = _TOP + _ROW * number
    yield f'  <rect x="{_LEFT}" y="{middle - 13}" width="150" height="24" rx="4"/>'
    yield f'  <text x="{_LEFT + 10}" y="{middle + 4}" class="name">{escape(room)}</text>'
    count = f"{len(files)} modules" if len(files) > 1 else ""
    yield f'  <text x="{_LEFT + 160}" y="{middle + 4}" class="note">{count}</text>'
    yield f'  <text x="{_LEFT + 245}" y="{middle + 4}">{escape(summary)}</text>'


def _arc(start: int, end: int) -> str:
    first, last = _TOP + _ROW * start, _TOP + _ROW * end - 1
    out = _LEFT - 14 * (end - start) - 6
    return (
        f'  <path d="M{_LEFT} {first} C{out} {first} {out} {last} {_LEFT} {last} m-6 -4 l6 4 l-6 4"/>'
    )
