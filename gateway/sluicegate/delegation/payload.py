"""What catalogs hand over (polaris-delegation-service.md, the OpenAPI's `TaskPayload`)."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from sluicegate.delegation.payload_limits import check_shape
from sluicegate.errors import InvalidRequest, MalformedRequest, UnsupportedOperation
from sluicegate.yamlfile import nearest

PURGE = "TABLE_PURGE"
_ALIASES: Mapping[str, str] = {"SYNCHRONOUS_TABLE_PURGE": PURGE}
# What pydantic says in the words of Python.
_EXPECTED: Mapping[str, str] = {
    "missing": "it is missing",
    "model_type": "expected an object",
    "mapping_type": "expected an object",
    "dict_type": "expected an object",
    "tuple_type": "expected a list",
    "string_type": "expected a text, in quotes",
    "string_too_short": "it must not be empty",
    "too_short": "it must not be empty",
}
# Safe to store as it is; everything else of the parameters may hold credentials.
_SHOWN = {"table_identity", "metadata_location", "properties"}

_SHOWN_PROBLEMS = 20
_SHOWN_OF_PLACE = 200  # characters; its parts may be the payload's own keys
_MOST_LEVELS = 256  # of a namespace
_NO_NULL = r"^[^\x00]*$"  # PostgreSQL stores none
Name = Annotated[str, StringConstraints(min_length=1, max_length=1024, pattern=_NO_NULL)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=_NO_NULL)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class CommonPayload(_Part):
    """What all tasks have in common. `priority` is ours: 1 is first, 9 is last."""

    operation_type: Key
    realm_identifier: Key
    request_timestamp_utc: datetime | None = None
    polaris_correlation_id: Key | None = None
    priority: int = Field(default=5, ge=1, le=9)

    @property
    def operation(self) -> str:
        """The operation, whichever of its names was used."""
        return _ALIASES.get(self.operation_type, self.operation_type)


class TableIdentity(_Part):
    """Which table."""

    table_entity_id: Name
    catalog_name: Name
    namespace_levels: Annotated[tuple[Name, ...], Field(min_length=1, max_length=_MOST_LEVELS)]
    table_name: Name


class TableMetadata(BaseModel):
    """The table's metadata; what the purge needs has to be there."""

    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    location: Name
    table_uuid: Name = Field(alias="table-uuid")
    format_version: int = Field(alias="format-version", ge=1, le=2**31 - 1)


class PurgeTableOperationParameters(BaseModel):
    """Parameters of an operation on a table; what else is sent is kept for its executor."""

    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    table_identity: TableIdentity
    metadata_location: Name | None = None
    metadata: TableMetadata | None = None
    config: Mapping[str, str] | None = Field(default=None, repr=False)
    properties: Mapping[str, str] = Field(default_factory=dict)


class TaskPayload(_Part):
    """A whole payload."""

    common_payload: CommonPayload
    operation_parameters: PurgeTableOperationParameters

    @classmethod
    def parse(cls, body: bytes, longest: int = 0) -> TaskPayload:
        """Read a request's body.

        Args:
            body: Of any length.
            longest: Most bytes of a body, as configured; see `check_shape`.

        Raises:
            MalformedRequest: It is no JSON, is nested too deeply or has too many members.
            InvalidRequest: It is no payload; the message names each place.
        """
        check_shape(body, longest)
        try:
            document = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise MalformedRequest(
                f"the payload is not JSON, from line {error.lineno}, column {error.colno} on"
            ) from None
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise InvalidRequest(_problems(error)) from None

    def check_operation(self, offered: Collection[str]) -> None:
        """Refuse an operation that no executor runs.

        Args:
            offered: The operations of the configured executors.

        Raises:
            UnsupportedOperation: It is none of these; the message names the nearest.
        """
        if self.common_payload.operation not in offered:
            named = self.common_payload.operation_type
            raise UnsupportedOperation(
                f"operation '{named}' is not offered here{nearest(named, sorted(offered))}"
            )

    @property
    def shown(self) -> dict[str, Any]:
        """What may be stored and shown as it is."""
        common = self.common_payload.model_dump(mode="json", exclude_none=True, exclude={"priority"})
        parameters = self.operation_parameters.model_dump(
            mode="json", include=_SHOWN, exclude_none=True
        )
        return {"common_payload": common, "operation_parameters": parameters}

    @property
    def hidden(self) -> dict[str, Any]:
        """What has to be sealed.

        Raises:
            InvalidRequest: It is nested deeper than can be written.
        """
        try:
            return self.operation_parameters.model_dump(
                mode="json", by_alias=True, exclude=_SHOWN, exclude_none=True
            )
        except ValueError:
            raise InvalidRequest("operation_parameters: it is nested too deeply") from None

    @property
    def digest(self) -> bytes:
        """Tells a repeat, with newer credentials perhaps, from a request for something else."""
        asked = [self.common_payload.operation, self.shown["operation_parameters"]]
        return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).digest()


def subject_of(realm: str, payload: Mapping[str, Any]) -> str:
    """The table of a stored payload: of unfinished tasks, each table has one."""
    table = payload["operation_parameters"]["table_identity"]
    return orjson.dumps([realm, table["catalog_name"], table["table_entity_id"]]).decode()


def _problems(error: ValidationError) -> str:
    """What is wrong, as far as people read it: a list may have a problem with each of its items."""
    found = error.errors(include_input=False, include_context=False, include_url=False)
    more = len(found) - _SHOWN_PROBLEMS
    shown = list(map(_problem, found[:_SHOWN_PROBLEMS]))
    return "; ".join(shown + ([f"and {more} more problems"] if more > 0 else []))


def _problem(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"])[:_SHOWN_OF_PLACE] or "the payload"
    message = _EXPECTED.get(error["type"]) or str(error["msg"])
    return f"{place}: {message[:1].lower()}{message[1:]}"
