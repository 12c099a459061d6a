from __future__ import annotations

from collections import Counter
from pathlib import Path

import orjson
from histories.deltalake_table import DeltalakeTable
from histories.generate import history
from histories.history import Flavour
from histories.unkind import UnkindCopy


def shape(compaction: Path) -> str:
    lines = [orjson.loads(line) for line in compaction.read_bytes().splitlines()]
    paths = [line[kind]["path"] for line in lines for kind in ("add", "remove") if kind in line]
    schemas = sum("metaData" in line for line in lines)
    return "repeats" if len(set(paths)) < len(paths) or schemas > 1 else "usable"


def test_each_kind_of_unkindness_comes_often_enough(tmp_path: Path) -> None:
    made: Counter[str] = Counter()
    for seed in range(6):
        past = history(seed, Flavour(), 10)
        source, target = tmp_path / f"source {seed}", tmp_path / f"target {seed}"
        table, copy = DeltalakeTable(source, past), UnkindCopy(source, target, seed)
        for operation in past.operations:
            table.apply(operation)
            copy.follow()
        log = target / "_delta_log"
        made.update(shape(path) for path in log.glob("*.compacted.json"))
        removes = [
            orjson.loads(line)["remove"]
            for path in log.glob("?" * 20 + ".json")
            for line in path.read_bytes().splitlines()
            if line.startswith(b'{"remove"')
        ]
        made.update("old" if "size" not in remove else "new" for remove in removes)
    assert set(made) == {"repeats", "usable", "old", "new"}
    assert min(made.values()) >= 5
