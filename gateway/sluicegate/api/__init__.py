"""The public module for plugins: the hook marker, models, base classes, types and errors.

Importing it loads nothing else: modules are imported when a name of theirs is first used. The models
load pydantic, and `hookimpl` loads pluggy. Nothing here imports the rest of the core.

A *location* is an absolute URL whose path is literal: the key of `s3://lake/a b/part%20.parquet` is
`a b/part%20.parquet`. Times are integers in epoch milliseconds, and durations are integers in seconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pydantic import SecretStr

    from sluicegate._util.units import Duration
    from sluicegate.api import conditions as conditions
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
    from sluicegate.api.clients.addresses import internal_addresses
    from sluicegate.api.clients.authorized_client import AuthorizedClient
    from sluicegate.api.clients.configured_secret import RotatableSecret, current_secret
    from sluicegate.api.clients.endpoints import canonical_endpoint_url, without_queries
    from sluicegate.api.clients.fresh import Expiring, RefreshingValue
    from sluicegate.api.clients.http_client import (
        HttpClient,
        HttpRequest,
        HttpResponse,
        NoResponse,
        OutcomeUnknown,
    )
    from sluicegate.api.clients.oauth_client import AccessToken, AccessTokens, OAuth2Client
    from sluicegate.api.clients.url_labels import LABEL_PARAMETER, labelled_entry, url_label
    from sluicegate.api.config import CatalogConfig, PluginConfig, StorageConfig
    from sluicegate.api.context import ExecutorContext, LinkSigner, PluginContext
    from sluicegate.api.delegation.issued import IssuedAccess
    from sluicegate.api.delegation.realm_grants import RealmGrant, comparable_location
    from sluicegate.api.delegation.reports import checked_progress, checked_result, checked_stages
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
    from sluicegate.api.gateway.console import (
        ConsoleBlock,
        ConsoleFacts,
        ConsolePage,
        ConsoleRequest,
        ConsoleTable,
        ConsoleText,
    )
    from sluicegate.api.gateway.plugin_data import Migration, PluginDatabase
    from sluicegate.api.gateway.services import (
        CommandServices,
        GatewayServices,
        PluginTelemetry,
        VisibleTables,
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
    from sluicegate.api.object_storage.base import ObjectStorage, UrlSigner
    from sluicegate.api.object_storage.object_keys import ObjectKeys, quote_keys
    from sluicegate.api.object_storage.object_stores import ObjectStores, client_options, retry_config
    from sluicegate.api.object_storage.presigning import batches, hmac_states, signed_lifetime
    from sluicegate.api.principals import Principal
    from sluicegate.api.storage import PathSigner, SignedPaths, Storage
    from sluicegate.api.table_formats import TableFormat
    from sluicegate.api.types import (
        AuthenticatorType,
        CatalogType,
        FormatType,
        PolicyType,
        StorageType,
        TaskExecutorType,
        hookimpl,
    )
    from sluicegate.api.vending import (
        CredentialVendor,
        EndedSessions,
        Scope,
        TemporaryCredentials,
        session_names,
    )

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
    "CommandServices",
    "ConfigurationError",
    "ConsoleBlock",
    "ConsoleFacts",
    "ConsolePage",
    "ConsoleRequest",
    "ConsoleTable",
    "ConsoleText",
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
    "Migration",
    "ModelVersion",
    "NoResponse",
    "NotFound",
    "OAuth2Client",
    "ObjectDirectory",
    "ObjectKeys",
    "ObjectMissing",
    "ObjectRequest",
    "ObjectStorage",
    "ObjectStores",
    "OutcomeUnknown",
    "PathSigner",
    "PermissionDenied",
    "PluginConfig",
    "PluginContext",
    "PluginDatabase",
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
    "UrlSigner",
    "VersionStatus",
    "VisibleTables",
    "batches",
    "canonical_endpoint_url",
    "checked_progress",
    "checked_result",
    "checked_stages",
    "client_options",
    "comparable_location",
    "conditions",
    "current_secret",
    "hmac_states",
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

# Commands import `sluicegate.api.errors`, and should start quickly.
_NAMES: Final = {
    "sluicegate.api.conditions": "conditions",
    "pydantic": "SecretStr",
    "sluicegate._util.units": "Duration",
    "sluicegate.api.access": "Authenticator Policy",
    "sluicegate.api.assets.models": (
        "ASSET_KINDS AssetKind AssetPage CatalogAsset ListedAsset ModelVersion SharedAsset "
        "VersionStatus"
    ),
    "sluicegate.api.authentication": "AuthenticationRequest ClientCertificate",
    "sluicegate.api.budget": "Budget TableLimits TableTooLarge",
    "sluicegate.api.catalogs": "Catalog",
    "sluicegate.api.clients.addresses": "internal_addresses",
    "sluicegate.api.clients.authorized_client": "AuthorizedClient",
    "sluicegate.api.clients.configured_secret": "RotatableSecret current_secret",
    "sluicegate.api.clients.endpoints": "canonical_endpoint_url without_queries",
    "sluicegate.api.clients.fresh": "Expiring RefreshingValue",
    "sluicegate.api.clients.http_client": (
        "HttpClient HttpRequest HttpResponse NoResponse OutcomeUnknown"
    ),
    "sluicegate.api.clients.oauth_client": "AccessToken AccessTokens OAuth2Client",
    "sluicegate.api.clients.url_labels": "LABEL_PARAMETER labelled_entry url_label",
    "sluicegate.api.config": "CatalogConfig PluginConfig StorageConfig",
    "sluicegate.api.gateway.console": (
        "ConsoleBlock ConsoleFacts ConsolePage ConsoleRequest ConsoleTable ConsoleText"
    ),
    "sluicegate.api.context": "ExecutorContext LinkSigner PluginContext",
    "sluicegate.api.delegation.issued": "IssuedAccess",
    "sluicegate.api.delegation.realm_grants": "RealmGrant comparable_location",
    "sluicegate.api.delegation.reports": "checked_progress checked_result checked_stages",
    "sluicegate.api.delegation.snapshot_indexes": "SnapshotIndexBuild SnapshotIndexes",
    "sluicegate.api.delegation.tasks": (
        "DelegatedTask TableIdentity TaskErrorCode TaskExecutor TaskFailed TaskProgress "
        "TaskResult TaskRun"
    ),
    "sluicegate.api.errors": (
        "ConfigurationError InvalidRequest NotFound ObjectMissing PermissionDenied SluicegateError "
        "StorageDenied StorageError TableUnreadable Unauthenticated Unavailable UnsupportedOperation"
    ),
    "sluicegate.api.hadoop_tokens": "MarshalledCredentials TokenBinding TokenIssuingPolicy",
    "sluicegate.api.models": (
        "AccessMode CatalogCommit CatalogTable Event ListedTable ObjectDirectory ObjectRequest "
        "PolicyAction Presigned Schema Share SharedCatalogSource SharedKind SharedSchemaSource "
        "SharedTable TablePage"
    ),
    "sluicegate.api.gateway.plugin_data": "Migration PluginDatabase",
    "sluicegate.api.object_storage.base": "ObjectStorage UrlSigner",
    "sluicegate.api.object_storage.object_keys": "ObjectKeys quote_keys",
    "sluicegate.api.object_storage.object_stores": "ObjectStores client_options retry_config",
    "sluicegate.api.object_storage.presigning": "batches hmac_states signed_lifetime",
    "sluicegate.api.principals": "Principal",
    "sluicegate.api.gateway.services": "CommandServices GatewayServices PluginTelemetry VisibleTables",
    "sluicegate.api.storage": "PathSigner SignedPaths Storage",
    "sluicegate.api.table_formats": "TableFormat",
    "sluicegate.api.types": (
        "AuthenticatorType CatalogType FormatType PolicyType StorageType TaskExecutorType hookimpl"
    ),
    "sluicegate.api.vending": "CredentialVendor EndedSessions Scope TemporaryCredentials session_names",
}
_MODULES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}

if not TYPE_CHECKING:  # otherwise, type checkers would accept every name

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(_MODULES[name])
        value = module if name == "conditions" else getattr(module, name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
