"""The document's own tables and schemas, line by line, held to what the service does.

Source: Polaris delegation proposal, "Status Enum", the OpenAPI of its appendix, "Task Retry".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.servers.delegation import API, PURGE, Desk, Failing, Waiting, body, running_service

from sluicegate.api import TaskFailed
from sluicegate.audit.actions import operation_key, read_operations
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.delegation.queue.records import STATUSES, Status, may_follow
from sluicegate.delegation.queue.retry_policy import BACKOFF_MULTIPLIER, RetryPolicies
from sluicegate.delegation.rest import responses
from sluicegate.delegation.rest.responses import PREFIX, SCOPE, TOKEN_PATH

DESCRIBED = Path(responses.__file__).with_name("openapi.yaml")

# "Can Transition To", where the proposal contradicts itself: a worker always acquires resources first.
# A task that waits can be cancelled, a leased one can be lost, and an operator may retry a failed one.
TRANSITIONS: dict[Status, set[Status]] = {
    "SUBMITTED": {"ACQUIRING_RESOURCES"},
    "ACQUIRING_RESOURCES": {"RUNNING", "RETRY_SCHEDULED", "FAILURE"},
    "RUNNING": {"SUCCESS", "RETRY_SCHEDULED", "FAILURE"},
    "RETRY_SCHEDULED": {"ACQUIRING_RESOURCES"},
    "SUCCESS": set(),
    "FAILURE": set(),
}
OURS: dict[Status, set[Status]] = {
    "SUBMITTED": {"FAILURE"},
    "ACQUIRING_RESOURCES": {"ACQUIRING_RESOURCES"},
    "RUNNING": {"ACQUIRING_RESOURCES"},
    "RETRY_SCHEDULED": {"FAILURE"},
    "SUCCESS": set(),
    "FAILURE": {"SUBMITTED"},
}


@pytest.mark.parametrize("before", STATUSES)
def test_states_follow_as_the_document_says(before: Status) -> None:
    followers = {after for after in STATUSES if may_follow(before, after)}
    assert followers == TRANSITIONS[before] | OURS[before]


def test_the_retry_section_is_the_default_configuration() -> None:
    settings = DelegationSettings()
    retry = settings.retry
    assert settings.lease.ttl == 3600
    assert (retry.max_attempts, retry.initial_backoff) == (5, 30)
    assert (BACKOFF_MULTIPLIER, retry.max_backoff) == (2.0, 3600)


def test_the_documents_override_of_a_type_leaves_other_types_and_other_keys_alone() -> None:
    override = {PURGE: {"max_attempts": 10, "initial_backoff": "1m"}}
    settings = DelegationSettings.model_validate({"retry_overrides": override})
    policies = RetryPolicies(settings)
    purge = policies.policy(PURGE)
    assert (purge.max_attempts, purge.initial_backoff) == (10, 60)
    assert purge.max_backoff == 3600
    assert policies.policy("TABLE_COMPACTION") == settings.retry


# Each schema of the appendix: its fields, and those that are required.
SCHEMAS: dict[str, tuple[set[str], set[str]]] = {
    "TaskPayload": (
        {"common_payload", "operation_parameters"},
        {"common_payload", "operation_parameters"},
    ),
    "CommonPayload": (
        {
            "operation_type",
            "request_timestamp_utc",
            "realm_identifier",
            "polaris_correlation_id",
        },
        {"operation_type", "realm_identifier"},
    ),
    # The proposal requires them; here metadata, its location and config are optional.
    "PurgeTableOperationParameters": (
        {"table_identity", "metadata_location", "metadata", "config", "properties"},
        {"table_identity"},
    ),
    "TableIdentity": (
        {"table_entity_id", "catalog_name", "namespace_levels", "table_name"},
        {"table_entity_id", "catalog_name", "namespace_levels", "table_name"},
    ),
    "TableMetadata": (
        {"location", "table-uuid", "format-version"},
        {"location", "table-uuid", "format-version"},
    ),
    "TaskSuccessResponse": (
        {"delegation_task_id", "status", "message", "execution_result"},
        {"delegation_task_id", "status"},
    ),
    "ErrorResponse": (
        {"delegation_task_id", "status", "error_code", "message", "details"},
        {"error_code", "message"},
    ),
}
ADDED = {"CommonPayload": {"priority"}}
SYNCHRONOUS = "/v1/tasks/execute/synchronous"


async def document(desk: Desk) -> dict[str, Any]:
    async with running_service(desk, Waiting(), with_worker=False) as service:
        answer: dict[str, Any] = (await service.http.get(f"{API}/openapi.json")).json()
    return answer


async def test_schemas_have_the_documents_fields_and_no_others_are_required(desk: Desk) -> None:
    schemas = (await document(desk))["components"]["schemas"]
    for name, (fields, required) in SCHEMAS.items():
        assert set(schemas[name]["properties"]) == fields | ADDED.get(name, set()), name
        assert set(schemas[name]["required"]) == required, name
    result = schemas["TaskSuccessResponse"]["properties"]["execution_result"]["properties"]
    assert {name: each["format"] for name, each in result.items()} == {
        "files_deleted": "int64",
        "bytes_deleted": "int64",
    }
    assert schemas["TaskSuccessResponse"]["properties"]["status"] == {"const": "COMPLETED_SUCCESS"}
    assert schemas["ErrorResponse"]["properties"]["status"] == {"const": "FAILED_TERMINAL"}


async def test_the_synchronous_call_has_the_documents_answers_and_security(desk: Desk) -> None:
    described = await document(desk)
    call = described["paths"][SYNCHRONOUS]["post"]
    assert call["operationId"] == "executeSynchronousTask"
    documented = {"200", "400", "401", "403", "409", "500", "502"}
    assert set(call["responses"]) == documented | {"413", "429", "503"}
    flows = described["components"]["securitySchemes"]["OAuth2"]["flows"]
    assert list(flows["clientCredentials"]["scopes"]) == ["execute_tasks"]
    assert {"OAuth2": ["execute_tasks"]} in described["security"]
    assert {"BearerAuth": []} in described["security"]


async def test_values_that_the_document_repeats_are_those_of_the_service(desk: Desk) -> None:
    described = await document(desk)
    listed = described["paths"]["/v1/tasks"]["get"]["parameters"]
    [status] = [each["schema"] for each in listed if each["name"] == "status"]
    assert status["enum"] == [*STATUSES]
    flow = described["components"]["securitySchemes"]["OAuth2"]["flows"]["clientCredentials"]
    assert (list(flow["scopes"]), flow["tokenUrl"].endswith(TOKEN_PATH)) == ([SCOPE], True)
    assert described["servers"][0]["url"].endswith(PREFIX)
    assert read_operations([DESCRIBED], PREFIX) == {
        operation_key(method, PREFIX + path): operation["operationId"]
        for path, item in described["paths"].items()
        for method, operation in item.items()
    }


def _leave_out(value: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    name, *inner = path
    if not inner:
        return {key: each for key, each in value.items() if key != name}
    return value | {name: _leave_out(value[name], tuple(inner))}


METADATA = {"location": "s3://lake/t1", "table-uuid": "9c12d441", "format-version": 2}
_PARAMETERS = "operation_parameters"
FIELDS: dict[tuple[str, ...], bool] = {
    **{
        (part, name): name in SCHEMAS[schema][1]
        for part, schema in (
            ("common_payload", "CommonPayload"),
            (_PARAMETERS, "PurgeTableOperationParameters"),
        )
        for name in SCHEMAS[schema][0]
    },
    **{(_PARAMETERS, "table_identity", name): True for name in SCHEMAS["TableIdentity"][0]},
    **{(_PARAMETERS, "metadata", name): True for name in SCHEMAS["TableMetadata"][0]},
    ("common_payload",): True,
    (_PARAMETERS,): True,
}


async def test_a_payload_without_a_required_field_is_a_400_and_without_others_is_taken(
    desk: Desk,
) -> None:
    executor = Failing(TaskFailed("no", error_code="ENGINE_FAILED"))
    async with running_service(desk, executor, with_worker=False) as service:
        for number, (path, required) in enumerate(FIELDS.items()):
            whole = body(
                f"T{number}",
                correlation_id=f"drop-{number}",
                metadata_location="s3://lake/t1/metadata/1.metadata.json",
                metadata=METADATA,
                config={"s3.region": "eu-west-1"},
                properties={"skipTrash": "true"},
            )
            answer = await service.post("", _leave_out(whole, path))
            assert answer.status_code == (400 if required else 202), path
            if required:
                assert path[-1] in answer.json()["message"], path
