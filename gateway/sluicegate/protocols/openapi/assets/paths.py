"""The paths of volumes, models and skills (docs/interop.md, "OpenSharing")."""

from __future__ import annotations

from collections.abc import Iterator

from sluicegate.api.assets.models import ASSET_KINDS, AssetKind
from sluicegate.protocols.openapi import parameters as given
from sluicegate.protocols.openapi.assets.schemas import NUMBER
from sluicegate.protocols.openapi.operations import NAMED, SENT, item, operation
from sluicegate.protocols.openapi.responses import json_answer
from sluicegate.protocols.openapi.schemas import Schema, text

_SCHEMA = "/shares/{share}/schemas/{schema}"


def paths() -> dict[str, Schema]:
    """Path items, by paths relative to the protocol's prefix."""
    return dict(path for kind in ASSET_KINDS for path in _paths(kind))


def _paths(kind: AssetKind) -> Iterator[tuple[str, Schema]]:
    title = kind.title()
    names, one = ("share", "schema", kind), f"{_SCHEMA}/{kind}s/{{{kind}}}"
    details = operation(f"get{title}", f"Get {title}", json_answer(f"The {kind}.", title))
    yield f"{_SCHEMA}/{kind}s", item(given.SCHEMA, get=_pages(f"list{title}s", title))
    yield f"/shares/{{share}}/all-{kind}s", item(given.SHARE, get=_pages(f"listAll{title}s", title))
    yield one, item(names, get=details)
    if kind != "model":
        yield f"{one}/temporary-{kind}-credentials", item(names, post=_credentials(kind))
        return
    yield f"{one}/versions", item(names, get=_pages("listModelVersions", "ModelVersion"))
    version = given.in_path("version", NUMBER)
    alias = given.in_path("alias", text("An alias; it is case-insensitive.", minLength=1))
    ok = json_answer("The version.", "ModelVersion")
    by_number = operation("getModelVersion", "Get Model Version", ok)
    by_alias = operation("getModelVersionByAlias", "Get Model Version by Alias", ok)
    yield f"{one}/versions/{{version}}", _with(version, item(names, get=by_number))
    yield f"{one}/aliases/{{alias}}", _with(alias, item(names, get=by_alias))
    vend = item(names, post=_credentials(kind))
    yield f"{one}/versions/{{version}}/temporary-model-credentials", _with(version, vend)


def _pages(identifier: str, kind: str) -> Schema:
    summary = f"List {kind}s"
    ok = json_answer("One page.", f"{kind}Page")
    return operation(identifier, summary, ok, parameters=given.paged(), errors=NAMED)


def _credentials(kind: AssetKind) -> Schema:
    title = kind.title()
    return operation(
        f"generateTemporary{title}Credential",
        f"Generate Temporary {title} Credential",
        json_answer("Credentials for one directory.", "TemporaryTableCredentials"),
        errors=SENT,
        sends="AssetCredentialsRequest",
    )


def _with(parameter: Schema, path: Schema) -> Schema:
    return {**path, "parameters": [*path["parameters"], parameter]}
