"""The reference of the values, errors and helpers of `sluicegate.api`, from their docstrings."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from generators.hooks import asynchronous, document, own_members, signature
from sluicegate import api, formats
from sluicegate._util import units

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Tables and shares": (
        *("CatalogTable", "ListedTable", "TablePage", "CatalogCommit", "ObjectDirectory"),
        *("Share", "Schema", "SharedTable", "SharedSchemaSource", "SharedCatalogSource"),
        *("SharedKind", "AccessMode", "Principal", "Event"),
    ),
    "Volumes, models and skills": (
        *("CatalogAsset", "ModelVersion", "ListedAsset", "AssetPage", "SharedAsset"),
        *("AssetKind", "ASSET_KINDS", "VersionStatus"),
    ),
    "Configuration": (
        *("PluginConfig", "CatalogConfig", "StorageConfig", "OAuth2Client"),
        *("Duration", "RotatableSecret", "canonical_endpoint_url", "current_secret"),
    ),
    "Tables and pages of plugins": (
        *("Migration", "ConsolePage", "ConsoleRequest"),
        *("ConsoleText", "ConsoleFacts", "ConsoleTable", "ConsoleBlock"),
    ),
    "Errors": (
        *("SluicegateError", "NotFound", "Unavailable", "StorageError", "InvalidRequest"),
        *("UnsupportedOperation", "PermissionDenied", "Unauthenticated", "TableUnreadable"),
        *("TableTooLarge", "ObjectMissing", "ConfigurationError", "NoResponse", "OutcomeUnknown"),
        *("StorageDenied", "TaskFailed"),
    ),
    "HTTP requests and tokens": (
        *("HttpClient", "HttpRequest", "HttpResponse", "AuthorizedClient", "AccessTokens"),
        *("AccessToken", "RefreshingValue", "Expiring", "internal_addresses", "without_queries"),
    ),
    "Storage and credentials": (
        *(
            "ObjectRequest",
            "Presigned",
            "SignedPaths",
            "Scope",
            "TemporaryCredentials",
            "EndedSessions",
            "session_names",
            "PolicyAction",
        ),
        *("LABEL_PARAMETER", "url_label", "labelled_entry"),
        *("ObjectKeys", "ObjectStores", "UrlSigner", "quote_keys", "batches", "signed_lifetime"),
        *("hmac_states", "client_options", "retry_config", "comparable_location"),
        *("MarshalledCredentials", "TokenIssuingPolicy"),
    ),
    "Reading tables": ("Budget", "TableLimits"),
    "Long tasks": (
        *("DelegatedTask", "TableIdentity", "RealmGrant", "TaskProgress", "TaskResult"),
        *("checked_progress", "checked_result", "checked_stages"),
        *("IssuedAccess", "SnapshotIndexBuild", "TaskErrorCode"),
    ),
    "Conditions": ("conditions",),
}


def values_page() -> str:
    """The page's Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from ("# Values and helpers", "", "<!-- Made by docs/generate.py: do not edit. -->", "")
    yield from (
        "What plugins import from `sluicegate.api` in addition to the base classes and types of",
        "[Hooks](hooks.md): values, models of settings, errors, and helpers. Values are immutable.",
        "Times are epoch milliseconds, and durations are seconds. `sluicegate.api` also exports",
        "`hookimpl`, `API_VERSION`, and `SecretStr`, which is the class of pydantic.",
        "",
    )
    for group, names in GROUPS.items():
        yield from (f"## {group}", "")
        for name in names:
            yield from (*described(name, getattr(api, name)), "")
    yield from ("## Snapshots and changes", "", "In `sluicegate.formats`:", "")
    for name in formats.__all__:
        yield from (*described(name, getattr(formats, name)), "")


def described(name: str, value: Any) -> Iterator[str]:
    """The entry of one name: its signature, its docstring, and its methods."""
    if inspect.ismodule(value):
        yield from (f"In `sluicegate.api.{name}`:", "", *document(value.__doc__), "")
        for each in value.__all__:
            yield from (*described(each, getattr(value, each)), "")
    elif inspect.isclass(value):
        yield from _class(name, value)
    elif inspect.isfunction(value):
        yield from (f"### `{name}{signature(value)}`", "", *document(inspect.getdoc(value)))
    else:
        yield from _alias(name, value)


def _class(name: str, kind: type) -> Iterator[str]:
    if issubclass(kind, BaseModel):
        yield from (f"### `{name}`", "", *document(inspect.getdoc(kind)), "")
        for field, information in kind.model_fields.items():
            default = "" if information.is_required() else f" = {_default(information)}"
            description = f": {information.description}" if information.description else ""
            yield f"- `{field}{default}`{description}"
        return
    # A class of errors without its own constructor has that of `SluicegateError`.
    constructor = signature(kind) if _has_constructor(kind) else ""
    yield from (f"### `{name}{constructor}`", "", *document(inspect.getdoc(kind)), "")
    for member, call in own_members(kind):
        yield from (
            f"- `{asynchronous(kind, member)}{member}{call}`",
            *_indented(getattr(kind, member)),
        )


def _default(field: FieldInfo) -> str:
    return "…" if field.default_factory is not None else repr(field.default)


def _has_constructor(kind: type) -> bool:
    if issubclass(kind, Exception):
        return "__init__" in vars(kind)
    return not getattr(kind, "_is_protocol", False) and kind.__init__ is not object.__init__


def _indented(member: Any) -> Iterator[str]:
    yield from (f"  {line}".rstrip() for line in ("", *document(inspect.getdoc(member)), ""))


def _alias(name: str, value: Any) -> Iterator[str]:
    written, text = _assigned()[name]
    values = f" = {written}" if written.startswith("Literal[") else ""
    yield from (f"### `{name}{values}`", "", *document(text))
    if isinstance(value, pa.Schema | pa.StructType):
        yield from ("", *(f"- `{field.name}: {field.type}`" for field in value))


@cache
def _assigned() -> Mapping[str, tuple[str, str]]:
    """Of each name that a module of the API assigns and describes: the value, and the description."""
    found: dict[str, tuple[str, str]] = {}
    folders = (Path(api.__file__).parent, Path(formats.__file__).parent)
    modules = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    for path in (*modules, Path(units.__file__)):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for node, after in pairwise(body):
            text = getattr(after.value, "value", None) if isinstance(after, ast.Expr) else None
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(text, str) and node.value:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [target.id for target in targets if isinstance(target, ast.Name)]
                found |= {name: (ast.unparse(node.value), text) for name in names}
    return found
