"""`sluicegate index`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.gateways.gateway import completed_here, run_here, write_configuration
from support.gateways.s3_lake import storage_of
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

from sluicegate_testing.servers.seaweedfs import SeaweedFS


@pytest.fixture
def deployment(tmp_path: Path) -> Path:
    lake = tmp_path / "lake"
    for name in ("orders", "returns"):
        table = DeltaFolder(lake / name)
        table.commit(0, protocol(), metadata(), *(add(f"{name}-{number}") for number in range(5)))
    configure(tmp_path)
    return tmp_path


def configure(folder: Path, **index: object) -> None:
    settings = {
        "catalogs": {"raw": {"type": "paths"}},
        "storage": [{"type": "file", "prefix": f"file://{folder}/lake/"}],
        "index": {"location": f"file://{folder}/index", "min_files": 3, **index},
    }
    write_configuration(folder, settings, {"shares": {}, "recipients": {}})


def location(folder: Path, name: str) -> str:
    return f"file://{folder}/lake/{name}"


def files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in (folder / "index").rglob("*.*")}


def test_indexes_are_built_listed_and_removed(deployment: Path) -> None:
    for name in ("returns", "orders"):
        built = run_here(deployment, "index", "build", "raw", location(deployment, name))
        assert built.startswith(
            f"indexed version 0 of {location(deployment, name)}: 5 files in 1 parts"
        )
    listed = json.loads(run_here(deployment, "index", "list", "--json"))
    assert [each["location"] for each in listed] == [
        location(deployment, name) for name in ("orders", "returns")
    ]
    size = sum(file.stat().st_size for file in (deployment / "index").rglob("*.parquet"))
    assert sum(each["bytes"] for each in listed) == size
    first, second, third = run_here(deployment, "index", "list").splitlines()
    assert first.split()[:3] == ["LOCATION", "VERSION", "FILES"]
    assert second.split()[:4] == [location(deployment, "orders"), "0", "5", "1"]
    assert third.split()[0] == location(deployment, "returns")
    again = run_here(deployment, "index", "build", "raw", location(deployment, "orders"), "--json")
    done = {"written_parts": 0, "kept_parts": 1, "full_build": None}
    assert json.loads(again) == listed[0] | done
    dropped = run_here(deployment, "index", "drop", location(deployment, "orders"), "--json")
    assert json.loads(dropped) == {"location": location(deployment, "orders"), "removed_files": 4}
    (left,) = json.loads(run_here(deployment, "index", "list", "--json"))
    assert left["location"] == location(deployment, "returns")


def test_later_commits_are_applied_to_an_index(deployment: Path) -> None:
    table, orders = DeltaFolder(deployment / "lake" / "orders"), location(deployment, "orders")
    first = run_here(deployment, "index", "build", "raw", orders)
    assert first.endswith("1 parts were written, and 0 were kept, because there was no index\n")
    before = files(deployment)
    table.commit(1, add("new"))
    again = run_here(deployment, "index", "build", "raw", orders)
    assert again.startswith(f"indexed version 1 of {orders}: 6 files in 1 parts")
    assert again.endswith("1 parts were written, and 0 were kept\n")
    assert before < files(deployment)
    full = run_here(deployment, "index", "build", "raw", orders, "--full", "--json")
    assert json.loads(full)["full_build"] == "it was requested"


def test_an_index_that_cannot_be_used_is_reported_and_removed_by_its_key(deployment: Path) -> None:
    run_here(deployment, "index", "build", "raw", location(deployment, "orders"))
    (manifest,) = (deployment / "index").rglob("manifest.json")
    manifest.write_text("{}")
    done = completed_here(deployment, "index", "list")
    assert f"the index {manifest.parent.name} cannot be used: the manifest is damaged" in done.stderr
    run_here(deployment, "index", "drop", manifest.parent.name)
    assert not files(deployment)


def test_a_later_key_still_reads_an_index_while_the_former_one_is_accepted(deployment: Path) -> None:
    run_here(deployment, "index", "build", "raw", location(deployment, "orders"))
    (key,) = [file for file in deployment.iterdir() if "key" in file.name]
    former = key.read_text().strip()
    key.write_text("another key of at least 32 characters")
    assert "was not written with a key" in completed_here(deployment, "index", "list").stderr
    settings = json.loads((deployment / "gateway.yaml").read_text())
    text = json.dumps({**settings, "previous_signing_keys": [former]})
    (deployment / "gateway.yaml").write_text(text)
    assert len(run_here(deployment, "index", "list").splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("build", "raw", "file:///nowhere"), "no configured storage serves"),
        (("build", "row", "orders"), "no catalog named 'row'"),
        (("drop", "file:///nowhere"), "there is no index of file:///nowhere"),
    ],
)
def test_mistakes_are_reported(deployment: Path, arguments: tuple[str, ...], message: str) -> None:
    done = completed_here(deployment, "index", *arguments)
    assert done.returncode == 1
    assert message in done.stderr


def test_a_small_table_is_not_indexed(deployment: Path) -> None:
    configure(deployment, min_files=6)
    done = completed_here(deployment, "index", "build", "raw", location(deployment, "orders"))
    assert "has 5 files, and tables with fewer than 6 are read from their logs" in done.stderr
    assert not files(deployment)


def test_indexes_can_be_in_a_bucket(deployment: Path) -> None:
    with SeaweedFS.start(deployment / "store") as server:
        settings = json.loads((deployment / "gateway.yaml").read_text())
        settings["storage"].append(storage_of(server, server.admin))
        settings["index"]["location"] = f"s3://{server.bucket}/gateway/index/"
        write_configuration(deployment, settings, {"shares": {}, "recipients": {}})
        run_here(deployment, "index", "build", "raw", location(deployment, "orders"))
        assert len(run_here(deployment, "index", "list").splitlines()) == 2
        removed = run_here(deployment, "index", "drop", location(deployment, "orders"))
        assert removed.startswith("removed 4 files")
        assert run_here(deployment, "index", "list") == ""
        settings["storage"][-1] = storage_of(server)  # it can only read
        write_configuration(deployment, settings, {"shares": {}, "recipients": {}})
        done = completed_here(deployment, "index", "build", "raw", location(deployment, "orders"))
        assert "the folder of indexes cannot be written to" in done.stderr
    assert not files(deployment)


def test_a_folder_is_needed(deployment: Path) -> None:
    configure(deployment, location=None)
    done = completed_here(deployment, "index", "list")
    assert "set index.location" in done.stderr
