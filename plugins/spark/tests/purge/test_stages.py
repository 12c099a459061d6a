from __future__ import annotations

from typing import Any, cast

import pytest

from sluicegate_spark.purge.stages import CONTENT, MANIFESTS, Stages, recorded, stage_of, table_of

FOLDER, OLD, NEW = "s3://lake/orders/metadata", "00001-a.metadata.json", "00002-b.metadata.json"


@pytest.mark.parametrize(
    ("current", "stage", "due"), [(OLD, CONTENT, False), (OLD, MANIFESTS, True), (NEW, CONTENT, True)]
)
def test_a_stage_counts_for_the_metadata_that_it_was_finished_with(
    current: str, stage: str, due: bool
) -> None:
    nothing = cast("Any", None)
    finished = [recorded(CONTENT, OLD, "uuid")]
    stages = Stages(nothing, nothing, nothing, f"{FOLDER}/{current}", "uuid", finished)
    assert stages.is_due(stage) is due


def test_a_record_has_its_stage_and_its_table() -> None:
    assert stage_of(recorded(CONTENT, OLD, "uuid")) == CONTENT
    assert table_of(recorded(CONTENT, OLD, None)) == (OLD, None)
