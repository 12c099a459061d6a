"""The settings of a gateway as frozen models, which generate the reference page and the schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    SecretStr,
    StringConstraints,
    ValidationInfo,
    field_validator,
)

from sluicegate.config.model import HttpUrl, PluginSection, SettingsModel, SigningKey
from sluicegate.config.secrets import SecretInUrl
from sluicegate.config.sections.admin import AdminSettings, ConsoleSettings
from sluicegate.config.sections.audit import AuditSection, AuditSettings
from sluicegate.config.sections.authentication import AuthenticationSettings
from sluicegate.config.sections.cache import CacheSettings
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.config.sections.index import IndexSettings
from sluicegate.config.sections.limits import LimitSettings
from sluicegate.config.sections.recipients import RecipientSettings
from sluicegate.config.sections.server import ServerSettings
from sluicegate.config.sections.sharing import SharingSettings, VendingSettings
from sluicegate.config.sections.telemetry import TelemetrySettings
from sluicegate.config.sections.usage import UsageSettings
from sluicegate.config.source import Source, source_of
from sluicegate.config.yaml import Location

DEFAULT_DATABASE = "sqlite:///sluicegate.db"


DatabaseUrl = Annotated[SecretStr, SecretInUrl()]


def _plugin_entry(value: Any) -> Any:
    if isinstance(value, str):
        return {"type": value}
    if not isinstance(value, Mapping | PluginSection):
        raise ValueError("expected the name of a plugin, or an entry with `type` and its settings")
    return value


EnabledPlugin = Annotated[PluginSection, BeforeValidator(_plugin_entry)]
CatalogName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+$")]


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
    index: IndexSettings = Field(
        default=IndexSettings(), description="Snapshot indexes of tables with millions of files."
    )
    usage: UsageSettings = Field(
        default=UsageSettings(), description="The tables of usage, which `COLLECT_USAGE` writes."
    )
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
