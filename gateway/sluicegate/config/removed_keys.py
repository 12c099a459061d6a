"""Keys that became constants. They have no effect, and warn until the release after the next minor one.

Each model lists its own in `removed_keys`: the key, and a description of the constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from sluicegate.config.model_keys import alternatives, is_mapping, is_model
from sluicegate.config.yaml import Document, Location


def without_removed_keys(
    model: type[BaseModel], document: Document
) -> tuple[Document, tuple[str, ...]]:
    """The document without removed keys, and one warning with its position for each of them."""
    found: dict[Location, str] = {}
    data = _kept(model, document.data, (), found)
    warnings = (
        document.problem(place, _message(document, place, constant), key=True)
        for place, constant in found.items()
    )
    return replace(document, data=data), tuple(warnings)


def removed_keys_of(model: type[BaseModel]) -> dict[str, str]:
    """The removed keys of a model and its bases, with descriptions of the constants."""
    tables = [vars(each).get("removed_keys", {}) for each in reversed(model.__mro__)]
    return {key: constant for table in tables for key, constant in table.items()}


def _message(document: Document, place: Location, constant: str) -> str:
    key = ".".join(document.as_written(tuple(map(str, (*document.root, *place)))))
    return f"'{key}' was removed and has no effect, because the value is always {constant}: remove it"


def _kept(annotation: Any, value: Any, place: Location, found: dict[Location, str]) -> Any:
    """The value without removed keys, which are added to `found`."""
    for kind in alternatives(annotation):
        if isinstance(value, dict):
            value = _kept_section(kind, value, place, found)
        elif isinstance(value, list) and get_origin(kind) in (list, tuple):
            item = get_args(kind)[0]
            value = [_kept(item, each, (*place, index), found) for index, each in enumerate(value)]
    return value


def _kept_section(
    kind: Any, section: dict[str, Any], place: Location, found: dict[Location, str]
) -> dict[str, Any]:
    if is_mapping(kind):
        inner = get_args(kind)[1]
        return {name: _kept(inner, each, (*place, name), found) for name, each in section.items()}
    if not is_model(kind):
        return section
    removed = removed_keys_of(kind)
    found |= {(*place, key): removed[key] for key in section if key in removed}
    types: Mapping[str, Any] = {
        info.alias or name: info.annotation for name, info in kind.model_fields.items()
    }
    return {
        key: _kept(types.get(key), value, (*place, key), found)
        for key, value in section.items()
        if key not in removed
    }
