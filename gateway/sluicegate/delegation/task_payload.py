"""Models of submitted tasks (Polaris delegation proposal, the OpenAPI's `TaskPayload`)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from sluicegate.api.errors import InvalidRequest, MalformedRequest, UnsupportedOperation
from sluicegate.config.yaml import nearest

MOST_LEVELS = 100  # nested types of a table's schema take three or four levels each
_BYTES_OF_MEMBER = 10  # minimum; members of metadata have some 30 bytes
_FEWEST_MEMBERS = 100_000
# Skips strings, even unterminated ones. Possessive, so that each byte is read only once.
_TOKENS = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?|[\[{]|[\]}]', re.DOTALL)


def check_shape(body: bytes, longest: int) -> None:
    """Reject JSON that is deeply nested or has too many members."""
    most = max(_FEWEST_MEMBERS, longest // _BYTES_OF_MEMBER)
    # Commas in strings are also counted, so the number is not exact.
    if body.count(b",") + body.count(b"[") + body.count(b"{") > most:
        raise MalformedRequest(f"the payload has more than {most:,} members")
    depth = 0
    for token in _TOKENS.finditer(body):
        first = token[0][:1]
        if first in b"[{":
            depth += 1
            if depth > MOST_LEVELS:
                raise MalformedRequest(f"the payload is nested more than {MOST_LEVELS} levels deep")
        elif first in b"]}":
            depth -= 1


PURGE = "TABLE_PURGE"
_ALIASES: Mapping[str, str] = {"SYNCHRONOUS_TABLE_PURGE": PURGE}
# Messages of pydantic that use Python's terms, and their replacements.
_EXPECTED: Mapping[str, str] = {
    "missing": "it is missing",
    "model_type": "expected an object",
    "mapping_type": "expected an object",
    "dict_type": "expected an object",
    "tuple_type": "expected a list",
    "string_type": "expected a string, in quotes",
    "string_too_short": "it must not be empty",
    "too_short": "it must not be empty",
}
# Safe to store unencrypted. All other parameters might contain credentials.
_SHOWN = {"table_identity", "metadata_location", "properties"}

_SHOWN_PROBLEMS = 20
_SHOWN_OF_PLACE = 200  # characters; its parts might be keys from the payload
_MOST_LEVELS = 256  # of a namespace
_NO_NULL = r"^[^\x00]*$"  # PostgreSQL can't store null characters
Name = Annotated[str, StringConstraints(min_length=1, max_length=1024, pattern=_NO_NULL)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=_NO_NULL)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class CommonPayload(_Part):
    """Parameters that all tasks have in common.

    `priority` is an extension: 1 is highest, 9 is lowest.
    """

    operation_type: Key
    realm_identifier: Key
    request_timestamp_utc: datetime | None = None
    polaris_correlation_id: Key | None = None
    priority: int = Field(default=5, ge=1, le=9)

    @property
    def operation(self) -> str:
        """Return the operation, whichever alias was used."""
        return _ALIASES.get(self.operation_type, self.operation_type)


class TableIdentity(_Part):
    """Identifies a table."""

    table_entity_id: Name
    catalog_name: Name
    namespace_levels: Annotated[tuple[Name, ...], Field(min_length=1, max_length=_MOST_LEVELS)]
    table_name: Name


class TableMetadata(BaseModel):
    """The table's metadata; the fields that a purge needs are required."""

    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    location: Name
    table_uuid: Name = Field(alias="table-uuid")
    format_version: int = Field(alias="format-version", ge=1, le=2**31 - 1)


class PurgeTableOperationParameters(BaseModel):
    """Parameters of an operation on a table. Additional members are kept for its executor."""

    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    table_identity: TableIdentity
    metadata_location: Name | None = None
    metadata: TableMetadata | None = None
    config: Mapping[str, str] | None = Field(default=None, repr=False)
    properties: Mapping[str, str] = Field(default_factory=dict)


class TaskPayload(_Part):
    """A complete payload."""

    common_payload: CommonPayload
    operation_parameters: PurgeTableOperationParameters

    @classmethod
    def parse(cls, body: bytes, longest: int = 0) -> TaskPayload:
        """Parse a request's body."""
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
        """Reject an operation that no executor runs."""
        if self.common_payload.operation not in offered:
            named = self.common_payload.operation_type
            raise UnsupportedOperation(
                f"operation '{named}' is not offered here{nearest(named, sorted(offered))}"
            )

    @property
    def shown(self) -> dict[str, Any]:
        """Return the parameters that can be stored and displayed unencrypted."""
        common = self.common_payload.model_dump(mode="json", exclude_none=True, exclude={"priority"})
        parameters = self.operation_parameters.model_dump(
            mode="json", include=_SHOWN, exclude_none=True
        )
        return {"common_payload": common, "operation_parameters": parameters}

    @property
    def hidden(self) -> dict[str, Any]:
        """Return the parameters that must be encrypted."""
        try:
            return self.operation_parameters.model_dump(
                mode="json", by_alias=True, exclude=_SHOWN, exclude_none=True
            )
        except ValueError:
            raise InvalidRequest("operation_parameters: nested too deeply") from None

    @property
    def has_credentials(self) -> bool:
        """Return whether it contains non-empty members that might contain credentials."""
        parameters = self.operation_parameters
        return bool(parameters.config) or any((parameters.model_extra or {}).values())

    @property
    def digest(self) -> bytes:
        """Return a digest that identifies repeated requests; it excludes credentials."""
        content = [self.common_payload.operation, self.shown["operation_parameters"]]
        return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).digest()


def subject_of(realm: str, payload: Mapping[str, Any]) -> str:
    """Return the table of a stored payload. Each table has at most one unfinished task."""
    table = payload["operation_parameters"]["table_identity"]
    return orjson.dumps([realm, table["catalog_name"], table["table_entity_id"]]).decode()


def _problems(error: ValidationError) -> str:
    """Describe validation errors. Long lists are abbreviated, because each item might be invalid."""
    found = error.errors(include_input=False, include_context=False, include_url=False)
    more = len(found) - _SHOWN_PROBLEMS
    shown = list(map(_problem, found[:_SHOWN_PROBLEMS]))
    return "; ".join(shown + ([f"and {more} more problems"] if more > 0 else []))


def _problem(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"])[:_SHOWN_OF_PLACE] or "the payload"
    message = _EXPECTED.get(error["type"]) or str(error["msg"])
    return f"{place}: {message[:1].lower()}{message[1:]}"
