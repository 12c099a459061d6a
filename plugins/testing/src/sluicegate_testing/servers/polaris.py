"""A fake of Apache Polaris on loopback, because package registries contain no server.

Its responses are like those of Polaris 1.4.1: realms, privileges, pages, generic tables, entity tags,
the filter of snapshots, and the credentials endpoint. `Polaris.version` selects another version, and
`tell` any other response. The vended credentials are not valid.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import unquote
from uuid import NAMESPACE_URL, uuid5

from sluicegate_testing.servers._polaris_tables import PolarisTable, PolarisVersion
from sluicegate_testing.servers.catalog_http import Reply, Request, serve

__all__ = ["Polaris", "PolarisTable", "PolarisVersion", "Reply", "Request"]

_BASE = ("api", "catalog")
_DELEGATION = "vended-credentials"
_CREDENTIALS_ROUTE = "client.refresh-credentials-endpoint"

Levels = tuple[str, ...]
_Item = TypeVar("_Item")


@dataclass
class Polaris:
    """A running catalog on loopback. Tests can change its attributes while it runs.

    Attributes:
        uri: The URL for the configuration of clients.
        version: Version of the server. 1.4 responds like 1.3 to 1.6. 1.7 keeps `metadata-location` if
            it omits snapshots.
        realm: The realm of the client and of the warehouse.
        default_realm: The realm of requests without the header `Polaris-Realm`.
        requires_realm: Whether requests without that header are rejected.
        warehouse: The only warehouse.
        client_id: Id of the only client.
        client_secret: Secret of this client.
        scope: The scope that the client must request.
        namespaces: All of them, nested ones with their parents.
        tables: Iceberg tables, by namespace and name.
        generic: Generic tables: namespace and name to format and location.
        views: Views, by namespace and name.
        closed: Namespaces that the principal is not allowed to list.
        properties: Additional entries in `config` of each loaded table.
        page_size: Names on a page; `None` is one page for all.
        has_endpoint: Whether it has the credentials endpoint.
        has_etags: Whether responses that name the table's metadata file have entity tags.
        may_load: Whether the principal has TABLE_READ_PROPERTIES.
        may_load_views: Whether the principal has VIEW_READ_PROPERTIES.
        may_delegate: Whether the principal has TABLE_READ_DATA, which credentials require.
        assumes_role: Whether the cloud's STS issues sessions to the server.
        lifetime: Lifetime of credentials in seconds.
        token_lifetime: Reported lifetime of access tokens in seconds.
        private: Text in its error messages that recipients must not see.
        requests: All requests, in order.
    """

    uri: str
    version: PolarisVersion = "1.4"
    realm: str = "POLARIS"
    default_realm: str = "POLARIS"
    requires_realm: bool = False
    warehouse: str = "lake"
    client_id: str = "sluicegate"
    client_secret: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    scope: str = "PRINCIPAL_ROLE:ALL"
    namespaces: set[Levels] = field(default_factory=set)
    tables: dict[tuple[Levels, str], PolarisTable] = field(default_factory=dict)
    generic: dict[tuple[Levels, str], tuple[str, str]] = field(default_factory=dict)
    views: set[tuple[Levels, str]] = field(default_factory=set)
    closed: set[Levels] = field(default_factory=set)
    properties: dict[str, str] = field(default_factory=dict)
    page_size: int | None = None
    has_endpoint: bool = True
    has_etags: bool = True
    may_load: bool = True
    may_load_views: bool = True
    may_delegate: bool = True
    assumes_role: bool = True
    lifetime: int = 3600
    token_lifetime: int = 3600
    private: str = "principal 'etl' with roles [admin]"
    requests: list[Request] = field(default_factory=list)
    _tokens: dict[str, str] = field(default_factory=dict, repr=False)
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

    def add(
        self,
        namespace: Levels,
        name: str,
        location: str,
        snapshots: int = 3,
        tags: tuple[str, ...] = (),
    ) -> None:
        """Create an Iceberg table, and the namespaces that hold it."""
        self._add_namespaces(namespace)
        self.tables[namespace, name] = PolarisTable(location, snapshots, tags=tags)

    def commit(self, namespace: Levels, name: str) -> None:
        """Add a snapshot to an Iceberg table."""
        table = self.tables[namespace, name]
        self.tables[namespace, name] = replace(table, snapshots=table.snapshots + 1)

    def add_generic(self, namespace: Levels, name: str, kind: str, location: str) -> None:
        """Create a generic table, and the namespaces that hold it."""
        self._add_namespaces(namespace)
        self.generic[namespace, name] = (kind, location)

    def add_view(self, namespace: Levels, name: str) -> None:
        """Create a view, and the namespaces that hold it."""
        self._add_namespaces(namespace)
        self.views.add((namespace, name))

    def tell(self, suffix: str, *replies: Reply) -> None:
        """Set the next responses for paths that end with a suffix. The last one is repeated forever."""
        self._told = [told for told in self._told if told[0] != suffix]
        self._told += [(suffix, 1, reply) for reply in replies[:-1]] + [(suffix, -1, replies[-1])]

    def delay(self, suffix: str, seconds: float) -> None:
        """Delay the responses for paths that end with a suffix."""
        self._delays[suffix] = seconds

    def forget_tokens(self) -> None:
        """Reject all access tokens that were issued before."""
        self._tokens.clear()

    def requests_to(self, suffix: str) -> list[Request]:
        """Return all requests whose path ends with a suffix."""
        return [request for request in self.requests if request.path.endswith(suffix)]

    def reply(self, request: Request) -> Reply:
        """Return the response to a request."""
        self.requests.append(request)
        time.sleep(next((s for path, s in self._delays.items() if request.path.endswith(path)), 0))
        for told in self._told:
            suffix, times, reply = told
            if request.path.endswith(suffix):
                if times == 1:
                    self._told.remove(told)
                return reply
        parts = tuple(map(unquote, request.path.strip("/").split("/")))
        realm = self._realm_of(request)
        if realm is None:
            return Reply.error(404, "MissingOrInvalidRealm", "Missing or invalid realm")
        if parts == (*_BASE, "v1", "oauth", "tokens"):
            return self._token(request, realm)
        shown = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self._tokens.get(shown) != realm:
            return Reply(401, b"", {"WWW-Authenticate": "Bearer"})
        if parts == (*_BASE, "v1", "config"):
            return self._config(request)
        return self._route(request, parts[len(_BASE) :])

    def _add_namespaces(self, namespace: Levels) -> None:
        self.namespaces |= {namespace[: depth + 1] for depth in range(len(namespace))}

    def _realm_of(self, request: Request) -> str | None:
        absent = None if self.requires_realm else self.default_realm
        realm = request.headers.get("polaris-realm", absent)
        return realm if realm in (self.realm, self.default_realm) else None

    def _token(self, request: Request, realm: str) -> Reply:
        if request.form.get("scope") != self.scope:
            return Reply(400, {"error": "invalid_scope"})
        if realm != self.realm or request.client != (self.client_id, self.client_secret):
            return Reply(401, {"error": "unauthorized_client", "error_description": self.private})
        token = secrets.token_urlsafe(16)
        self._tokens[token] = realm
        given = {"access_token": token, "token_type": "bearer", "expires_in": self.token_lifetime}
        return Reply(200, given)

    def _config(self, request: Request) -> Reply:
        if "warehouse" not in request.query:
            return Reply.error(400, "BadRequestException", "Please specify a warehouse")
        if request.query["warehouse"] != self.warehouse:
            return Reply.error(404, "NotFoundException", f"no such warehouse for {self.private}")
        return Reply(
            200,
            {
                "defaults": {"default-base-location": "s3://lake/wh"},
                "overrides": {"prefix": self.warehouse},
                "endpoints": [
                    "GET /v1/{prefix}/namespaces",
                    "GET /v1/{prefix}/namespaces/{namespace}/views/{view}",
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
            case ("v1", self.warehouse, "namespaces", namespace, "views", name):
                return self._load_view((_levels(namespace), name))
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
        below = _unordered(each for each in self.namespaces if each[:-1] == parent)
        return self._page(request, "namespaces", below)

    def _list(self, request: Request, namespace: Levels, tables: Mapping[Any, Any]) -> Reply:
        if namespace not in self.namespaces:
            return _no_namespace(namespace)
        if namespace in self.closed:
            return self._forbidden("list tables")
        names = _unordered(name for levels, name in tables if levels == namespace)
        found = [{"namespace": namespace, "name": name} for name in names]
        return self._page(request, "identifiers", found)

    def _page(self, request: Request, key: str, items: Sequence[Any]) -> Reply:
        if self.page_size is None:
            return Reply(200, {key: items, "next-page-token": None})
        token = request.query.get("pageToken", "0")
        if not token.isdecimal():
            return Reply.error(500, "RuntimeException", "a page token of another client")
        start, end = int(token), int(token) + self.page_size
        more = {"next-page-token": str(end)} if end < len(items) else {}
        return Reply(200, {key: items[start:end], **more})

    def _load(self, request: Request, key: tuple[Levels, str]) -> Reply:
        if key not in self.tables:
            return _no_table(key)
        table = self.tables[key]
        delegation = request.headers.get("x-iceberg-access-delegation")
        if delegation == "remote-signing":
            message = "Unsupported access delegation mode: remote-signing"
            return Reply.error(400, "IllegalArgumentException", message)
        wanted = delegation == _DELEGATION
        if not self.may_load or (wanted and not self.may_delegate):
            return self._forbidden("read data" if wanted else "read properties")
        if self.has_etags and request.headers.get("if-none-match") == table.etag:
            return Reply(304, b"")
        if wanted and not self.assumes_role:
            return _no_session()
        snapshots = request.query.get("snapshots", "all")
        if snapshots not in ("all", "refs"):
            return Reply.error(400, "IllegalArgumentException", f"Unrecognized snapshots: {snapshots}")
        config = {
            "client.region": "eu-west-1",
            "s3.endpoint": "http://127.0.0.1:9",
            "s3.path-style-access": "true",
            **self.properties,
        }
        answer = {**table.load_result(snapshots, self.version), "config": config}
        if wanted:
            vended = self._vended(table.location)
            levels = "%1F".join(key[0])
            route = f"v1/{self.warehouse}/namespaces/{levels}/tables/{key[1]}/credentials"
            answer["config"] = {**config, **vended["config"], _CREDENTIALS_ROUTE: route}
            answer["storage-credentials"] = [vended]
        tagged = self.has_etags and "metadata-location" in answer
        return Reply(200, answer, {"ETag": table.etag} if tagged else {})

    def _credentials(self, key: tuple[Levels, str]) -> Reply:
        if not self.has_endpoint:
            return Reply.error(404, "NotFound", "Path not found")
        if key not in self.tables:
            return _no_table(key)
        if not self.may_load or not self.may_delegate:
            return self._forbidden("read data")
        if not self.assumes_role:
            return _no_session()
        return Reply(200, {"storage-credentials": [self._vended(self.tables[key].location)]})

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

    def _load_view(self, key: tuple[Levels, str]) -> Reply:
        if key not in self.views:
            return Reply.error(404, "NoSuchViewException", f"View does not exist: {key}")
        if not self.may_load_views:
            return self._forbidden("read properties of views")
        metadata = {"view-uuid": str(uuid5(NAMESPACE_URL, repr(key))), "format-version": 1}
        return Reply(200, {"metadata-location": f"s3://lake/{key[1]}.json", "metadata": metadata})

    def _load_generic(self, key: tuple[Levels, str]) -> Reply:
        if key not in self.generic:
            return _no_table(key)
        kind, location = self.generic[key]
        table = {"name": key[1], "format": kind, "base-location": location, "properties": {}}
        return Reply(200, {"table": {**table, "doc": None}, "storage-access-configs": []})


def _levels(text: str) -> Levels:
    return tuple(text.split("\x1f"))


def _unordered(found: Iterable[_Item]) -> list[_Item]:
    """Return names in an order that is not sorted, but the same in each listing."""
    return sorted(found, key=lambda each: hashlib.sha256(repr(each).encode()).digest())


def _no_session() -> Reply:
    message = "Failed to get subscoped credentials: is not authorized to perform: sts:AssumeRole"
    return Reply.error(422, "UnprocessableEntityException", message)


def _no_namespace(namespace: Levels) -> Reply:
    return Reply.error(404, "NoSuchNamespaceException", f"Namespace does not exist: {namespace}")


def _no_table(key: tuple[Levels, str]) -> Reply:
    return Reply.error(404, "NoSuchTableException", f"Table does not exist: {key}")
