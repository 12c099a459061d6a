"""The settings of a gateway as frozen models, which generate the reference page and the schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    SecretStr,
    StringConstraints,
    ValidationInfo,
    field_validator,
)

from sluicegate._util.units import ByteSize, Duration
from sluicegate.config.admin.console import ConsoleSettings
from sluicegate.config.admin.settings import AdminSettings
from sluicegate.config.audit.settings import AuditSection, AuditSettings
from sluicegate.config.authentication import AuthenticationSettings
from sluicegate.config.delegation import DelegationSettings
from sluicegate.config.limits import LimitSettings
from sluicegate.config.model import HttpUrl, PluginSection, SettingsModel, SigningKey, TokenLifetime
from sluicegate.config.secrets import SecretInUrl
from sluicegate.config.server import ServerSettings
from sluicegate.config.source import Source, source_of
from sluicegate.config.yaml import Location

DEFAULT_DATABASE = "sqlite:///sluicegate.db"
LONGEST_SIGNED_URL = 7 * 86_400
LONGEST_ACCESS_TOKEN = 86_400
LONGEST_ACTIVATION = 30 * 86_400
# The limits of the session of an assumed role on AWS. Other clouds allow at least this range.
SHORTEST_CREDENTIALS = 900
LONGEST_CREDENTIALS = 43_200


DatabaseUrl = Annotated[SecretStr, SecretInUrl()]


def _plugin_entry(value: Any) -> Any:
    if isinstance(value, str):
        return {"type": value}
    if not isinstance(value, Mapping | PluginSection):
        raise ValueError("expected the name of a plugin, or an entry with `type` and its settings")
    return value


EnabledPlugin = Annotated[PluginSection, BeforeValidator(_plugin_entry)]
CatalogName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+$")]


class SharingSettings(SettingsModel):
    """URLs and tokens that recipients get through Delta Sharing."""

    presigned_url_ttl: Duration = Field(
        default=3600,
        ge=1,
        le=LONGEST_SIGNED_URL,
        description=(
            "How long presigned URLs are valid. They expire earlier if the credentials that sign them "
            "do. Spark recipients refresh URLs 15 minutes before they expire, so use a much longer "
            "time."
        ),
    )
    page_token_lifetime: Duration = Field(
        default=3600, ge=1, description="How long the page tokens of listings and queries are valid."
    )
    refresh_token_lifetime: Duration = Field(
        default=86_400,
        ge=1,
        description="How long a refresh token is valid. Each refresh returns new URLs and a new token.",
    )
    iceberg_snapshots: int = Field(
        default=100,
        ge=1,
        le=10_000,
        description="Maximum number of snapshots in the metadata of a table that Iceberg clients read "
        "file by file, if its history is shared. The first client that loads a Delta table waits until "
        "the gateway has read that many commits.",
    )
    async_query_threshold: Duration = Field(
        default=2,
        ge=1,
        description="How long the gateway looks up a table and loads its snapshot before it returns a "
        "query id to clients that support polling.",
    )


class VendingSettings(SettingsModel):
    """Temporary credentials, and the ledger of everything issued to recipients."""

    lifetime: Duration = Field(
        default=3600,
        ge=SHORTEST_CREDENTIALS,
        le=LONGEST_CREDENTIALS,
        description=(
            "How long temporary credentials are valid, from 15 minutes to 12 hours. They expire "
            "earlier if the vendor limits them. The same recipient gets them again until half of this "
            "time has passed."
        ),
    )
    ledger_retention: Duration = Field(
        default=365 * 86_400,
        ge=86_400,
        description="How long the entries of the ledger are stored.",
    )


class RecipientSettings(SettingsModel):
    """The bearer tokens and OAuth clients of recipients."""

    token_lifetime: TokenLifetime = Field(
        default=90 * 86_400,
        description=(
            "How long a new token or OAuth client is valid, unless the recipient has its own value. "
            "Maximum: 365d."
        ),
    )
    rotation_grace: Duration = Field(
        default=86_400, ge=0, description="How long old tokens remain valid after a rotation."
    )
    warn_before: Duration = Field(
        default=14 * 86_400,
        ge=0,
        description="How long before its expiry the gateway warns of the last valid token or OAuth "
        "client of a recipient: in the log, as an event and as a metric. 0 never warns.",
    )
    activation_lifetime: Duration = Field(
        default=3 * 86_400,
        ge=60,
        le=LONGEST_ACTIVATION,
        description="How long an activation link can be used.",
    )
    access_token_lifetime: Duration = Field(
        default=3600,
        ge=1,
        le=LONGEST_ACCESS_TOKEN,
        description=(
            "How long the access tokens of OAuth clients are valid. Clients request a new token 10 "
            "minutes before the expiry; with shorter values, for every request."
        ),
    )


class CacheSettings(SettingsModel):
    """The caches in memory."""

    snapshots: ByteSize = Field(
        default=256_000_000, ge=0, description="Memory for the snapshots of tables."
    )
    commits: ByteSize = Field(
        default=64_000_000,
        ge=0,
        description="Memory for commits, which streams and change data feeds read.",
    )
    answers: ByteSize = Field(
        default=64_000_000,
        ge=0,
        description="Memory for answers to queries, which the same recipient gets again for a tenth of "
        "the lifetime of their URLs, at most 5 minutes. 0 signs URLs for each request.",
    )
    share_answers: bool = Field(
        default=False,
        description="Give the same answer to all recipients who see the same. The access logs of the "
        "storage then no longer show which of them reads a file.",
    )


class PrometheusSettings(SettingsModel):
    """A separate listener for Prometheus, without TLS and authentication."""

    host: str = Field(
        default="127.0.0.1",
        description="Address to listen on. Every client that can connect can read the metrics, so "
        "use an address of an internal network.",
    )
    port: int = Field(
        default=9464, ge=0, le=65_535, description="Port to listen on; 0 selects a free port."
    )


class TelemetrySettings(SettingsModel):
    """Traces, metrics and logs."""

    otlp_endpoint: HttpUrl | None = Field(
        default=None,
        description="OTLP/HTTP collector for traces and metrics. If it is not set, none are sent.",
    )
    prometheus: PrometheusSettings | None = Field(
        default=None,
        description="Where Prometheus reads the metrics. If it is not set, there is no listener.",
    )
    service_name: str = Field(default="sluicegate", description="Name of this service in traces.")
    log_format: Literal["text", "json"] = Field(default="text", description="Format of log lines.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The lowest severity that is logged."
    )


class Settings(SettingsModel):
    """The contents of `gateway.yaml`.

    Each scalar can also be written as `{env: NAME}` or `{file: PATH}`. The value is then read from the
    environment, or from a file without surrounding white space. Paths are relative to `gateway.yaml`.
    """

    public_url: HttpUrl = Field(
        default="http://127.0.0.1:8080",
        description=(
            "Address at which recipients reach the gateway, which profiles and links contain. If it is "
            "not set, they contain the address that the gateway listens on."
        ),
    )
    catalogs: dict[CatalogName, PluginSection] = Field(
        default_factory=dict,
        description="Catalogs, by a name that you choose (`a-z`, `0-9`, `_`, `-`).",
    )
    storage: tuple[PluginSection, ...] = Field(
        default=(),
        description="Storages, which presign and open files. For each location, the gateway uses the "
        "entry with the longest matching `prefix`.",
    )
    plugins: tuple[EnabledPlugin, ...] = Field(
        default=(),
        description=(
            "Plugins to enable in addition to those in other sections, in this order. Each is a name, "
            "or an entry with `type` and the plugin's settings."
        ),
    )
    database: DatabaseUrl = Field(
        default=SecretStr(DEFAULT_DATABASE),
        json_schema_extra={"default": DEFAULT_DATABASE},
        description="Database of shares, recipients and grants: SQLite, or PostgreSQL for replicas.",
    )
    signing_key: SigningKey | None = Field(
        default=None,
        description=(
            "Key that signs access tokens, page tokens and gateway links: at least 32 characters, the "
            "same on all replicas. PostgreSQL requires it. With SQLite, the gateway otherwise creates "
            "a key file next to the database."
        ),
    )
    previous_signing_keys: tuple[SigningKey, ...] = Field(
        default=(),
        description=(
            "Other keys whose signatures are accepted: the next key, and former keys until everything "
            "that they signed has expired (two days, unless longer lifetimes are configured)."
        ),
    )
    server: ServerSettings = Field(
        default=ServerSettings(), description="The HTTP server and its limits."
    )
    sharing: SharingSettings = Field(
        default=SharingSettings(), description="URLs and tokens of Delta Sharing."
    )
    vending: VendingSettings = Field(
        default=VendingSettings(), description="Temporary credentials and the ledger."
    )
    recipients: RecipientSettings = Field(
        default=RecipientSettings(), description="Tokens and OAuth clients of recipients."
    )
    authentication: AuthenticationSettings = Field(
        default=AuthenticationSettings(),
        description="Additional ways for recipients to authenticate.",
    )
    policies: tuple[PluginSection, ...] = Field(
        default=(),
        description="Plugins that restrict the access of granted recipients, called in this order.",
    )
    limits: LimitSettings = Field(
        default=LimitSettings(),
        description="Limits of request bodies, of tables' metadata, of recipients, and of addresses.",
    )
    audit: AuditSection = Field(
        default=AuditSettings(),
        description="The audit log of all decisions, or only its mode: `required`, `best_effort` or "
        "`off`.",
    )
    delegation: DelegationSettings = Field(
        default=DelegationSettings(),
        description="The delegation service, which runs long tasks for catalogs.",
    )
    cache: CacheSettings = Field(default=CacheSettings(), description="The caches in memory.")
    telemetry: TelemetrySettings = Field(
        default=TelemetrySettings(), description="Traces, metrics and logs."
    )

    admin: AdminSettings | None = Field(
        default=None, description="The Admin API. If it is not set, the gateway does not serve it."
    )

    console: ConsoleSettings | None = Field(
        default=None,
        description="The web console, which needs `admin`. If it is not set, the gateway does not "
        "serve it.",
    )

    _source: Source | None = PrivateAttr(default=None)

    @field_validator("console")
    @classmethod
    def _has_administrators(
        cls, console: ConsoleSettings | None, info: ValidationInfo
    ) -> ConsoleSettings | None:
        if console is not None and "admin" in info.data:
            console.check_administrators(info.data["admin"])
        return console

    @property
    def source(self) -> Source:
        """The source that the settings were read from; not a file for settings created in code."""
        return self._source or source_of(self.model_dump())

    def read_from(self, source: Source) -> Self:
        """A copy of the settings with the source that they were read from."""
        settings = self.model_copy()
        settings._source = source
        return settings

    def problem(self, location: Location, message: str) -> str:
        """A line `file:line:column: message` about a value of the configuration."""
        return self.source.document.problem(location, message)

    def mentions(self) -> dict[str, Location]:
        """The enabled plugins in the order of the configuration, and the first location of each."""
        named: list[tuple[str, Location]] = [
            *((section.type, ("plugins", index)) for index, section in enumerate(self.plugins)),
            *((section.type, ("catalogs", name, "type")) for name, section in self.catalogs.items()),
            *((section.type, ("storage", index, "type")) for index, section in enumerate(self.storage)),
            *(
                (section.type, ("authentication", "authenticators", index, "type"))
                for index, section in enumerate(self.authentication.authenticators)
            ),
            *((s.type, ("policies", index, "type")) for index, s in enumerate(self.policies)),
            *(
                (section.type, ("delegation", "executors", index, "type"))
                for index, section in enumerate(self.delegation.executors)
            ),
        ]
        found: dict[str, Location] = {}
        for name, location in named:
            found.setdefault(name, location)
        return found

    @property
    def enabled_plugins(self) -> tuple[str, ...]:
        """Names of the enabled plugins, in the order of the configuration."""
        return tuple(self.mentions())
