"""Reads `delta-sharing-server.yaml`, which is input of unknown origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.reference_server.model import ServerConfig
from sluicegate.config.model_keys import known_keys
from sluicegate.config.yaml import Document, Location, nearest, parse_document, validate
from sluicegate.database.names import name_key

LARGEST = 2_000_000
"""Bytes of a file; enough for 15,000 tables."""

_DEEPEST = 16
_LONGEST_KEY = 64


@dataclass(frozen=True, slots=True)
class ReferenceConfig:
    """A checked configuration of the reference server."""

    config: ServerConfig
    document: Document
    unknown: tuple[tuple[Location, str], ...]


def read_reference_config(path: Path) -> ReferenceConfig:
    """Read the file."""
    document = parse_document(_text(path), path)
    config = validate(ServerConfig, document)
    problems = list(_repeated(config, document))
    if problems:
        raise ConfigurationError("\n".join(problems))
    return ReferenceConfig(config, document, tuple(_unknown(config, ())))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ConfigurationError(f"{path}: is larger than {LARGEST} bytes")
        text = content.decode()
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: is not UTF-8 text") from None
    _check_shape(text, path)
    return text


def _check_shape(text: str, path: Path) -> None:
    """Refuse what would expand or nest without limit. Events are parsed without recursion."""
    depth = 0
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            if isinstance(event, AliasEvent):
                where = f"{path}:{event.start_mark.line + 1}"
                raise ConfigurationError(f"{where}: aliases are not supported: write the value again")
            if isinstance(event, MappingStartEvent | SequenceStartEvent):
                depth += 1
            elif isinstance(event, MappingEndEvent | SequenceEndEvent):
                depth -= 1
            if depth > _DEEPEST:
                raise ConfigurationError(f"{path}: is nested more than {_DEEPEST} levels deep")
    except MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigurationError(f"{path}{line}: is not valid YAML") from None
    except (YAMLError, ValueError):
        raise ConfigurationError(f"{path}: is not valid YAML") from None


def _repeated(config: ServerConfig, document: Document) -> Iterator[str]:
    yield from _same_names(document, ("shares",), (share.name for share in config.shares))
    for s, share in enumerate(config.shares):
        schemas: Location = ("shares", s, "schemas")
        yield from _same_names(document, schemas, (schema.name for schema in share.schemas))
        for i, schema in enumerate(share.schemas):
            tables: Location = (*schemas, i, "tables")
            yield from _same_names(document, tables, (table.name for table in schema.tables))


def _same_names(document: Document, place: Location, names: Iterable[str]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for index, name in enumerate(names):
        first = seen.setdefault(name_key(name), name)
        if first is not name:
            message = f"'{name}' and '{first}' are the same name; rename or merge one of them"
            yield document.problem((*place, index, "name"), message)


def _unknown(section: BaseModel, location: Location) -> Iterator[tuple[Location, str]]:
    for key in section.model_extra or {}:
        yield (*location, key), nearest(key[:_LONGEST_KEY], known_keys(type(section), ()))
    for name, info in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            yield from _unknown(value, (*location, info.alias or name))
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                if isinstance(item, BaseModel):
                    yield from _unknown(item, (*location, info.alias or name, index))
