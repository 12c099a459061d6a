"""The configuration reference, from the models that check the configuration."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from pydantic import BaseModel, BeforeValidator, SecretStr
from pydantic.fields import FieldInfo

from sluicegate._util.units import format_duration, parse_duration, parse_size
from sluicegate.api import AuthenticatorType, CatalogType, PolicyType, StorageType
from sluicegate.config import PluginSection, Settings
from sluicegate.plugins import Registry

IN_TREE = ("paths", "unity", "iceberg", "azure", "cedar", "file", "gcs", "mtls", "opa", "r2", "s3")
HEADER = "| key | value | default | |\n|---|---|---|---|"
WORDS = {
    **{str: "text", int: "number", float: "number", bool: "true or false"},
    **{Path: "path", SecretStr: "secret"},
}
SUFFIXES: Mapping[Any, str] = {tuple: "[]", dict: ".NAME"}
# Fewer rows are read faster than a reference is followed.
_WORTH_A_REFERENCE = 3
UNITS = {parse_duration: "duration", parse_size: "size"}


def configuration_page() -> str:
    """The page's Markdown."""
    text = "\n".join(_lines(Registry.load(IN_TREE))) + "\n"
    described: dict[str, list[str]] = {}
    return "".join(_described_once(part, described) for part in re.split(r"(?m)^(?=## )", text))


def _described_once(section: str, described: dict[str, list[str]]) -> str:
    """A section without the rows of an earlier one, to which it refers instead."""
    title, _, _ = section.partition("\n")
    rows = [
        line for line in section.splitlines() if line.startswith("| `") and "| section |" not in line
    ]
    same = {earlier: [row for row in rows if row in known] for earlier, known in described.items()}
    described[title] = rows
    earlier = max(same, key=lambda each: len(same[each]), default="")
    if len(same.get(earlier, ())) < _WORTH_A_REFERENCE:
        return section
    for row in same[earlier]:
        section = section.replace(f"{row}\n", "")
    keys = ", ".join(row.split(" ")[1] for row in same[earlier])
    anchor = re.sub(r"[^\w\- ]", "", earlier.removeprefix("## ")).replace(" ", "-").lower()
    reference = f"{keys}: see [{earlier.removeprefix('## ')}](#{anchor}).\n\n{HEADER}"
    return section.replace(HEADER, reference).replace(f"{HEADER}\n\n", "")


def _lines(registry: Registry) -> Iterator[str]:
    yield from ("# Configuration", "", "<!-- Made by docs/generate.py: do not edit. -->", "")
    yield from (inspect.cleandoc(Settings.__doc__ or ""), "")
    yield from (
        "Durations are written `90d`, `24h`, `15m`, `30s` or as a sum, `1h30m`; sizes `256MB`, `1GiB`.",
        "`sluicegate config check FILE` reports problems with their lines; `sluicegate config schema`",
        "prints this page as a JSON Schema for editors.",
        "",
    )
    models = {name: _model(info) for name, info in Settings.model_fields.items()}
    plain = {name: info for name, info in Settings.model_fields.items() if models[name] is None}
    yield from ("## Top level", "", *_table(plain), "")
    for name, model in models.items():
        if model is None:
            continue
        yield from _section(name, model)
    plugged: dict[str, Mapping[str, CatalogType | StorageType | AuthenticatorType | PolicyType]] = {
        "catalogs": registry.types.catalogs,
        "storage": registry.types.storage,
        "authentication.authenticators": registry.types.authenticators,
        "policies": registry.types.policies,
    }
    for title, known in plugged.items():
        for name, kind in known.items():
            yield from (
                f"## `{title}`, `type: {name}`",
                "",
                inspect.cleandoc(kind.config.__doc__ or ""),
                "",
            )
            yield from (*_table(kind.config.model_fields), "")
            yield from _nested(f"{title}, type: {name}", kind.config)


def _section(name: str, model: type[BaseModel]) -> Iterator[str]:
    """A section, and after it the sections that it holds: by key, in lists, or by names."""
    yield from (f"## `{name}`", "", inspect.cleandoc(model.__doc__ or ""), "")
    yield from (*_table(model.model_fields), "")
    for key, info in model.model_fields.items():
        suffix = SUFFIXES.get(typing.get_origin(info.annotation), "")
        for inner in _models_in(info.annotation):
            if inner is not PluginSection:
                yield from _section(f"{name}.{key}{suffix}{_kind(inner)}", inner)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that a value, or the items of a list or mapping, can have."""
    if _is_model(annotation):
        yield annotation
    for inner in typing.get_args(annotation):
        if _is_model(inner) or typing.get_origin(inner) is not None:
            yield from _models_in(inner)


def _kind(model: type[BaseModel]) -> str:
    """What distinguishes a model from others of a list: `, type: file`."""
    literals = typing.get_args(info.annotation) if (info := model.model_fields.get("type")) else ()
    return f", type: {literals[0]}" if literals else ""


def _nested(title: str, model: type[BaseModel]) -> Iterator[str]:
    """The sections that a plugin's own configuration holds."""
    for key, info in model.model_fields.items():
        for inner in (info.annotation, *typing.get_args(info.annotation)):
            if _is_model(inner):
                yield from _section(f"{title}: {key}", inner)


def _table(fields: Mapping[str, FieldInfo]) -> Iterator[str]:
    yield HEADER
    for name, info in fields.items():
        cells = (f"`{name}`", _value(info), _default(info), info.description or "")
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _model(info: FieldInfo) -> type[BaseModel] | None:
    """The model of a section, which may be left out."""
    kinds = (info.annotation, *typing.get_args(info.annotation))
    if typing.get_origin(info.annotation) not in (None, types.UnionType, typing.Union):
        return None
    return next((kind for kind in kinds if _is_model(kind) and kind is not PluginSection), None)


def _is_model(kind: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _value(info: FieldInfo) -> str:
    return _unit(info.metadata) or _words(info.annotation)


def _unit(metadata: list[Any]) -> str | None:
    functions = [mark.func for mark in metadata if isinstance(mark, BeforeValidator)]
    return next((UNITS[function] for function in functions if function in UNITS), None)


def _words(kind: Any) -> str:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _unit(list(arguments[1:])) or _words(arguments[0])
    if origin is typing.Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        kinds = [_words(each) for each in arguments if each is not type(None)]
        return " or ".join(dict.fromkeys(kinds))
    if origin in (tuple, list):
        return f"list of {_words(arguments[0])}"
    if origin is not None:
        return f"mapping of {_words(arguments[1])}"
    return "section" if _is_model(kind) else WORDS[kind]


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True, validated_data={})
    if isinstance(info.json_schema_extra, dict) and "default" in info.json_schema_extra:
        value = info.json_schema_extra["default"]
    if value is None or isinstance(value, BaseModel) or value in ((), [], {}):
        return ""
    if isinstance(value, tuple) and isinstance(value[0], BaseModel):
        return ""  # the description explains it
    unit = _unit(info.metadata)
    if unit == "duration":
        return f"`{format_duration(value)}`"
    if unit == "size":
        return f"`{_size(value)}`"
    return f"`{', '.join(value) if isinstance(value, tuple) else value}`"


def _size(value: int) -> str:
    for suffix, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if value and value % factor == 0:
            return f"{value // factor}{suffix}"
    return str(value)
