"""The JSON Schema of a configuration file, for editors and for checks before a roll-out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from sluicegate.api import (
    AuthenticatorType,
    CatalogType,
    PluginConfig,
    PolicyType,
    StorageType,
    TaskExecutorType,
)
from sluicegate.config import AuthenticationSettings, DelegationSettings, PluginSection, Settings
from sluicegate.plugins.hooks import Registry

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DEFINITION = "#/$defs/"
_MODE: JsonSchemaMode = "validation"
_SCALARS = {"string", "integer", "number", "boolean"}
_REFERENCE = "Reference"
_TO_REFERENCE = {"$ref": _DEFINITION + _REFERENCE}
_REFERENCE_SCHEMA = {
    "description": "The value is taken from an environment variable or from a file.",
    "oneOf": [
        {
            "type": "object",
            "properties": {kind: {"type": "string"}},
            "required": [kind],
            "additionalProperties": False,
        }
        for kind in ("env", "file")
    ],
}


Schema = dict[str, Any]
Definitions = dict[str, Schema]


class _PluginSettings(NamedTuple):
    """The model of a plugin's own settings."""

    name: str
    config: type[PluginConfig]


_Type = AuthenticatorType | CatalogType | PolicyType | StorageType | TaskExecutorType | _PluginSettings


def configuration_schema(registries: Iterable[Registry]) -> Schema:
    """The schema of the configuration file, with the sections of the plugins in these registries.

    `type` selects the schema of a plugin's section. Each scalar can also be a reference to the
    environment or to a file.
    """
    loaded = list(registries)
    catalogs: list[_Type] = [known for registry in loaded for known in registry.types.catalogs.values()]
    storage: list[_Type] = [known for registry in loaded for known in registry.types.storage.values()]
    authenticators: list[_Type] = [
        known for registry in loaded for known in registry.types.authenticators.values()
    ]
    policies: list[_Type] = [known for registry in loaded for known in registry.types.policies.values()]
    executors: list[_Type] = [
        known for registry in loaded for known in registry.types.task_executors.values()
    ]
    settings: list[_Type] = [
        _PluginSettings(name, model)
        for registry in loaded
        for name, model in registry.types.settings.items()
    ]
    plugged = (*catalogs, *storage, *authenticators, *policies, *executors, *settings)
    models: list[type[BaseModel]] = [
        Settings,
        AuthenticationSettings,
        DelegationSettings,
        *(known.config for known in plugged),
    ]
    targets, collected = models_json_schema([(model, _MODE) for model in dict.fromkeys(models)])
    definitions = {
        name: _with_references(definition)
        for name, definition in collected["$defs"].items()
        if name != PluginSection.__name__
    }
    names = {model: str(targets[model, _MODE]["$ref"]).removeprefix(_DEFINITION) for model in models}
    root = definitions.pop(names[Settings])
    catalogs_schema = root["properties"]["catalogs"]
    catalogs_schema["patternProperties"] = dict.fromkeys(
        catalogs_schema["patternProperties"], _sections("catalog", catalogs, names, definitions)
    )
    catalogs_schema["additionalProperties"] = False
    root["properties"]["storage"]["items"] = _sections("storage", storage, names, definitions)
    root["properties"]["policies"]["items"] = _sections("policy", policies, names, definitions)
    root["properties"]["plugins"]["items"] = _enabled_plugins(settings, names, definitions)
    root["properties"] |= _plugin_sections(loaded, names)
    section = definitions[names[AuthenticationSettings]]["properties"]["authenticators"]
    section["items"] = _sections("authenticator", authenticators, names, definitions)
    section = definitions[names[DelegationSettings]]["properties"]["executors"]
    section["items"] = _sections("executor", executors, names, definitions)
    for name in {names[known.config] for known in plugged}:
        if repr(_DEFINITION + name) not in repr((root, definitions)):
            del definitions[name]
    definitions[_REFERENCE] = _REFERENCE_SCHEMA
    return {"$schema": _DIALECT, **root, "$defs": definitions}


def _sections(
    kind: str,
    types: Sequence[_Type],
    names: Mapping[type[BaseModel], str],
    definitions: Definitions,
) -> Schema:
    """One of the plugins' sections, each defined as its model with `type` added.

    Models may be shared by types, and pydantic defines models of equal schemas once.
    """
    for known in types:
        model = definitions[names[known.config]]
        definitions[f"{kind}-{known.name}"] = model | {
            "properties": {"type": {"const": known.name}, **model.get("properties", {})},
            "required": ["type", *model.get("required", ())],
        }
    alternatives = [{"$ref": f"{_DEFINITION}{kind}-{known.name}"} for known in types]
    return {"oneOf": alternatives} if alternatives else {"not": {}}


def _enabled_plugins(
    settings: Sequence[_Type], names: Mapping[type[BaseModel], str], definitions: Definitions
) -> Schema:
    """The name of a plugin, alone or as `type` together with the plugin's settings."""
    alone: Schema = {
        "type": "object",
        "properties": {"type": {"type": "string"}},
        "required": ["type"],
        "additionalProperties": False,
    }
    sections = _sections("plugin", settings, names, definitions).get("oneOf", [])
    return {"anyOf": [{"type": "string"}, _TO_REFERENCE, alone, *sections]}


def _plugin_sections(
    registries: Iterable[Registry], names: Mapping[type[BaseModel], str]
) -> dict[str, Schema]:
    """The sections with the names of plugins: with settings, or empty."""
    found: dict[str, Schema] = {}
    for registry in registries:
        models = registry.types.settings
        for plugin in registry.plugins:
            model = models.get(plugin.name)
            own: Schema = {"type": "object", "additionalProperties": False}
            if model is not None:
                own = {"$ref": _DEFINITION + names[model]}
            found[plugin.name] = {"anyOf": [own, {"type": "null"}]}
    return found


def _with_references(schema: Schema) -> Schema:
    """The schema with `{env: NAME}` and `{file: PATH}` allowed in place of each scalar."""
    if schema.get("type") == "object" or "properties" in schema:
        children = ("properties", "patternProperties")
        found = {
            key: {name: _with_references(inner) for name, inner in schema[key].items()}
            for key in children
            if key in schema
        }
        values = schema.get("additionalProperties")
        if isinstance(values, dict):
            found["additionalProperties"] = _with_references(values)
        return schema | found
    if "items" in schema:
        return schema | {"items": _with_references(schema["items"])}
    if "anyOf" in schema:
        alternatives = [inner for inner in schema["anyOf"] if inner.get("type") != "array"]
        return schema | {"anyOf": [*schema["anyOf"], *([_TO_REFERENCE] if alternatives else [])]}
    if _is_scalar(schema):
        shown: Schema = {
            key: schema[key] for key in ("title", "description", "default") if key in schema
        }
        value = {key: inner for key, inner in schema.items() if key not in shown}
        return {**shown, "anyOf": [value, _TO_REFERENCE]}
    return schema


def _is_scalar(schema: Schema) -> bool:
    kinds = schema.get("type", ())
    return bool({kinds} & _SCALARS if isinstance(kinds, str) else _SCALARS & set(kinds))
