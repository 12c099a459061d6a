"""Reads, parses and validates policies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from sluicegate.api import ConfigurationError
from sluicegate_cedar.entities import SAMPLE

if TYPE_CHECKING:
    import cedarpy


_TOKEN: Final = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|;|[^\s";/]+|\S')


@dataclass(frozen=True, slots=True)
class Statement:
    """A policy in a text, and the number of its first line, from 1."""

    text: str
    line: int


def statements(text: str) -> Iterator[Statement]:
    """Yield the policies of a text, and what remains after the last semicolon."""
    start: int | None = None
    line, counted = 1, 0
    for token in _TOKEN.finditer(text):
        if token[0].startswith("//"):
            continue
        if start is None:
            start = token.start()
            line += text.count("\n", counted, start)
            counted = start
        if token[0] == ";":
            yield Statement(text[start : token.end()], line)
            start = None
    if start is not None:
        yield Statement(text[start:], line)


SCHEMA: Final = Path(__file__).with_name("sluicegate.cedarschema")
_LONGEST: Final = 4 << 20  # bytes of a file
_MOST_PROBLEMS: Final = 5
# Cedar numbers policies by their position.
_POLICY: Final = re.compile(r"`policy(\d+)`")


@dataclass(frozen=True)
class LoadedPolicies:
    """A valid set of policies."""

    policies: cedarpy.PolicySet
    positions: Sequence[str]

    @classmethod
    def read(cls, policy_files: Sequence[Path], schema_file: Path | None) -> Self:
        """Read and validate files. This blocks, so call it in a thread."""
        import cedarpy

        texts = {path: _text(path) for path in policy_files}
        positions: list[str] = []
        for path, text in texts.items():
            for statement in statements(text):
                positions.append(f"{path}:{statement.line}")
                _parsed(positions[-1], cedarpy.PolicySet.from_str, statement.text)
        everything = "\n".join(texts.values())
        found = _parsed(str(policy_files[0]), cedarpy.PolicySet.from_str, everything)
        loaded = cls(found, positions)
        if templates := found.templates():
            position = loaded._position(str(templates[0]["id"]))
            raise ConfigurationError(
                f"{position}: is a template, which the gateway does not link; write a policy without "
                "?principal and ?resource"
            )
        loaded._validate(everything, schema_file or SCHEMA)
        return loaded

    def located(self, text: str) -> str:
        """Replace Cedar's numbers of policies in a message with file and line."""

        def position(match: re.Match[str]) -> str:
            number = int(match[1])
            return self.positions[number] if number < len(self.positions) else match[0]

        return _POLICY.sub(position, text)

    def _position(self, id: str) -> str:
        return self.located(f"`{id}`").strip("`")

    def _validate(self, everything: str, schema_file: Path) -> None:
        import cedarpy

        text = _text(schema_file)
        is_json = schema_file.suffix == ".json"
        parse = cedarpy.Schema.from_json_str if is_json else cedarpy.Schema.from_str
        schema = _parsed(str(schema_file), parse, text)
        # A mistake in one policy is reported for each type of entity, in any order.
        found = cedarpy.validate_policies(everything, schema, release_gil=True).errors
        problems = {each.policy_id: each.error for each in sorted(found, key=str, reverse=True)}
        if problems:
            shown = [_problem(self._position(id), error) for id, error in sorted(problems.items())]
            more = f"; and {len(shown) - _MOST_PROBLEMS} more" if len(shown) > _MOST_PROBLEMS else ""
            raise ConfigurationError("; ".join(shown[:_MOST_PROBLEMS]) + more)
        _parsed(
            f"{schema_file}: does not describe the entities of the gateway",
            lambda entities: cedarpy.Entities.from_json_str(entities, schema),
            json.dumps(SAMPLE),
        )


def _problem(position: str, error: str) -> str:
    return f"{position}: {re.sub(r'^for policy `[^`]*`, ', '', error)}"


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST + 1)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > _LONGEST:
        raise ConfigurationError(f"{path}: has more than {_LONGEST} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: is not UTF-8 text") from error


def _parsed(where: str, parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise ConfigurationError(f"{where}: {error}") from error
