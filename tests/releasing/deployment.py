"""The version in files that no builder reads: images, the chart, and samples of pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_NUMBER: Final = r"(\d+\.\d+\.\d+)\b"
_PLACES: Final = {
    "deploy/docker/Dockerfile": rf"ARG VERSION={_NUMBER}",
    "deploy/compose/compose.yaml": rf"SLUICEGATE_VERSION:-{_NUMBER}",
    "deploy/helm/sluicegate/Chart.yaml": rf"^(?:appV|v)ersion: {_NUMBER}",
    "docs/operators/deployment.md": rf"\bsluicegate:{_NUMBER}",
    "docs/releasing.md": rf"(?:--version |sluicegate-|Sluicegate |\bv){_NUMBER}",
}


def problems(root: Path, version: str) -> Iterator[str]:
    """Places below the folder of a repository that name another version, or none."""
    for place, pattern in _PLACES.items():
        text = (root / place).read_text(encoding="utf-8")
        found = set(re.findall(pattern, text, re.MULTILINE))
        if found != {version}:
            named = ", ".join(sorted(found - {version})) or "no version"
            yield f"{place}: names {named}, not {version}"
