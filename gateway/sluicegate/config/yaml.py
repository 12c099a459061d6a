"""Reads YAML files with the position of every key, and reports errors as `file:line:column: message`.

The version is YAML 1.2, in which `no` and `on` are strings. Messages never contain values, because a
value can be a secret.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.constructor import ConstructorError, DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from sluicegate.api.errors import ConfigurationError
from sluicegate.config.large_yaml import Mark, Position, read_marked
from sluicegate.config.model_keys import known_keys

Location = tuple[str | int, ...]
_Model = TypeVar("_Model", bound=BaseModel)

# Characters of a text that ruamel reads in a quarter of a second.
_LARGE = 65_536
_SHOWN_NAMES = 20
# Of a request body, because each suggestion of a name takes time.
_MOST_PROBLEMS = 20

_EXPECTED = {
    "model_type": "expected a mapping",
    "dict_type": "expected a mapping",
    "list_type": "expected a list",
    "tuple_type": "expected a list",
    "string_type": "expected a string (put it in quotes)",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "int_type": "expected an integer",
    "int_parsing": "expected an integer",
}


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML file, or a section of one: its data, and the position of each key and value.

    Attributes:
        path: The file.
        data: Plain dictionaries, lists and scalars; an empty file is an empty dictionary.
        root: Location of this section in the file; empty for the entire file.
        written: The keys that the file contains in place of those of `data`, for sections that moved.
        names: Further keys that the file can contain, for hints.
    """

    path: Path
    data: Any = field(repr=False)
    marks: Mapping[tuple[str, ...], Mark] = field(repr=False)
    root: Location = ()
    written: Mapping[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    names: Sequence[str] = ()

    def position(self, location: Sequence[str | int], *, key: bool = False) -> Position:
        """Line and column, from 1, of a value or its key, or of the nearest enclosing value."""
        mark = self.marks[self.path_to(location)]
        return mark.key if key else mark.value

    def problem(self, location: Sequence[str | int], message: str, *, key: bool = False) -> str:
        """A line `file:line:column: message` about a value, or about its key."""
        line, column = self.position(location, key=key)
        return f"{self.path}:{line}:{column}: {message}"

    def section(self, *location: str | int) -> Document:
        """The section of the document at a location, which must exist."""
        data = self.data
        for part in location:
            data = data[part]
        return replace(self, data=data, root=(*self.root, *location))

    def as_written(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The keys of a location as the file contains them."""
        for moved, written in self.written.items():
            if names[: len(moved)] == moved:
                return (*written, *names[len(moved) :])
        return names

    def path_to(self, location: Sequence[str | int]) -> tuple[str, ...]:
        """The part of a location that exists in the file, without union tags that pydantic adds."""
        found: tuple[str, ...] = tuple(str(part) for part in self.root)
        for part in location:
            deeper = (*found, str(part))
            if deeper in self.marks:
                found = deeper
        return found


class JsonDocument(Document):
    """Data without positions, such as a request body. Messages start with the path of the value.

    Args:
        data: Dictionaries, lists and scalars.
    """

    def __init__(self, data: Any) -> None:
        super().__init__(Path(), data, {})

    def position(self, location: Sequence[str | int], *, key: bool = False) -> Position:
        """The same for all values."""
        return 0, 0

    def problem(self, location: Sequence[str | int], message: str, *, key: bool = False) -> str:
        """A line `path: message` about a value; the message only, if it contains the path already."""
        where = ".".join(self.path_to(location))
        return message if key or message.startswith(where) else f"{where}: {message}"

    def path_to(self, location: Sequence[str | int]) -> tuple[str, ...]:
        """The part of a location that exists in the data, without union tags that pydantic adds."""
        found, data = [], self.data
        for part in location:
            try:
                data = data[part]
            except (KeyError, IndexError, TypeError):
                continue
            found.append(str(part))
        return tuple(found)


def read_document(path: Path) -> Document:
    """Read a YAML file.

    Raises:
        ConfigurationError: The file cannot be read, is not valid YAML, or contains a key twice.
    """
    return parse_document(read_text(path), path)


def read_text(path: Path) -> str:
    """Read a text file.

    Raises:
        ConfigurationError: The file cannot be read, or is not UTF-8 text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: is not UTF-8 text") from None


def parse_document(text: str, path: Path, *, duplicates: list[str] | None = None) -> Document:
    """Parse YAML text.

    Args:
        text: The text.
        path: For messages.
        duplicates: Receives a line for each key that occurs twice in a section. By default, the first
            one is an error.

    Raises:
        ConfigurationError: The text is not valid YAML, or contains a key twice.
    """
    if len(text) >= _LARGE and (large := read_marked(text)) is not None:
        return Document(path, large.data, large.marks)
    yaml = YAML(typ="safe", pure=True)
    yaml.allow_duplicate_keys = duplicates is not None
    try:
        node = yaml.compose(text)
        if node is None:
            return Document(path, {}, {(): Mark((1, 1), (1, 1))})
        marked = list(_walk(node, (), _position(node), ()))
        marks = dict(reversed(marked))  # of a key that occurs twice, the first counts
        if duplicates is not None:
            duplicates.extend(_repeated_keys(node, path))
        data = yaml.constructor.construct_document(node)
    except DuplicateKeyError as error:
        raise ConfigurationError(_broken(path, error, _duplicate(error))) from None
    except MarkedYAMLError as error:
        raise ConfigurationError(_broken(path, error, error.problem or "is not valid YAML")) from None
    except (YAMLError, ValueError) as error:
        raise ConfigurationError(f"{path}: is not valid YAML ({type(error).__name__})") from None
    return Document(path, data, marks)


def validate(model: type[_Model], document: Document) -> _Model:
    """Validate a document, and return it as an instance of a model.

    Raises:
        ConfigurationError: One line `file:line:column: message` for each problem.
    """
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        raise ConfigurationError(explain(error, document, model)) from None


def explain(
    error: ValidationError,
    document: Document,
    model: type[BaseModel],
    *,
    about: Callable[[Location], bool] = lambda _: True,
) -> str:
    """One line `file:line:column: message` for each validation error, in the order of the file.

    Args:
        error: The errors.
        document: The document that was validated.
        model: The model.
        about: Selects errors by the location that pydantic reports.
    """
    found = error.errors(include_url=False, include_input=False, include_context=False)
    if isinstance(document, JsonDocument):
        found = found[:_MOST_PROBLEMS]
    lines = [
        (_place(document, problem), _line(document, model, problem))
        for problem in found
        if about(problem["loc"])
    ]
    return "\n".join(line for _, line in sorted(lines))


def nearest(name: str, known: Sequence[str]) -> str:
    """A hint to append to a message about an unknown name: the closest known name, or the first few."""
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean '{close[0]}'?"
    shown = [*known[:_SHOWN_NAMES], *(["…"] if len(known) > _SHOWN_NAMES else [])]
    return f"; known: {', '.join(shown)}" if known else ""


def _is_about_key(problem: ErrorDetails) -> bool:
    return problem["type"] == "extra_forbidden" or problem["loc"][-1:] == ("[key]",)


def _place(document: Document, problem: ErrorDetails) -> Position:
    return document.position(problem["loc"], key=_is_about_key(problem))


def _line(document: Document, model: type[BaseModel], problem: ErrorDetails) -> str:
    location = problem["loc"]
    names = document.path_to(location)
    if problem["type"] == "extra_forbidden" and names[-1:] == (str(location[-1]),):
        names = names[:-1]
    where = f"{'.'.join(document.as_written(names))}: " if names else ""
    is_at_top = len(location) == 1 and not document.root
    message = _message(model, problem, document.names if is_at_top else ())
    return document.problem(location, where + message, key=_is_about_key(problem))


def _message(model: type[BaseModel], problem: ErrorDetails, more: Sequence[str]) -> str:
    kind, location = problem["type"], problem["loc"]
    if kind == "extra_forbidden":
        unknown, known = str(location[-1]), known_keys(model, location[:-1])
        return f"unknown key '{unknown}'" + nearest(unknown, sorted({*known, *more}))
    if kind == "missing":
        return f"'{location[-1]}' is missing"
    text = _EXPECTED.get(kind) or problem["msg"].removeprefix("Value error, ")
    return text[:1].lower() + text[1:]


def _broken(path: Path, error: MarkedYAMLError, message: str) -> str:
    mark = error.problem_mark or error.context_mark
    where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
    return f"{where}: {message}"


def _duplicate(error: DuplicateKeyError) -> str:
    # The library's message contains both values, which can be secrets.
    words = (error.problem or "").split('"')
    return f"the key '{words[1]}' occurs twice" if len(words) > 1 else "a key occurs twice"


def _repeated_keys(node: Node, path: Path) -> Iterator[str]:
    if isinstance(node, MappingNode):
        seen: set[str] = set()
        for name, value in node.value:
            if str(name.value) in seen:
                line, column = _position(name)
                yield f"{path}:{line}:{column}: the key '{name.value}' occurs twice"
            seen.add(str(name.value))
            yield from _repeated_keys(value, path)
    elif isinstance(node, SequenceNode):
        for item in node.value:
            yield from _repeated_keys(item, path)


def _position(node: Node) -> Position:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _walk(
    node: Node, location: tuple[str, ...], key: Position, around: tuple[int, ...]
) -> Iterator[tuple[tuple[str, ...], Mark]]:
    if id(node) in around:
        raise ConstructorError(problem="an alias contains itself", problem_mark=node.start_mark)
    yield location, Mark(key, _position(node))
    inner = (*around, id(node))
    if isinstance(node, MappingNode):
        for name, value in node.value:
            yield from _walk(value, (*location, str(name.value)), _position(name), inner)
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.value):
            yield from _walk(item, (*location, str(index)), _position(item), inner)
