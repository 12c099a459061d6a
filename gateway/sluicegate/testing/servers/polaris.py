"""A catalog that answers as Polaris 1.4 was seen to, for what no installable catalog has.

That is: the credentials endpoint, pages, generic tables, an identity that may load a table and not
have its credentials; and, told to, the ways in which a catalog can fail or lie. What it vends opens
nothing.
"""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from sluicegate.testing.servers.catalog_http import Reply, Request, serve

__all__ = ["Polaris", "Reply", "Request"]

_BASE = ("api", "catalog")
_DELEGATION = "vended-credentials"
_CREDENTIALS_ROUTE = "client.refresh-credentials-endpoint"

Levels = tuple[str, ...]


@dataclass
class Polaris:
    """A running catalog on loopback; its attributes may be changed while it runs.

    Attributes:
        uri: What clients are configured with.
        warehouse: The only one it knows.
        client_id: Of the only client.
        client_secret: Its secret.
        scope: What the client must ask for.
        namespaces: All of them, nested ones with their parents.
        tables: Iceberg tables: namespace and name to location.
        generic: Generic tables: namespace and name to format and location.
        ids: `table-uuid` of each table.
        closed: Namespaces that the principal may not list.
        properties: More entries of `config` of each loaded table.
        page_size: Names on a page; `None` is one page for all.
        has_endpoint: It serves credentials of their own.
        may_delegate: The principal may have credentials.
        lifetime: Seconds that credentials live.
        token_lifetime: Seconds that it says that access tokens live.
        private: Words in its refusals that no recipient may see.
        requests: What was asked so far, in order.
    """

    uri: str
    warehouse: str = "lake"
    client_id: str = "sluicegate"
    client_secret: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    scope: str = "PRINCIPAL_ROLE:ALL"
    namespaces: set[Levels] = field(default_factory=set)
    tables: dict[tuple[Levels, str], str] = field(default_factory=dict)
    generic: dict[tuple[Levels, str], tuple[str, str]] = field(default_factory=dict)
    ids: dict[tuple[Levels, str], str] = field(default_factory=dict)
    closed: set[Levels] = field(default_factory=set)
    properties: dict[str, str] = field(default_factory=dict)
    page_size: int | None = None
    has_endpoint: bool = True
    may_delegate: bool = True
    lifetime: int = 3600
    token_lifetime: int = 3600
    private: str = "principal 'etl' with roles [admin]"
    requests: list[Request] = field(default_factory=list)
    _tokens: set[str] = field(default_factory=set, repr=False)
    _told: list[tuple[str, int, Reply]] = field(default_factory=list, repr=False)
    _delays: dict[str, float] = field(default_factory=dict, repr=False)

    @classmethod
    @contextmanager
    def start(cls) -> Iterator[Polaris]:
        """Run it until the context ends."""
        catalog = cls("")

        def at(port: int) -> Callable[[Request], Reply]:
            catalog.uri = f"http://127.0.0.1:{port}/{'/'.join(_BASE)}"
            return catalog.reply

        with serve(at):
            yield catalog

    def add(self, namespace: Levels, name: str, location: str) -> None:
        """Create an Iceberg table, and the namespaces that hold it."""
        self._add_namespaces(namespace)
        self.tables[namespace, name] = location
        self.ids[namespace, name] = str(uuid.uuid4())

    def add_generic(self, namespace: Levels, name: str, kind: str, location: str) -> None:
        """Create a generic table, and the namespaces that hold it."""
        self._add_namespaces(namespace)
        self.generic[namespace, name] = (kind, location)

    def tell(self, suffix: str, *replies: Reply) -> None:
        """Answer the next requests whose path ends with a suffix by these, the last one for ever."""
        self._told = [told for told in self._told if told[0] != suffix]
        self._told += [(suffix, 1, reply) for reply in replies[:-1]] + [(suffix, -1, replies[-1])]

    def delay(self, suffix: str, seconds: float) -> None:
        """Answer requests whose path ends with a suffix only after a while."""
        self._delays[suffix] = seconds

    def forget_tokens(self) -> None:
        """Refuse the access tokens that were given so far."""
        self._tokens.clear()

    def asked(self, suffix: str) -> list[Request]:
        """The requests so far whose path ends with a suffix."""
        return [request for request in self.requests if request.path.endswith(suffix)]

    def reply(self, request: Request) -> Reply:
        """The answer to a request."""
        self.requests.append(request)
        time.sleep(next((s for path, s in self._delays.items() if request.path.endswith(path)), 0))
        for told in self._told:
            suffix, times, reply = told
            if request.path.endswith(suffix):
                if times == 1:
                    self._told.remove(told)
                return reply
        parts = tuple(map(unquote, request.path.strip("/").split("/")))
        if parts == (*_BASE, "v1", "oauth", "tokens"):
            return self._token(request)
        if request.headers.get("authorization", "").removeprefix("Bearer ") not in self._tokens:
            return Reply(401, b"", {"WWW-Authenticate": "Bearer"})
        if parts == (*_BASE, "v1", "config"):
            return self._config(request)
        return self._route(request, parts[len(_BASE) :])

    def _add_namespaces(self, namespace: Levels) -> None:
        self.namespaces |= {namespace[: depth + 1] for depth in range(len(namespace))}

    def _token(self, request: Request) -> Reply:
        if request.form.get("scope") != self.scope:
            return Reply(400, {"error": "invalid_scope"})
        if request.client != (self.client_id, self.client_secret):
            return Reply(401, {"error": "unauthorized_client", "error_description": self.private})
        token = secrets.token_urlsafe(16)
        self._tokens.add(token)
        given = {"access_token": token, "token_type": "bearer", "expires_in": self.token_lifetime}
        return Reply(200, given)

    def _config(self, request: Request) -> Reply:
        if request.query.get("warehouse") != self.warehouse:
            return Reply.error(404, "NotFoundException", f"no such warehouse for {self.private}")
        return Reply(
            200,
            {
                "defaults": {"default-base-location": "s3://lake/wh"},
                "overrides": {"prefix": self.warehouse},
                "endpoints": [
                    "GET /v1/{prefix}/namespaces",
                    "GET polaris/v1/{prefix}/namespaces/{namespace}/generic-tables",
                ],
            },
        )

    def _route(self, request: Request, parts: Levels) -> Reply:
        match parts:
            case ("v1", self.warehouse, "namespaces"):
                return self._list_namespaces(request)
            case ("v1", self.warehouse, "namespaces", namespace, "tables"):
                return self._list(request, _levels(namespace), self.tables)
            case ("v1", self.warehouse, "namespaces", namespace, "tables", name):
                return self._load(request, (_levels(namespace), name))
            case ("v1", self.warehouse, "namespaces", namespace, "tables", name, "credentials"):
                return self._credentials((_levels(namespace), name))
            case ("polaris", "v1", self.warehouse, "namespaces", namespace, "generic-tables"):
                return self._list(request, _levels(namespace), self.generic)
            case ("polaris", "v1", self.warehouse, "namespaces", namespace, "generic-tables", name):
                return self._load_generic((_levels(namespace), name))
        return Reply.error(404, "NoSuchNamespaceException", f"{self.private} sees no {parts}")

    def _list_namespaces(self, request: Request) -> Reply:
        parent = _levels(request.query["parent"]) if "parent" in request.query else ()
        if parent and parent not in self.namespaces:
            return _no_namespace(parent)
        if parent in self.closed:
            return self._forbidden("list namespaces")
        below = sorted(each for each in self.namespaces if each[:-1] == parent)
        return self._page(request, "namespaces", below)

    def _list(self, request: Request, namespace: Levels, tables: Mapping[Any, Any]) -> Reply:
        if namespace not in self.namespaces:
            return _no_namespace(namespace)
        if namespace in self.closed:
            return self._forbidden("list tables")
        names = sorted(name for levels, name in tables if levels == namespace)
        found = [{"namespace": namespace, "name": name} for name in names]
        return self._page(request, "identifiers", found)

    def _page(self, request: Request, key: str, items: Sequence[Any]) -> Reply:
        if self.page_size is None:
            return Reply(200, {key: items, "next-page-token": None})
        asked = request.query.get("pageToken", "0")
        if not asked.isdecimal():
            return Reply.error(500, "RuntimeException", "a page token of somebody else")
        start, end = int(asked), int(asked) + self.page_size
        more = {"next-page-token": str(end)} if end < len(items) else {}
        return Reply(200, {key: items[start:end], **more})

    def _load(self, request: Request, key: tuple[Levels, str]) -> Reply:
        if key not in self.tables:
            return _no_table(key)
        wanted = request.headers.get("x-iceberg-access-delegation") == _DELEGATION
        if wanted and not self.may_delegate:
            return self._forbidden("read data")
        etag = f'W/"{self.ids[key]}"'
        if request.headers.get("if-none-match") == etag:
            return Reply(304, b"", {"ETag": etag})
        location = self.tables[key]
        config = {
            "client.region": "eu-west-1",
            "s3.endpoint": "http://127.0.0.1:9",
            "s3.path-style-access": "true",
            **self.properties,
        }
        answer: dict[str, Any] = {
            "metadata-location": f"{location}/metadata/00001.metadata.json",
            "metadata": {"format-version": 2, "table-uuid": self.ids[key], "location": location},
            "config": config,
        }
        if wanted:
            vended = self._vended(location)
            levels = "%1F".join(key[0])
            route = f"v1/{self.warehouse}/namespaces/{levels}/tables/{key[1]}/credentials"
            answer["config"] = {**config, **vended["config"], _CREDENTIALS_ROUTE: route}
            answer["storage-credentials"] = [vended]
        return Reply(200, answer, {"ETag": etag})

    def _credentials(self, key: tuple[Levels, str]) -> Reply:
        if not self.has_endpoint:
            return Reply.error(404, "NotFound", "Path not found")
        if key not in self.tables:
            return _no_table(key)
        if not self.may_delegate:
            return self._forbidden("read data")
        return Reply(200, {"storage-credentials": [self._vended(self.tables[key])]})

    def _forbidden(self, what: str) -> Reply:
        return Reply.error(403, "ForbiddenException", f"{self.private} may not {what}")

    def _vended(self, location: str) -> dict[str, Any]:
        expires_at = str(int((time.time() + self.lifetime) * 1000))
        config = {
            "s3.access-key-id": f"ASIA{secrets.token_hex(8).upper()}",
            "s3.secret-access-key": secrets.token_hex(20),
            "s3.session-token": secrets.token_hex(40),
            "expiration-time": expires_at,
            "s3.session-token-expires-at-ms": expires_at,
        }
        return {"prefix": location, "config": config}

    def _load_generic(self, key: tuple[Levels, str]) -> Reply:
        if key not in self.generic:
            return _no_table(key)
        kind, location = self.generic[key]
        table = {"name": key[1], "format": kind, "base-location": location, "properties": {}}
        return Reply(200, {"table": {**table, "doc": None}})


def _levels(text: str) -> Levels:
    return tuple(text.split("\x1f"))


def _no_namespace(namespace: Levels) -> Reply:
    return Reply.error(404, "NoSuchNamespaceException", f"Namespace does not exist: {namespace}")


def _no_table(key: tuple[Levels, str]) -> Reply:
    return Reply.error(404, "NoSuchTableException", f"Table does not exist: {key}")
