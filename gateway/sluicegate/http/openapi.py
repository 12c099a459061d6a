"""OpenAPI documents, which are YAML files next to the code that serves what they describe."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from sluicegate import __version__

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "tag:yaml.org,2002:merge"
# In this section, files define the values that they repeat.
_SHARED = "x-shared"


class _OrderedLoader(_Loader):  # type: ignore[misc] # PyYAML has no types
    """Inserts merged keys where `<<` is. PyYAML inserts them before all others."""

    def flatten_mapping(self, node: Any) -> None:
        pairs = []
        for key, value in node.value:
            if key.tag == _MERGE:
                self.flatten_mapping(value)
                pairs += value.value
            else:
                pairs.append((key, value))
        node.value = pairs


def load_document(files: Iterable[Path]) -> dict[str, Any]:
    """Return a document with the version of the gateway, and with URLs relative to it."""
    document: dict[str, Any] = {}
    for file in files:
        # The loader is derived from the safe one.
        content = yaml.load(file.read_text(encoding="utf-8"), Loader=_OrderedLoader)  # noqa: S506
        content.pop(_SHARED, None)
        _add(document, content)
    document["info"]["version"] = __version__
    return document


def served_at(base_url: str, document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with the URLs of a server."""
    components = dict(document["components"])
    components["securitySchemes"] = schemes = deepcopy(components["securitySchemes"])
    for scheme in schemes.values():
        for flow in scheme.get("flows", {}).values():
            flow["tokenUrl"] = base_url + flow["tokenUrl"]
    servers = [{"url": base_url + server["url"]} for server in document["servers"]]
    return {**document, "servers": servers, "components": components}


def _add(target: dict[str, Any], content: dict[str, Any]) -> None:
    for key, value in content.items():
        if isinstance(value, dict):
            _add(target.setdefault(key, {}), value)
        else:
            target[key] = value
