"""The section `delegation`: the delegation service, its workers and who may hand tasks over."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, Field, SecretStr, StringConstraints, model_validator

from sluicegate.config.authentication import OidcSettings
from sluicegate.config.model import HttpUrl, PluginSection, SettingsModel, SigningKey
from sluicegate.errors import InvalidRequest
from sluicegate.realm_grants import comparable_location
from sluicegate.units import ByteSize, Duration


def _location(value: str) -> str:
    try:
        return comparable_location(value)
    except InvalidRequest as error:
        raise ValueError(error.message) from None


OperationName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")]
RealmName = Annotated[str, StringConstraints(min_length=1, max_length=255)]
ClientName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+$")]
GrantedLocation = Annotated[str, AfterValidator(_location)]
_DAY = 86_400


class RetrySettings(SettingsModel):
    """How often a task is tried, and what it waits between attempts (the document's "Task Retry")."""

    max_attempts: int = Field(default=5, ge=1, description="How many attempts a task has.")
    initial_backoff: Duration = Field(
        default=30, ge=0, description="How long a task waits after its first failed attempt."
    )
    backoff_multiplier: float = Field(
        default=2.0, ge=1, le=10, description="How much longer it waits after each further one."
    )
    max_backoff: Duration = Field(default=3600, ge=0, description="The longest wait.")
    jitter: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="By which part a wait may be shorter, so that tasks do not come back together.",
    )


class RetryOverride(SettingsModel):
    """What an operation's retries do differently."""

    max_attempts: int | None = Field(default=None, ge=1, description="Attempts.")
    initial_backoff: Duration | None = Field(default=None, ge=0, description="The first wait.")
    backoff_multiplier: float | None = Field(default=None, ge=1, le=10, description="Its growth.")
    max_backoff: Duration | None = Field(default=None, ge=0, description="The longest wait.")
    jitter: float | None = Field(default=None, ge=0, le=1, description="The jitter.")


class LeaseSettings(SettingsModel):
    """How workers hold tasks (the document's "Task Resiliency and Lease Management")."""

    lost_timeout: Duration = Field(
        default=3600,
        ge=5,
        description="How long after a worker's last sign of life its task is another worker's.",
    )
    heartbeat: Duration = Field(
        default=30, ge=1, description="How often workers give a sign of life, and store progress."
    )

    @model_validator(mode="after")
    def _beats_in_time(self) -> Self:
        if self.heartbeat * 2 > self.lost_timeout:
            raise ValueError("heartbeat can be half of lost_timeout at most: one may be late")
        return self


class WorkerSettings(SettingsModel):
    """The workers of one process."""

    concurrency: int = Field(default=1, ge=1, le=64, description="Tasks that run at the same time.")
    poll_interval: Duration = Field(
        default=5, ge=1, description="How often an idle worker asks for a task."
    )
    drain_timeout: Duration = Field(
        default=30,
        ge=0,
        description=(
            "How long running tasks may go on after SIGTERM; then they are given back, and the attempt "
            "does not count."
        ),
    )
    cancel_timeout: Duration = Field(
        default=30,
        ge=0,
        description=(
            "How long an executor may take to end after a stop has cancelled it; then the worker "
            "leaves it and ends."
        ),
    )


class DelegationClient(SettingsModel):
    """A catalog that may hand tasks over."""

    secret: SecretStr | None = Field(
        default=None,
        description="Its OAuth2 client secret, for access tokens of the service's own; the client id "
        "is its name here.",
    )
    subjects: tuple[str, ...] = Field(
        default=(), description="Values of an issuer's claim (see `issuers`) that prove it."
    )
    certificates: tuple[str, ...] = Field(
        default=(), description="Subjects (RFC 4514) of the client certificates that prove it."
    )
    realms: tuple[RealmName, ...] = Field(
        default=(), description="Realms that it may act for; empty for `delegation.realm` alone."
    )


