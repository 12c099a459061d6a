"""Client for catalogs in Python: runs tasks locally or delegates them, depending on configuration.

Source: Polaris delegation proposal, "Code Refactors" (a factory returns the executor of the strategy).
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self
from uuid import uuid4

import aiohttp
from pydantic import SecretStr, model_validator

from sluicegate.api.delegation.issued import IssuedAccess
from sluicegate.api.delegation.realm_grants import RealmGrant
from sluicegate.api.delegation.tasks import (
    DelegatedTask,
    TaskExecutor,
    TaskFailed,
    TaskProgress,
    TaskResult,
)
from sluicegate.api.errors import ConfigurationError, PermissionDenied, Unavailable
from sluicegate.config.model import HttpUrl, SettingsModel
from sluicegate.delegation.rest.responses import PREFIX

_PAUSES = (0.5, 3.0)  # seconds before a call is retried; enough for a service to restart
_EARLY_SECONDS = 60
_LATER = (429, 503)  # the service might accept the request later
_BEARER = "Bearer"
_BROKEN = (aiohttp.ClientError, TimeoutError, OSError)


class TaskClientConfig(SettingsModel):
    """The strategy, and the address of the service."""

    task_type: Literal["local", "delegated"] = "local"
    endpoint: HttpUrl | None = None
    client_id: str = ""
    client_secret: SecretStr = SecretStr("")
    token_url: HttpUrl | None = None

    @model_validator(mode="after")
    def _has_an_endpoint(self) -> Self:
        if self.task_type == "delegated" and self.endpoint is None:
            raise ValueError("tasks can only be delegated with an endpoint")
        return self


class TaskStrategy(ABC):
    """Runs a task to completion, in this process or in the service."""

    @abstractmethod
    async def execute(self, task: DelegatedTask) -> TaskResult:
        """Run a task.

        Its `id` and `attempt` are ignored. If `correlation_id` is missing, one is generated.
        """

    async def aclose(self) -> None:  # noqa: B027 (most strategies have nothing to release)
        """Release connections."""


def task_strategy(
    config: TaskClientConfig, executors: Mapping[str, TaskExecutor] | None = None
) -> TaskStrategy:
    """Return the configured strategy."""
    return Delegated(config) if config.task_type == "delegated" else Local(executors or {})


class Local(TaskStrategy):
    """Runs tasks in this process, once and without a lease."""

    def __init__(self, executors: Mapping[str, TaskExecutor]) -> None:
        self._executors = executors

    async def execute(self, task: DelegatedTask) -> TaskResult:
        """Run a task with its executor. Exceptions of the executor are passed on unchanged.

        A task without a grant can access the tables of every catalog of the executor: the caller is
        the only client.
        """
        executor = self._executors.get(task.operation)
        if executor is None:
            raise ConfigurationError(f"no executor for '{task.operation}' is configured")
        if task.grant == RealmGrant():
            task = replace(task, grant=RealmGrant(None, None, None))
        resources = await executor.acquire(task)
        return await executor.run(task, resources, _LocalRun(task))

    async def aclose(self) -> None:
        """Close the executors."""
        for executor in self._executors.values():
            await executor.aclose()


@dataclass(frozen=True, slots=True)
class _LocalRun:
    task: DelegatedTask
    stages: list[str] = field(default_factory=list)

    def report(self, progress: TaskProgress) -> None:
        """Ignore progress, because nothing displays it."""

    async def finish_stage(self, stage: str) -> None:
        """Record the stage for the duration of the attempt."""
        self.stages.append(stage)

    async def check_lease(self) -> None:
        """Do nothing, because there is no lease."""

    async def renewed_config(self) -> Mapping[str, str] | None:
        """Return the initial credentials."""
        return self.task.config

    async def issued_access(
        self, since: int, after: tuple[int, str] | None, limit: int
    ) -> Sequence[IssuedAccess]:
        """Return nothing: there is no ledger without a service."""
        return ()


class Delegated(TaskStrategy):
    """Submits tasks to the service and waits for their completion.

    If a connection breaks, the call is retried. Its correlation id makes it join the same task.
    """

    def __init__(self, config: TaskClientConfig) -> None:
        self._config = config
        self._api = f"{config.endpoint}{PREFIX}"
        # A synchronous call takes as long as its task.
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None, connect=10))
        self._token = ""
        self._renew_at = 0.0

    async def execute(self, task: DelegatedTask) -> TaskResult:
        """Submit a task and wait for its completion."""
        named = replace(task, correlation_id=task.correlation_id or str(uuid4()))
        pauses = iter(_PAUSES)
        while True:
            try:
                return await self._call(payload_of(named))
            except _BROKEN as error:
                if (pause := next(pauses, None)) is None:
                    raise Unavailable(
                        "the delegation service does not respond", detail=type(error).__name__
                    ) from error
            await asyncio.sleep(pause)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def _call(self, payload: dict[str, Any]) -> TaskResult:
        status, answer = await self._posted(payload)
        if status == 401:  # the keys that signed the token might no longer exist
            self._renew_at = 0.0
            status, answer = await self._posted(payload)
        if status == 200:
            result = dict(answer.get("execution_result", {}))
            files, size = result.pop("files_deleted", None), result.pop("bytes_deleted", None)
            return TaskResult(answer.get("message", ""), files, size, result)
        message = str(answer.get("message", "the delegation service rejected the task"))
        if status in (401, 403) and answer.get("error_code") != "NOT_GRANTED":
            raise PermissionDenied(message)
        if status in _LATER:
            raise Unavailable(message)
        raise TaskFailed(message, error_code=answer.get("error_code", "INTERNAL_ERROR"))

    async def _posted(self, payload: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        url = f"{self._api}/v1/tasks/execute/synchronous"
        headers = {"Authorization": f"{_BEARER} {await self._access_token()}"}
        async with self._session.post(url, json=payload, headers=headers) as response:
            return response.status, await response.json()

    async def _access_token(self) -> str:
        if time.monotonic() >= self._renew_at:
            form = {
                "grant_type": "client_credentials",
                "client_id": self._config.client_id,
                "client_secret": self._config.client_secret.get_secret_value(),
                "scope": "execute_tasks",
            }
            url = self._config.token_url or f"{self._api}/v1/oauth/tokens"
            async with self._session.post(url, data=form) as response:
                answer = await response.json()
            if response.status in _LATER:
                raise Unavailable("the delegation service is too busy to issue an access token")
            if response.status != 200:
                raise PermissionDenied(f"no access token: {answer.get('error', response.status)}")
            self._token = str(answer["access_token"])
            lifetime = int(answer.get("expires_in", 0))  # not every server returns it
            self._renew_at = time.monotonic() + lifetime - _EARLY_SECONDS
        return self._token


def payload_of(task: DelegatedTask) -> dict[str, Any]:
    """Return a task in the form of the API ("TaskPayload")."""
    common = {
        "operation_type": task.operation,
        "realm_identifier": task.realm,
        "polaris_correlation_id": task.correlation_id,
    }
    parameters = {
        **task.further,
        "table_identity": {
            "table_entity_id": task.table.entity_id,
            "catalog_name": task.table.catalog,
            "namespace_levels": list(task.table.namespace),
            "table_name": task.table.name,
        },
        "properties": dict(task.properties),
        "metadata_location": task.metadata_location,
        "metadata": task.metadata,
        "config": None if task.config is None else dict(task.config),
    }
    return {
        "common_payload": {name: value for name, value in common.items() if value is not None},
        "operation_parameters": {name: each for name, each in parameters.items() if each is not None},
    }
