"""The route that issues Hadoop delegation tokens for shared tables (S3A token architecture)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.api import Principal, SharedTable
from sluicegate.api.errors import InvalidRequest
from sluicegate.http.bodies import read_body
from sluicegate.http.responses import NOT_STORED, json_response
from sluicegate.protocols.common.endpoint import Endpoint
from sluicegate.protocols.common.parameters import json_object, text
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing.directory_access.credentials import TableCredentials
from sluicegate.protocols.delta_sharing.paths import PREFIX, TABLE
from sluicegate.vending.hadoop.bindings import TokenBindings
from sluicegate.vending.hadoop.buckets import BucketScope, TableDirectories, by_bucket
from sluicegate.vending.hadoop.identifier import Layout
from sluicegate.vending.hadoop.issue import HadoopTokenRequest, IssuedToken, TokenIssuer
from sluicegate.vending.hadoop.token import HadoopToken, from_url, to_url
from sluicegate.vending.hadoop.token_file import FORMATS, FileFormat, TokenFile

FILE_TYPE = "application/octet-stream"
DEFAULT_HADOOP = "3.4"
_MOST_TABLES = 100
_LONGEST_TEXT = 1024


@dataclass(frozen=True, slots=True)
class HadoopTokenBody:
    """The validated body of a request."""

    binding: str | None
    layout: Layout
    format: FileFormat
    renewer: str
    origin: str | None
    tables: tuple[tuple[str, str, str], ...]
    shown: tuple[HadoopToken, ...]

    @classmethod
    def parse(cls, body: dict[str, Any]) -> Self:
        """Parse a JSON object."""
        wanted = text("format", body.get("format")) or FORMATS[0]
        file_format = next((each for each in FORMATS if each == wanted), None)
        if file_format is None:
            raise InvalidRequest(f"format must be one of {', '.join(FORMATS)}")
        version = text("hadoopVersion", body.get("hadoopVersion")) or DEFAULT_HADOOP
        return cls(
            binding=text("binding", body.get("binding")),
            layout=Layout.of_hadoop(version),
            format=file_format,
            renewer=_short("renewer", body.get("renewer")) or "",
            origin=_short("origin", body.get("origin")),
            tables=tuple(map(_table_name, _texts("tables", body.get("tables")))),
            shown=tuple(map(from_url, _texts("tokens", body.get("tokens")))),
        )


class HadoopTokenEndpoint:
    """Responds with a token file for one or several tables."""

    def __init__(
        self,
        resolver: Resolver,
        credentials: TableCredentials,
        bindings: TokenBindings,
        issuer: TokenIssuer,
        max_body: int,
    ) -> None:
        self._resolver = resolver
        self._credentials = credentials
        self._bindings = bindings
        self._issuer = issuer
        self._max_body = max_body

    def route(self, authentication: Authentication) -> Route:
        """The route, which is next to those of the protocol."""
        endpoint = Endpoint(self.answer, authentication)
        return Route(f"{PREFIX}{TABLE}/hadoop-delegation-token", endpoint, methods=["POST"])

    async def answer(self, request: Request, principal: Principal) -> Response:
        """The token file if the client accepts it, else JSON with more details."""
        body = HadoopTokenBody.parse(json_object(await read_body(request, self._max_body)))
        names = request.path_params
        named = ((names["share"], names["schema"], names["table"]), *body.tables)
        shared = [
            await self._resolver.table(principal, *name, action="vend") for name in dict.fromkeys(named)
        ]
        wanted = HadoopTokenRequest(
            binding=self._bindings.find(body.binding, principal),
            layout=body.layout,
            renewer=body.renewer,
            origin=body.origin,
            shown=body.shown,
        )
        scopes = await token_scopes(self._credentials, principal, list(dict.fromkeys(shared)))
        issued = [await self._issuer.issue(principal, scope, wanted) for scope in scopes]
        file = TokenFile({each.token.service: each.token for each in issued}, format=body.format)
        if FILE_TYPE in request.headers.get("accept", ""):
            return Response(file.encode(), headers=NOT_STORED, media_type=FILE_TYPE)
        return json_response(
            {
                "tokens": [_shown(each) for each in issued],
                "file": base64.b64encode(file.encode()).decode(),
            },
            headers=NOT_STORED,
        )


async def token_scopes(
    credentials: TableCredentials, principal: Principal, tables: Sequence[SharedTable]
) -> list[BucketScope]:
    """The buckets that need a token, and the directories of tables in each."""
    return by_bucket(
        [TableDirectories(table, *await credentials.directories(principal, table)) for table in tables]
    )


def _shown(issued: IssuedToken) -> dict[str, Any]:
    token, identifier = issued.token, issued.identifier
    return {
        "service": token.service,
        "kind": token.kind,
        "uuid": identifier.uuid,
        "expirationTime": identifier.max_date or None,
        "tables": [
            {"name": table.shared.full_name, "location": _s3a(table.locations[0])}
            for table in issued.scope.tables
        ],
        "bonded": issued.bonded,
        "token": to_url(token),
        "configuration": issued.configuration,
    }


def _s3a(location: str) -> str:
    """A location in the form that Hadoop's client accepts."""
    return f"s3a://{location.partition('://')[2]}"


def _short(name: str, value: object) -> str | None:
    given = None if value == "" else text(name, value)
    if given is not None and len(given) > _LONGEST_TEXT:
        raise InvalidRequest(f"{name} must have at most {_LONGEST_TEXT} characters")
    return given


def _texts(name: str, value: object) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidRequest(f"{name} must be an array of strings")
    if len(value) > _MOST_TABLES:
        raise InvalidRequest(f"{name} must have at most {_MOST_TABLES} members")
    return value


def _table_name(spelled: str) -> tuple[str, str, str]:
    parts = spelled.rsplit(".", 2)  # only a share's name can contain periods
    if len(parts) != 3 or not all(parts):
        raise InvalidRequest("tables must be named like share.schema.table")
    share, schema, table = parts
    return share, schema, table
