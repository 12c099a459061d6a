"""A request of an authenticated administrator, and the responses to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio.to_thread
import orjson
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from sluicegate.admin.conditions import Conditions, entity_tag
from sluicegate.admin.identity import Admin
from sluicegate.api import Principal
from sluicegate.api.errors import ConfigurationError, InvalidRequest, NotFound
from sluicegate.audit.trail import note_admin
from sluicegate.config.yaml import JsonDocument, nearest, validate
from sluicegate.database.names import check_name
from sluicegate.http.bodies import read_body
from sluicegate.http.concurrency_limit import slots_of
from sluicegate.http.responses import JSON, NOT_STORED
from sluicegate.protocols.common.pagination import PageRequest
from sluicegate.protocols.common.parameters import boolean, json_object
from sluicegate.telemetry import name_recipient

T = TypeVar("T")
_Model = TypeVar("_Model", bound=BaseModel)
# Bytes. Longer bodies are decoded and validated in a thread.
_LONG = 65_536
READ_ONLY = ("name",)
"""Keys of resources that are not in the shares file."""


@dataclass(frozen=True, slots=True)
class AdminCall:
    """A request, its sender, and the names in its path."""

    request: Request
    admin: Admin
    max_body: int

    def name(self, parameter: str) -> str:
        """A name in the path."""
        return name_in_path(self.request, parameter)

    @property
    def conditions(self) -> Conditions:
        """The preconditions of the request."""
        return Conditions.parse(self.request.headers)

    @property
    def principal(self) -> Principal:
        """The administrator as a principal, to which page tokens are bound."""
        return self.admin.principal

    def page(self, *more: str) -> PageRequest:
        """The requested page of the listing at this path, which has the parameters `more`."""
        return PageRequest.parse(self.query(*more), self.principal, self.request.url.path)

    def query(self, *more: str) -> Mapping[str, str]:
        """The query parameters."""
        known = ("maxResults", "pageToken", *more)
        for name, value in self.request.query_params.items():
            if name not in known:
                raise InvalidRequest(f"unknown parameter '{name[:64]}'{nearest(name[:64], known)}")
            if "\0" in value:
                raise InvalidRequest(f"{name} cannot contain a null character")
        return self.request.query_params

    async def json(self, model: type[BaseModel]) -> Any:
        """The body as JSON; an empty body is an empty object.

        Only long bodies are validated already.
        """
        body = await read_body(self.request, self.max_body)
        if len(body) <= _LONG:
            return json_object(body)
        return await anyio.to_thread.run_sync(_decoded_and_checked, body, model)

    async def parsed(self, parse: Callable[[dict[str, Any]], T]) -> T:
        """What a function makes of the body, a JSON object. Long bodies are parsed in a thread."""
        body = await read_body(self.request, self.max_body)
        if len(body) <= _LONG:
            return parse(json_object(body))
        return await anyio.to_thread.run_sync(lambda: parse(json_object(body)))

    async def parse(self, model: type[_Model]) -> _Model:
        """The body as a model."""
        document = JsonDocument(await self.json(model))
        with refused_input():
            return validate(model, document)


def kept_content(call: AdminCall, keys: Collection[str]) -> Collection[str]:
    """The keys that a `PUT` keeps: `keys` or none."""
    return keys if boolean("keep_content", call.query("keep_content").get("keep_content")) else ()


def name_in_path(request: Request, parameter: str) -> str:
    """A name in the path of a request."""
    try:
        return check_name("entry", str(request.path_params[parameter]))
    except ValueError as error:
        raise NotFound(f"{parameter}: {error}") from None


async def count_request(request: Request, admin: Admin) -> None:
    """Count a request for its administrator instead of its address."""
    note_admin(admin.name, admin.method, admin.role)
    sender = f"admin:{admin.name}"
    name_recipient(sender)
    slots = slots_of(request.scope)
    if slots is not None and not slots.enter_now(sender):
        await slots.enter(sender)


@contextmanager
def refused_input() -> Iterator[None]:
    """Turns errors of a configuration into errors of a request, because the client sent the content."""
    try:
        yield
    except ConfigurationError as error:
        raise InvalidRequest(error.message) from None


def represented(content: Any, call: AdminCall, status: int = 200) -> Response:
    """A resource with its entity tag; 304 if the client of a GET has it already."""
    headers = {**NOT_STORED, "ETag": entity_tag(content)}
    if call.request.method in ("GET", "HEAD") and call.conditions.is_unchanged(content):
        return Response(status_code=304, headers=headers)
    return Response(orjson.dumps(content), status, headers, JSON)


def answered(content: Any, status: int = 200) -> Response:
    """A JSON response that is not a resource."""
    return Response(orjson.dumps(content), status, dict(NOT_STORED), JSON)


def _decoded_and_checked(body: bytes, model: type[BaseModel]) -> Any:
    value = json_object(body)
    with refused_input():
        validate(model, JsonDocument({key: value[key] for key in value if key not in READ_ONLY}))
    return value
