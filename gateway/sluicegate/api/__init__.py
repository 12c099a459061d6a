"""The public module for plugins: the hook marker, models, base classes, types and errors.

Importing it loads pydantic, pluggy and the models; helpers such as `HttpClient` are imported when they
are first used. Nothing here imports a web framework, a cloud SDK or the rest of the core.

A *location* is an absolute URL whose path is literal, not percent-encoded: the key of
`s3://lake/a b/part%20.parquet` is `a b/part%20.parquet`. Times are integers in epoch milliseconds, and
durations are integers in seconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import pluggy
from pydantic import SecretStr

from sluicegate._util.units import Duration
from sluicegate.api import conditions
from sluicegate.api.access import Authenticator, Policy
from sluicegate.api.assets.models import (
    ASSET_KINDS,
    AssetKind,
    AssetPage,
    CatalogAsset,
    ListedAsset,
    ModelVersion,
    SharedAsset,
    VersionStatus,
)
from sluicegate.api.authentication import AuthenticationRequest, ClientCertificate
from sluicegate.api.budget import Budget, TableLimits, TableTooLarge
from sluicegate.api.catalogs import Catalog
from sluicegate.api.config import CatalogConfig, PluginConfig, StorageConfig
from sluicegate.api.context import ExecutorContext, LinkSigner, PluginContext
from sluicegate.api.delegation.issued import IssuedAccess
from sluicegate.api.delegation.realm_grants import RealmGrant, comparable_location
from sluicegate.api.delegation.snapshot_indexes import SnapshotIndexBuild, SnapshotIndexes
from sluicegate.api.delegation.tasks import (
    DelegatedTask,
    TableIdentity,
    TaskErrorCode,
    TaskExecutor,
    TaskFailed,
    TaskProgress,
    TaskResult,
    TaskRun,
)
from sluicegate.api.errors import (
    ConfigurationError,
    InvalidRequest,
    NotFound,
    ObjectMissing,
    PermissionDenied,
    SluicegateError,
    StorageDenied,
    StorageError,
    TableUnreadable,
    Unauthenticated,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate.api.hadoop_tokens import MarshalledCredentials, TokenBinding, TokenIssuingPolicy
from sluicegate.api.models import (
    AccessMode,
    CatalogCommit,
    CatalogTable,
    Event,
    ListedTable,
    ObjectDirectory,
    ObjectRequest,
    PolicyAction,
    Presigned,
    Schema,
    Share,
    SharedCatalogSource,
    SharedKind,
    SharedSchemaSource,
    SharedTable,
    TablePage,
)
from sluicegate.api.principals import Principal
from sluicegate.api.services import GatewayServices, PluginTelemetry, VisibleTables
from sluicegate.api.storage import PathSigner, SignedPaths, Storage
from sluicegate.api.table_formats import TableFormat
from sluicegate.api.types import (
    AuthenticatorType,
    CatalogType,
    FormatType,
    PolicyType,
    StorageType,
    TaskExecutorType,
)
from sluicegate.api.vending import (
    CredentialVendor,
    EndedSessions,
    Scope,
    TemporaryCredentials,
    session_names,
)

if TYPE_CHECKING:
    from sluicegate.api.clients.addresses import internal_addresses
    from sluicegate.api.clients.authorized_client import AuthorizedClient
    from sluicegate.api.clients.configured_secret import RotatableSecret, current_secret
    from sluicegate.api.clients.endpoints import canonical_endpoint_url
    from sluicegate.api.clients.fresh import Expiring, RefreshingValue
    from sluicegate.api.clients.http_client import (
        HttpClient,
        HttpRequest,
        HttpResponse,
        NoResponse,
        OutcomeUnknown,
    )
    from sluicegate.api.clients.oauth_client import AccessToken, AccessTokens, OAuth2Client
    from sluicegate.api.clients.object_keys import ObjectKeys
    from sluicegate.api.clients.object_stores import ObjectStores, client_options, retry_config
    from sluicegate.api.clients.percent import quote_keys
    from sluicegate.api.clients.presigning import batches, signed_lifetime
    from sluicegate.api.clients.redaction import without_queries
    from sluicegate.api.clients.url_labels import LABEL_PARAMETER, labelled_entry, url_label

__all__ = [
    "API_VERSION",
    "ASSET_KINDS",
    "LABEL_PARAMETER",
    "AccessMode",
    "AccessToken",
    "AccessTokens",
    "AssetKind",
    "AssetPage",
    "AuthenticationRequest",
    "Authenticator",
    "AuthenticatorType",
    "AuthorizedClient",
    "Budget",
    "Catalog",
    "CatalogAsset",
    "CatalogCommit",
    "CatalogConfig",
    "CatalogTable",
    "CatalogType",
    "ClientCertificate",
    "ConfigurationError",
    "CredentialVendor",
    "DelegatedTask",
    "Duration",
    "EndedSessions",
    "Event",
    "ExecutorContext",
    "Expiring",
    "FormatType",
    "GatewayServices",
    "HttpClient",
    "HttpRequest",
    "HttpResponse",
    "InvalidRequest",
    "IssuedAccess",
    "LinkSigner",
    "ListedAsset",
    "ListedTable",
    "MarshalledCredentials",
    "ModelVersion",
    "NoResponse",
    "NotFound",
    "OAuth2Client",
    "ObjectDirectory",
    "ObjectKeys",
    "ObjectMissing",
    "ObjectRequest",
    "ObjectStores",
    "OutcomeUnknown",
    "PathSigner",
    "PermissionDenied",
    "PluginConfig",
    "PluginContext",
    "PluginTelemetry",
    "Policy",
    "PolicyAction",
    "PolicyType",
    "Presigned",
    "Principal",
    "RealmGrant",
    "RefreshingValue",
    "RotatableSecret",
    "Schema",
    "Scope",
    "SecretStr",
    "Share",
    "SharedAsset",
    "SharedCatalogSource",
    "SharedKind",
    "SharedSchemaSource",
    "SharedTable",
    "SignedPaths",
    "SluicegateError",
    "SnapshotIndexBuild",
    "SnapshotIndexes",
    "Storage",
    "StorageConfig",
    "StorageDenied",
    "StorageError",
    "StorageType",
    "TableFormat",
    "TableIdentity",
    "TableLimits",
    "TablePage",
    "TableTooLarge",
    "TableUnreadable",
    "TaskErrorCode",
    "TaskExecutor",
    "TaskExecutorType",
    "TaskFailed",
    "TaskProgress",
    "TaskResult",
    "TaskRun",
    "TemporaryCredentials",
    "TokenBinding",
    "TokenIssuingPolicy",
    "Unauthenticated",
    "Unavailable",
    "UnsupportedOperation",
    "VersionStatus",
    "VisibleTables",
    "batches",
    "canonical_endpoint_url",
    "client_options",
    "comparable_location",
    "conditions",
    "current_secret",
    "hookimpl",
    "internal_addresses",
    "labelled_entry",
    "quote_keys",
    "retry_config",
    "session_names",
    "signed_lifetime",
    "url_label",
    "without_queries",
]

API_VERSION: Final = "1.2"
"""The version of this API: MAJOR.MINOR.

