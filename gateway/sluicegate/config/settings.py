"""The settings of a gateway, as frozen models: the reference page and the schema are made from them."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, PrivateAttr, SecretStr, StringConstraints

from sluicegate.config.authentication import AuthenticationSettings
from sluicegate.config.delegation import DelegationSettings
from sluicegate.config.model import HttpUrl, PluginSection, SettingsModel, SigningKey, TokenLifetime
from sluicegate.config.secrets import SecretInUrl
from sluicegate.config.server import ServerSettings
from sluicegate.config.source import Source, source_of
from sluicegate.units import ByteSize, Duration
from sluicegate.yamlfile import Location

DEFAULT_DATABASE = "sqlite:///sluicegate.db"
LONGEST_SIGNED_URL = 7 * 86_400
LONGEST_ACCESS_TOKEN = 86_400
# Of an assumed role's session on AWS; the other clouds allow at least as much.
SHORTEST_CREDENTIALS = 900
LONGEST_CREDENTIALS = 43_200


DatabaseUrl = Annotated[SecretStr, SecretInUrl()]
CatalogName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+$")]


class SharingSettings(SettingsModel):
    """What recipients get through Delta Sharing."""

    url_lifetime: Duration = Field(
        default=3600,
        ge=1,
        le=LONGEST_SIGNED_URL,
        description=(
            "How long presigned URLs live; shorter where what signs them expires sooner. Spark "
            "recipients refresh at 15 minutes left, so stay well above that."
        ),
    )
    page_token_lifetime: Duration = Field(
        default=3600, ge=1, description="How long a page token continues a listing or a query."
    )
    refresh_token_lifetime: Duration = Field(
        default=86_400,
        ge=1,
        description="How long a refresh token re-signs what was queried; each refresh gives a new one.",
    )
    async_after: Duration = Field(
        default=2,
        ge=1,
        description="How long an answer may take before a client that can poll gets a query id.",
    )


class VendingSettings(SettingsModel):
    """Temporary credentials, and the ledger of what recipients were given."""

    lifetime: Duration = Field(
        default=3600,
        ge=SHORTEST_CREDENTIALS,
        le=LONGEST_CREDENTIALS,
        description=(
            "How long temporary credentials live, 15 minutes to 12 hours; shorter where what vends "
            "them gives less. They are given again to the same recipient until half of it is over."
        ),
    )
    ledger_retention: Duration = Field(
        default=365 * 86_400,
        ge=86_400,
        description="How long the ledger keeps what was given to whom.",
    )


class RecipientSettings(SettingsModel):
    """The bearer tokens and OAuth clients of recipients."""

    token_lifetime: TokenLifetime = Field(
        default=90 * 86_400,
        description=(
            "How long a new token or OAuth client is valid, unless the recipient says; 365d at most."
        ),
    )
    rotation_grace: Duration = Field(
        default=86_400, ge=0, description="How long the old one still works after a rotation."
    )
    access_token_lifetime: Duration = Field(
        default=3600,
        ge=1,
        le=LONGEST_ACCESS_TOKEN,
        description=(
            "How long the access tokens of OAuth clients live. Clients get a new one at 10 minutes "
            "left, so below that at each request."
        ),
    )


class CacheSettings(SettingsModel):
    """What the gateway keeps in memory."""

    snapshots: ByteSize = Field(
        default=256_000_000, ge=0, description="Memory for snapshots of tables."
    )
    commits: ByteSize = Field(
        default=64_000_000,
        ge=0,
        description="Memory for commits, of which streams and change data feeds are made.",
    )


class TableLimitSettings(SettingsModel):
    """What reading the metadata of one table may cost; a table that takes more is not served."""

    bytes: ByteSize = Field(
        default=4_000_000_000,
        ge=1_000_000,
        description="Bytes of logs, checkpoints and manifests, after decompression.",
    )
    rows: int = Field(
        default=10_000_000, ge=1_000, description="Entries in them, such as files added and removed."
    )
    time: Duration = Field(default=120, ge=1, description="How long reading may take.")


class LimitSettings(SettingsModel):
    """What others may cost the gateway."""

    table: TableLimitSettings = Field(
        default=TableLimitSettings(), description="Reading the metadata of one table."
    )


class TelemetrySettings(SettingsModel):
    """Traces, metrics and logs."""

    otlp_endpoint: HttpUrl | None = Field(
        default=None,
        description="OTLP/HTTP collector for traces and metrics; without one none are made.",
    )
    service_name: str = Field(default="sluicegate", description="Name of this service in traces.")
    log_format: Literal["text", "json"] = Field(
        default="text", description="How log lines are written."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least severe lines that are logged."
    )


class Settings(SettingsModel):
    """The whole of `gateway.yaml`.

    Each scalar may also be written `{env: NAME}` or `{file: PATH}`: the value is taken from the
    environment, or from a file (relative to `gateway.yaml`, without the white space around it).
    """

    public_url: HttpUrl = Field(
        default="http://127.0.0.1:8080",
        description=(
            "How recipients reach the gateway; profiles and links carry it. Without it, they carry the "
            "address that the gateway listens on."
        ),
    )
    catalogs: dict[CatalogName, PluginSection] = Field(
        default_factory=dict,
        description="Where tables come from, by a name of your own (`a-z`, `0-9`, `_`, `-`).",
    )
    storage: tuple[PluginSection, ...] = Field(
        default=(),
        description="What presigns and opens locations; the longest matching `prefix` serves one.",
    )
    plugins: tuple[str, ...] = Field(
        default=(),
        description="Plugins to enable beside those that other sections name, in this order.",
    )
    database: DatabaseUrl = Field(
        default=SecretStr(DEFAULT_DATABASE),
        json_schema_extra={"default": DEFAULT_DATABASE},
        description="Where shares, recipients and grants are kept: SQLite, or PostgreSQL for replicas.",
    )
    signing_key: SigningKey | None = Field(
        default=None,
        description=(
            "Signs access tokens, page tokens and gateway links; at least 32 characters, the same on "
            "all replicas. Without it a key file is made beside the SQLite database; PostgreSQL "
            "requires it."
        ),
    )
    previous_signing_keys: tuple[SigningKey, ...] = Field(
        default=(),
        description=(
            "Further keys whose signatures are accepted: those of before, until what they signed has "
            "expired (two days, unless longer lifetimes are configured), or the next one."
        ),
    )
    server: ServerSettings = Field(default=ServerSettings(), description="How the gateway listens.")
    sharing: SharingSettings = Field(default=SharingSettings(), description="What recipients get.")
    vending: VendingSettings = Field(
        default=VendingSettings(), description="Temporary credentials and the ledger."
    )
    recipients: RecipientSettings = Field(
        default=RecipientSettings(), description="Tokens of recipients."
    )
    authentication: AuthenticationSettings = Field(
        default=AuthenticationSettings(),
        description="Further ways for recipients to prove themselves.",
    )
    policies: tuple[PluginSection, ...] = Field(
        default=(),
        description="Plugins that narrow what granted recipients may do, asked in this order.",
    )
    limits: LimitSettings = Field(
        default=LimitSettings(), description="What others may cost the gateway."
    )
    delegation: DelegationSettings = Field(
        default=DelegationSettings(),
        description="The delegation service: long tasks that catalogs hand over.",
    )
    cache: CacheSettings = Field(default=CacheSettings(), description="What is kept in memory.")
    telemetry: TelemetrySettings = Field(
        default=TelemetrySettings(), description="Traces, metrics and logs."
    )

    _source: Source | None = PrivateAttr(default=None)

    @property
    def source(self) -> Source:
        """The file that the settings were read from; an empty one for settings made in code."""
        return self._source or source_of(self.model_dump())

    def read_from(self, source: Source) -> Self:
        """The same settings, which know the file that they were read from."""
        settings = self.model_copy()
        settings._source = source
        return settings

    def problem(self, location: Location, message: str) -> str:
        """A line `file:line:column: message` about a value of the configuration."""
        return self.source.document.problem(location, message)

    def mentions(self) -> dict[str, Location]:
        """The plugins that the configuration enables, in its order, and where it first names each."""
        named: list[tuple[str, Location]] = [
            *((name, ("plugins", index)) for index, name in enumerate(self.plugins)),
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
        """Names of the plugins that the configuration enables, in its order."""
        return tuple(self.mentions())
