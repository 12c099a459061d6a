"""Names the operation of a request, from the routes of the application and its OpenAPI documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from starlette.routing import BaseRoute, Match

from sluicegate._util.lazy import Lazy
from sluicegate.http.application import RouteIndex

UNKNOWN = "unknown"
"""The operation of requests that no route serves. Their paths, which can contain anything, are not
recorded."""

Operations: TypeAlias = Mapping[tuple[str, str], str]
"""Operation ids by method and path template. The names of the parameters in templates don't matter."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER = "OTHER"  # clients can invent methods
_PARAMETER = re.compile(r"\{[^}]*\}")
_OPERATION = re.compile(
    r"^(?:  (?P<path>/.*):|    (?P<method>[a-z]+):|      operationId: (?P<operation>\w+))$",
    re.MULTILINE,
)


def read_operations(files: Iterable[Path], prefix: str = "") -> dict[tuple[str, str], str]:
    """The operations in the `paths` of YAML files with parts of an OpenAPI document.

    The lines are searched. Parsing the files would delay the start of each process.
    """
    found, path, method = {}, "", ""
    for file in files:
        for line in _OPERATION.finditer(file.read_text(encoding="utf-8")):
            if line["operation"]:
                found[operation_key(method, prefix + path)] = line["operation"]
            path, method = line["path"] or path, line["method"] or method
    return found


def operation_key(method: str, path: str) -> tuple[str, str]:
    """The key of an operation: its method, and its path template without names of parameters."""
    return method.upper(), _PARAMETER.sub("{}", path)


class RequestActions:
    """Finds the operation of each request."""

    def __init__(self, routes: Sequence[BaseRoute], operations: Lazy[Operations]) -> None:
        self._routes = RouteIndex(routes)
        self._operations = operations
        self._known: Operations | None = None
        self._found: dict[tuple[str, str], str] = {}

    @property
    def loaded(self) -> bool:
        """Whether `load` has completed."""
        return self._known is not None

    async def load(self) -> None:
        """Load the operations, which takes time once."""
        self._known = await self._operations.get()

    def of(self, scope: MutableMapping[str, Any]) -> str:
        """The operation id of a request. Call `load` before.

        Routes without an operation, such as those of plugins, have their method and path template.
        """
        route = scope.get("route") or self._routed(scope)
        if route is None:
            return UNKNOWN
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        path = getattr(route, "path_format", "")
        found = self._found.get((method, path))
        if found is None:
            found = self._found[method, path] = self._named(method, path)
        return found

    def _named(self, method: str, path: str) -> str:
        known = self._known or {}
        found = known.get(operation_key(method, path))
        if found is None and method == "HEAD":
            found = known.get(operation_key("GET", path))
        return found or f"{method} {path}"

    def _routed(self, scope: MutableMapping[str, Any]) -> BaseRoute | None:
        """The route that would have served the request."""
        partial = None
        for route in self._routes.candidates(scope):
            match, child = route.matches(scope)
            if match is Match.NONE:
                continue
            if match is Match.FULL or partial is None:
                partial = route, child
            if match is Match.FULL:
                break
        if partial is None:
            return None
        scope["path_params"] = partial[1].get("path_params", {})
        return partial[0]