A plugin declares the version that it is written for in its module: `sluicegate_api_version = "1.0"`.
It runs on every gateway whose API has the same major version, and the same or a later minor version.
"""

hookimpl = pluggy.HookimplMarker("sluicegate")
"""Marks a function in a plugin's module as the implementation of the hook with the same name."""

# Helpers that import more than the models. They are imported when a plugin uses them.
_LAZY: Final = {
    "AccessToken": "oauth_client",
    "AccessTokens": "oauth_client",
    "AuthorizedClient": "authorized_client",
    "Expiring": "fresh",
    "RefreshingValue": "fresh",
    "HttpResponse": "http_client",
    "HttpClient": "http_client",
    "HttpRequest": "http_client",
    "LABEL_PARAMETER": "url_labels",
    "NoResponse": "http_client",
    "OAuth2Client": "oauth_client",
    "ObjectKeys": "object_keys",
    "ObjectStores": "object_stores",
    "OutcomeUnknown": "http_client",
    "RotatableSecret": "configured_secret",
    "batches": "presigning",
    "canonical_endpoint_url": "endpoints",
    "client_options": "object_stores",
    "current_secret": "configured_secret",
    "internal_addresses": "addresses",
    "labelled_entry": "url_labels",
    "quote_keys": "percent",
    "retry_config": "object_stores",
    "signed_lifetime": "presigning",
    "url_label": "url_labels",
    "without_queries": "redaction",
}

if not TYPE_CHECKING:  # otherwise, type checkers would accept every name

    def __getattr__(name: str) -> Any:
        """Import the module of a helper of `sluicegate.api.clients`, and return the helper."""
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.clients.{_LAZY[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        """Return all names, including those of helpers that are not imported yet."""
        return sorted({*globals(), *_LAZY})
