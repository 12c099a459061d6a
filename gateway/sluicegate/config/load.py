"""Reads a configuration file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from sluicegate.api.errors import ConfigurationError
from sluicegate.config.deprecated_keys import with_current_keys, without_removed_keys
from sluicegate.config.model import PLUGIN_GROUP
from sluicegate.config.references import resolve_references
from sluicegate.config.secrets import exposed_secrets
from sluicegate.config.settings import Settings
from sluicegate.config.yaml import Document, read_document, validate

_LIST = "plugins"


def with_plugin_sections(document: Document, problems: list[str] | None = None) -> Document:
    """The document with each section of an installed plugin as an entry of `plugins:`.

    Values keep their positions, so that later messages name the lines that the operator wrote.

    Args:
        document: The document.
        problems: Gets the problems, instead of an error. Their sections become entries without values.

    Raises:
        ConfigurationError: Such a section is neither empty nor a mapping, or has a key `type`.
    """
    data = document.data
    if not isinstance(data, dict):
        return document
    unknown = [key for key in data if isinstance(key, str) and key not in Settings.model_fields]
    installed = _installed() if unknown else ()
    document = replace(document, names=sorted(installed))
    sections = [key for key in unknown if key in installed]
    listed = data.get(_LIST) or []
    if not sections or not isinstance(listed, list):
        return document
    wrong = {name: problem for name in sections if (problem := _problem(data[name]))}
    lines = [document.problem((name,), problem) for name, problem in wrong.items()]
    if problems is not None:
        problems.extend(lines)
        document = replace(document, data={**data, **dict.fromkeys(wrong)})
    elif lines:
        raise ConfigurationError("\n".join(lines))
    return _moved(document, sections, listed)


def _moved(document: Document, sections: Collection[str], listed: list[Any]) -> Document:
    marks, entries = dict(document.marks), [*listed]
    written: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name in sections:
        mark, entry = marks[name,], (_LIST, str(len(entries)))
        marks.setdefault((_LIST,), mark)
        for place in [each for each in marks if each[0:1] == (name,)]:
            marks[(*entry, *place[1:])] = marks.pop(place)
        if document.data[name] is None:  # its position is that of what follows
            marks[entry] = mark._replace(value=mark.key)
        written[entry] = (name,)
        entries.append({"type": name, **(document.data[name] or {})})
    kept = {key: value for key, value in document.data.items() if key not in sections}
    return replace(document, data={**kept, _LIST: entries}, marks=marks, written=written)


def _problem(section: object) -> str | None:
    if section is None:
        return None
    if not isinstance(section, Mapping):
        return "expected a mapping"
    return "the section of a plugin has no key 'type'" if "type" in section else None


def _installed() -> frozenset[str]:
    return frozenset(each.name for each in entry_points(group=PLUGIN_GROUP))


def load_settings(path: Path) -> Settings:
    """Read `gateway.yaml`: resolve references, check every key, reject exposed secrets.

    `sluicegate.plugins.configure` checks the sections of plugins after it has loaded them.

    Raises:
        ConfigurationError: One line `file:line:column: message` for each problem.
    """
    document, renamed = with_current_keys(with_plugin_sections(read_document(path)))
    document, removed = without_removed_keys(Settings, document)
    source = replace(resolve_references(document), warnings=(*renamed, *removed))
    settings = validate(Settings, source.document)
    exposed = exposed_secrets(settings, source)
    if exposed:
        raise ConfigurationError("\n".join(exposed))
    return settings.read_from(source)
