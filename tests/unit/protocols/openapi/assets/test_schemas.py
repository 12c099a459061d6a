"""The schemas of assets have the fields that OpenSharing requires."""

from __future__ import annotations

import pytest
from support.clients.described import SCHEMAS

NAMED = {"name", "schema", "share"}


@pytest.mark.parametrize(
    ("name", "required"),
    [
        ("Volume", NAMED | {"storageLocation"}),
        ("Model", NAMED),
        ("Skill", NAMED | {"description", "storageLocation"}),
        (
            "ModelVersion",
            {"modelName", "schema", "share", "version", "status", "storageLocation"},
        ),
    ],
)
def test_required_fields_are_those_of_opensharing(name: str, required: set[str]) -> None:
    assert set(SCHEMAS[name]["required"]) == required
    assert SCHEMAS[f"{name}Page"]["properties"]["items"]["items"] == {
        "$ref": f"#/components/schemas/{name}"
    }


def test_versions_are_whole_numbers() -> None:
    assert SCHEMAS["ModelVersion"]["properties"]["version"]["type"] == "integer"
