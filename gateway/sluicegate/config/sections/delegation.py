"""The section `delegation`: the delegation service, its workers, and the clients that submit tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, SecretStr, StringConstraints, model_validator

from sluicegate._util.units import Duration
from sluicegate.api.delegation.realm_grants import comparable_location
from sluicegate.api.errors import InvalidRequest
from sluicegate.config.model import HttpUrl, PluginSection, SettingsModel, SigningKey
from sluicegate.config.sections.authentication import IssuerSettings, IssuersOf
from sluicegate.config.sections.schedules import ScheduleName, ScheduleSettings


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
_REMOVED_FROM_RETRY = {"backoff_multiplier": "2", "jitter": "0.1"}


class RetrySettings(SettingsModel):
    """Attempts of a task, and the delays between them (section "Task Retry" of the document)."""

    removed_keys: ClassVar[Mapping[str, str]] = _REMOVED_FROM_RETRY

    max_attempts: int = Field(default=5, ge=1, description="Maximum number of attempts.")
    initial_backoff: Duration = Field(
        default=30,
        ge=0,
        description="Delay after the first failed attempt. It doubles after each further one.",
    )
    max_backoff: Duration = Field(default=3600, ge=0, description="Longest delay.")


class RetryOverride(SettingsModel):
    """Retry settings of one operation. Keys that are not set have the values in `delegation.retry`."""

    removed_keys: ClassVar[Mapping[str, str]] = _REMOVED_FROM_RETRY

    max_attempts: int | None = Field(default=None, ge=1, description="Maximum number of attempts.")
    initial_backoff: Duration | None = Field(default=None, ge=0, description="First delay.")
    max_backoff: Duration | None = Field(default=None, ge=0, description="Longest delay.")


class LeaseSettings(SettingsModel):
    """Leases of tasks (section "Task Resiliency and Lease Management" of the document)."""

    ttl: Duration = Field(
        default=3600,
        ge=5,
        description="How long after the last heartbeat of a worker other workers can take over its "
        "task.",
    )
    heartbeat: Duration = Field(
        default=30, ge=1, description="How often workers send a heartbeat and store progress."
    )

    @model_validator(mode="after")
    def _beats_in_time(self) -> Self:
        if self.heartbeat * 2 > self.ttl:
            raise ValueError("heartbeat must be at most half of ttl, so that one can be late")
        return self


class WorkerSettings(SettingsModel):
    """The workers of one process."""

    concurrency: int = Field(default=1, ge=1, le=64, description="Tasks that run at the same time.")
    poll_interval: Duration = Field(
        default=5, ge=1, description="How often an idle worker looks for a task."
    )
    drain_timeout: Duration = Field(
        default=30,
        ge=0,
        description=(
            "How long running tasks can continue after SIGTERM. After that, the worker releases them, "
            "and the attempt does not count."
        ),
    )
    cancel_timeout: Duration = Field(
        default=30,
        ge=0,
        description=(
            "How long an executor can take to stop after it was cancelled. After that, the worker "
            "exits without waiting for it."
        ),
    )


class DelegationClient(SettingsModel):
    """A catalog that is allowed to submit tasks."""

    secret: SecretStr | None = Field(
        default=None,
        description="Its OAuth 2.0 client secret, with which it gets access tokens of the service. The "
        "client id is its name here.",
    )
    subjects: tuple[str, ...] = Field(
        default=(), description="Values of the issuer's claim (see `issuers`) that identify it."
    )
    certificates: tuple[str, ...] = Field(
        default=(), description="Subjects (RFC 4514) of the client certificates that identify it."
    )
    realms: tuple[RealmName, ...] = Field(
        default=(), description="Realms that it can act for; empty for only `delegation.realm`."
    )


class RealmSettings(SettingsModel):
    """Catalogs, locations and operations that tasks of a realm can use. All others are forbidden."""

    catalogs: tuple[str, ...] = Field(
        default=(), description="Catalogs of the executors whose tables its tasks can name."
    )
    locations: tuple[GrantedLocation, ...] = Field(
        default=(),
        description="Directories, such as `s3://bucket/prefix/`, that contain every file of its "
        "tables, including the tables of its catalogs.",
    )
    operations: tuple[OperationName, ...] = Field(
        default=(), description="Operations that its clients can submit, such as `TABLE_PURGE`."
    )


class DelegationTls(SettingsModel):
    """TLS of the service. With `client_ca`, it is mutual TLS."""

    certificate: str = Field(description="File with the certificate chain, PEM.")
    key: str = Field(description="File with the private key, PEM.")
    client_ca: str | None = Field(
        default=None,
        description="File with the authorities whose client certificates are accepted. If it is set, "
        "every connection needs a client certificate.",
    )


class CallbackSettings(SettingsModel):
    """The receiver of the final states of tasks."""

    url: HttpUrl = Field(description="URL to which the service sends the task's record with POST.")
    token: SecretStr | None = Field(default=None, description="Bearer token of these requests.")


class DelegationSettings(SettingsModel):
    """The delegation service, which runs long tasks for catalogs."""

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(
        default=8182, ge=0, le=65_535, description="Port to listen on; 0 selects a free port."
    )
    tls: DelegationTls | None = Field(
        default=None,
        description="Certificates for HTTPS. If they are not set, the service serves HTTP.",
    )
    realm: RealmName = Field(
        default="default-realm", description="The realm of clients without `realms`."
    )
    max_running_per_realm: int = Field(
        default=16,
        ge=1,
        description="Maximum number of concurrent tasks of one realm, on all workers together.",
    )
    realm_limits: dict[RealmName, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict, description="Different maximums for some realms, by realm."
    )
    operation_limits: dict[OperationName, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict,
        description="Maximum number of concurrent tasks of an operation, on all workers together, by "
        "operation, such as `TABLE_COMPACTION`.",
    )
    clients: dict[ClientName, DelegationClient] = Field(
        default_factory=dict,
        description="Catalogs that are allowed to submit tasks, by a name that you choose.",
    )
    realms: dict[RealmName, RealmSettings] = Field(
        default_factory=dict,
        description="What tasks of each realm can access. Required if clients act for more than one "
        "realm. Without this section, tasks of the only realm can run every operation on every table "
        "of the executors' catalogs.",
    )
    issuers: IssuersOf[IssuerSettings] = Field(
        default=(),
        description="Issuers whose access tokens with the scope `execute_tasks` are accepted. "
        "The claim of a token must be in the `subjects` of one of the `clients`.",
    )
    access_token_lifetime: Duration = Field(
        default=3600, ge=60, le=_DAY, description="How long access tokens of the service are valid."
    )
    executors: tuple[PluginSection, ...] = Field(
        default=(), description="Plugins that run tasks. Each operation belongs to one of them."
    )
    encryption_keys: tuple[SigningKey, ...] = Field(
        default=(),
        description="Keys for credentials in payloads, at least 32 characters each. The first "
        "encrypts; all decrypt. If there are none, keys are derived from the signing keys.",
    )
    lease: LeaseSettings = Field(default=LeaseSettings(), description="Leases of tasks.")
    retry: RetrySettings = Field(default=RetrySettings(), description="Retries of failed tasks.")
    retry_overrides: dict[OperationName, RetryOverride] = Field(
        default_factory=dict,
        description="Different retry settings of operations, by operation, such as `TABLE_PURGE`.",
    )
    worker: WorkerSettings = Field(default=WorkerSettings(), description="The workers of a process.")
    schedules: dict[ScheduleName, ScheduleSettings] = Field(
        default_factory=dict,
        description="Tasks that the service submits by itself, by a name that you choose.",
    )
    retention: Duration = Field(
        default=90 * _DAY,
        ge=_DAY,
        description="How long completed tasks are stored, with their histories.",
    )
    callback: CallbackSettings | None = Field(
        default=None, description="The receiver of the final states of tasks."
    )

    def realms_of(self, client: DelegationClient) -> frozenset[str]:
        """The realms that a client acts for."""
        return frozenset(client.realms or (self.realm,))

    @property
    def client_realms(self) -> frozenset[str]:
        """The realms that any client acts for; without clients, the realm of the operator's tasks."""
        named = [self.realms_of(each) for each in self.clients.values()]
        return frozenset[str]().union(*named) if named else frozenset({self.realm})