class RealmSettings(SettingsModel):
    """What tasks of a realm may touch: nothing that is not listed."""

    catalogs: tuple[str, ...] = Field(
        default=(), description="Catalogs of the executors whose tables its tasks may name."
    )
    locations: tuple[GrantedLocation, ...] = Field(
        default=(),
        description="Directories, such as `s3://bucket/prefix/`, that contain every file of its "
        "tables, including the tables of its catalogs.",
    )
    operations: tuple[OperationName, ...] = Field(
        default=(), description="Operations that its clients may submit, such as `TABLE_PURGE`."
    )


class DelegationTls(SettingsModel):
    """TLS of the service; with `client_ca` it is mutual."""

    certificate: str = Field(description="File with the certificate chain, PEM.")
    key: str = Field(description="File with the private key, PEM.")
    client_ca: str | None = Field(
        default=None,
        description="File with the authorities whose client certificates are accepted. Every "
        "connection needs one then.",
    )


class CallbackSettings(SettingsModel):
    """Where the final state of tasks is pushed to."""

    url: HttpUrl = Field(description="It gets the task's record by POST.")
    token: SecretStr | None = Field(default=None, description="Bearer token to send with it.")


class DelegationSettings(SettingsModel):
    """The delegation service: long tasks that catalogs hand over."""

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(
        default=8182, ge=0, le=65_535, description="Port to listen on; 0 takes a free one."
    )
    max_body: ByteSize = Field(
        default=1_000_000,
        ge=1,
        description="Longest payload; a longer one is answered with 413. Raise it for catalogs that "
        "send the metadata of tables with very many snapshots.",
    )
    tls: DelegationTls | None = Field(default=None, description="Certificates; without them, HTTP.")
    realm: RealmName = Field(
        default="default-realm", description="The realm of clients that name no others."
    )
    realm_limit: int = Field(
        default=16,
        ge=1,
        description="Tasks of one realm that run at the same time, on all workers together.",
    )
    realm_limits: dict[RealmName, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict, description="Other limits, by realm."
    )
    clients: dict[ClientName, DelegationClient] = Field(
        default_factory=dict, description="Who may hand tasks over, by a name of your own."
    )
    realms: dict[RealmName, RealmSettings] = Field(
        default_factory=dict,
        description="What tasks of each realm may touch. Required when clients act for more than one "
        "realm. Without this section, tasks of the one realm may run every operation on every table of "
        "the executors' catalogs.",
    )
    issuers: tuple[OidcSettings, ...] = Field(
        default=(),
        description="Issuers whose access tokens with the scope `execute_tasks` are accepted.",
    )
    access_token_lifetime: Duration = Field(
        default=3600, ge=60, le=_DAY, description="How long the service's own access tokens live."
    )
    executors: tuple[PluginSection, ...] = Field(
        default=(), description="Plugins that run tasks; each operation is of one of them."
    )
    encryption_keys: tuple[SigningKey, ...] = Field(
        default=(),
        description="Encrypt credentials in payloads: the first encrypts, all decrypt; at least 32 "
        "characters. Without any, keys are derived from the signing keys.",
    )
    lease: LeaseSettings = Field(default=LeaseSettings(), description="How workers hold tasks.")
    retry: RetrySettings = Field(default=RetrySettings(), description="How tasks are tried again.")
    retry_overrides: dict[OperationName, RetryOverride] = Field(
        default_factory=dict, description="What is different for an operation, such as `TABLE_PURGE`."
    )
    worker: WorkerSettings = Field(default=WorkerSettings(), description="The workers of a process.")
    retention: Duration = Field(
        default=90 * _DAY,
        ge=_DAY,
        description="How long tasks are kept after their end, with their histories.",
    )
    callback: CallbackSettings | None = Field(
        default=None, description="Where the final state of tasks is pushed to."
    )

    def realms_of(self, client: DelegationClient) -> frozenset[str]:
        """The realms that a client acts for."""
        return frozenset(client.realms or (self.realm,))

    @property
    def client_realms(self) -> frozenset[str]:
        """The realms that any client acts for; without clients, the realm of the operator's tasks."""
        named = [self.realms_of(each) for each in self.clients.values()]
        return frozenset[str]().union(*named) if named else frozenset({self.realm})
