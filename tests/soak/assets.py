"""A share of volumes, models and skills, whose directories contain known files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sluicegate_testing.servers.seaweedfs import SeaweedFS
from sluicegate_testing.servers.unity_catalog.unity import UnityServer, volume_info

ASSETS = "assets"
SCHEMA = "eu"
_STORE = frozenset({"lake store"})
_SKILL = """\
---
name: sql-style
description: How to write SQL.
---
"""


@dataclass(frozen=True)
class Directory:
    """A directory that recipients get temporary credentials for."""

    kind: str
    path: str
    key: str
    needs: frozenset[str] = _STORE

    @property
    def content(self) -> bytes:
        """What the file contains."""
        return _SKILL.encode() if self.kind == "skill" else self.key.encode() * 1000


DIRECTORIES: Sequence[Directory] = (
    Directory("volume", "volumes/manuals", "manuals/a.bin"),
    Directory("volume", "volumes/forms", "forms/a.bin", _STORE | {"unity catalog"}),
    Directory("model", "models/churn/versions/1", "churn/1/a.bin"),
    Directory("model", "models/churn/versions/2", "churn/2/a.bin"),
    Directory("skill", "skills/sql-style", "sql-style/SKILL.md"),
)
LISTED: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "volume": (frozenset({"manuals", "forms"}), frozenset({"unity catalog"})),
    "model": (frozenset({"churn"}), frozenset()),
    "skill": (frozenset({"sql-style"}), _STORE),
}
"""The names of all assets of a kind, and the servers that their descriptions depend on."""


def write_assets(store: SeaweedFS, unity: UnityServer) -> None:
    """Write the files, and register the volume of the catalog."""
    for each in DIRECTORIES:
        store.put(each.key, each.content)
    unity.state.assets.volumes["main.eu.forms"] = volume_info(
        "main.eu.forms", f"s3://{store.bucket}/forms"
    )


def assets_share(store: SeaweedFS) -> dict[str, Any]:
    """The share as the shares file declares it."""
    lake = f"s3://{store.bucket}"
    churn = {"catalog": "raw", "model": f"{lake}/churn", "versions": [1, 2], "aliases": {"best": 2}}
    schema = {
        "volumes": {
            "manuals": {"catalog": "raw", "volume": f"{lake}/manuals"},
            "forms": {"catalog": "unity", "volume": "eu.forms"},
        },
        "models": {"churn": churn},
        "skills": {"sql-style": {"catalog": "raw", "skill": f"{lake}/sql-style"}},
    }
    return {"schemas": {SCHEMA: schema}}
