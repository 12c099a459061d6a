"""Deletion vectors that are too large for an answer: the gateway makes them when they are fetched."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import time
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pyarrow as pa
import pytest
from pyiceberg.table import Table
from pyroaring import BitMap64
from support.clients.recipient import Recipient
from support.gateways.gateway import running_gateway
from support.gateways.iceberg_sharing import IcebergSharing
from support.tables.iceberg_deletes import data_files, delete_by_vectors, delete_positions
from support.tables.large_vectors import FITS, SCHEMA, TIMEOUT_SECONDS, fill, left, scattered, vectors
from support.tables.rows import assert_same_rows

from sluicegate.config.load import load_settings
from sluicegate.protocols.derived_files import SPACE, link_keys
from sluicegate.protocols.file_links import ContentLinks
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.load import load_keys

pytestmark = pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning")
MAGIC = struct.pack("<I", 1681511377)
DELETED = scattered(1)  # other tests delete other rows: what was made once is kept by its digest


@pytest.fixture(scope="module")
def shared(lake: IcebergSharing) -> tuple[str, Table]:
    """A table of one file, half of whose rows several files of positions delete, and a small one."""
    name, table = lake.table(SCHEMA)
    file = fill(table)
    table.append(pa.table({"id": pa.array([-1, -2, -3], pa.int64())}))
    (small,) = set(data_files(table)) - {file}
    third = len(DELETED) // 3
    delete_positions(table, {file: DELETED[: 2 * third], small: [1]})
    delete_positions(table, {file: DELETED[third:]})  # some are deleted twice
    delete_positions(table, {small: [0]})
    return name, table


@pytest.fixture(scope="module")
def vector(lake: IcebergSharing, shared: tuple[str, Table]) -> dict[str, Any]:
    """The descriptor of the large one."""
    return large(lake.recipient, shared[0])


def large(recipient: Recipient, name: str, **question: Any) -> dict[str, Any]:
    (found,) = (each for each in vectors(recipient, name, **question) if each["sizeInBytes"] > FITS)
    return found


def rows_of(vector: dict[str, Any]) -> list[int]:
    """What a link serves, read as the protocol says."""
    data = fetched(vector["pathOrInlineDv"]).raise_for_status().content
    start, size = vector["offset"], vector["sizeInBytes"]
    payload = data[start + 4 : start + 4 + size]
    assert data[:start] == b"\1"
    assert struct.unpack(">I", data[start : start + 4]) == (size,)
    assert struct.unpack(">I", data[start + 4 + size :]) == (zlib.crc32(payload),)
    assert payload.startswith(MAGIC)
    rows = list(BitMap64.deserialize(payload[len(MAGIC) :]))
    assert len(rows) == vector["cardinality"]
    return rows


def test_positions_of_many_files_are_one_vector(
    lake: IcebergSharing, shared: tuple[str, Table], vector: dict[str, Any]
) -> None:
    name, table = shared
    assert_same_rows(table.scan().to_arrow(), lake.recipient.read(name))
    assert vector["storageType"] == "p"
    assert rows_of(vector) == DELETED


def test_a_large_vector_of_version_3_is_served(lake: IcebergSharing) -> None:
    deleted = scattered(2)
    name, table = lake.table(SCHEMA)
    file = fill(table)
    delete_by_vectors(table, {file: deleted})
    assert sorted(lake.recipient.read(name)["id"]) == left(deleted)
    assert rows_of(large(lake.recipient, name)) == deleted


def test_deletes_count_for_older_files_only(lake: IcebergSharing) -> None:
    name, table = lake.table(SCHEMA)
    first = fill(table)
    delete_positions(table, {first: scattered(3)})
    second = fill(table)
    delete_positions(table, {first: [0], second: [0, 1, 2]})
    assert_same_rows(table.scan().to_arrow(), lake.recipient.read(name))


def test_a_link_serves_its_version_whatever_came_later(lake: IcebergSharing) -> None:
    before, after = scattered(4), scattered(5)
    name, table = lake.table(SCHEMA)
    file = fill(table)
    delete_positions(table, {file: before})
    version = table.last_sequence_number
    first = large(lake.recipient, name)
    table.append(pa.table({"id": pa.array([-1], pa.int64())}))
    same = large(lake.recipient, name)
    assert same["deletionVectorFileId"] == first["deletionVectorFileId"]
    delete_positions(table, {file: after})
    other = large(lake.recipient, name)
    assert other["deletionVectorFileId"] != first["deletionVectorFileId"]
    assert rows_of(first) == rows_of(large(lake.recipient, name, version=version)) == before
    assert rows_of(other) == sorted({*before, *after})


def test_changes_tell_a_file_once_that_keeps_its_vector(lake: IcebergSharing) -> None:
    rows = scattered(6)
    name, table = lake.table(SCHEMA)
    file = fill(table)
    filled = table.last_sequence_number
    delete_positions(table, {file: rows})
    deleted = table.last_sequence_number
    table.append(pa.table({"id": pa.array([-1], pa.int64())}))
    bounds = {"starting_version": filled + 1, "ending_version": table.last_sequence_number}
    changes = lake.recipient.changes(name, use_delta_format=True, **bounds)
    gone = changes[changes["_commit_version"] == deleted]
    assert set(gone["_change_type"]) == {"delete"}
    assert sorted(gone["id"]) == rows
    come = changes[changes["_commit_version"] > deleted]
    assert list(zip(come["id"], come["_change_type"], strict=True)) == [(-1, "insert")]


def test_head_and_ranges_are_those_of_one_file(vector: dict[str, Any]) -> None:
    url = vector["pathOrInlineDv"]
    whole = fetched(url)
    size = len(whole.content)
    assert size == vector["offset"] + 4 + vector["sizeInBytes"] + 4
    head = fetched(url, "HEAD")
    assert (head.status_code, head.content) == (200, b"")
    for name in ("content-length", "accept-ranges", "content-type", "etag"):
        assert head.headers[name] == whole.headers[name]
    assert head.headers["etag"] == f'"{hashlib.sha256(whole.content).hexdigest()}"'
    parts = [
        fetched(url, **{"Range": f"bytes={start}-{start + 9_999}", "If-Range": head.headers["etag"]})
        for start in range(0, size, 10_000)
    ]
    assert {part.status_code for part in parts} == {206}
    assert b"".join(part.content for part in parts) == whole.content
    assert fetched(url, **{"Range": f"bytes={size}-"}).status_code == 416
    assert fetched(url, **{"If-None-Match": head.headers["etag"]}).status_code == 304


def test_any_process_of_the_gateway_serves_a_link(lake: IcebergSharing, vector: dict[str, Any]) -> None:
    with running_gateway(lake.gateway.folder) as other:
        split = urlsplit(vector["pathOrInlineDv"])
        moved = f"{other.address}{split.path}?{split.query}"
        assert rows_of({**vector, "pathOrInlineDv": moved}) == DELETED


def test_a_link_holds_no_credential_and_names_what_the_recipient_knows(vector: dict[str, Any]) -> None:
    *names, digest, recipe = said(vector["pathOrInlineDv"])
    assert names[1:] == ["acme", "lake", "full", names[-1]]
    assert len(digest) == 64
    assert json.loads(recipe)[0] == "positions"
    assert len(vector["pathOrInlineDv"]) < 2_000  # what every client and proxy takes


@pytest.mark.parametrize("field", range(7))
def test_a_link_to_something_else_is_refused(vector: dict[str, Any], field: int) -> None:
    url = vector["pathOrInlineDv"]
    changed = said(url)
    changed[field] = f"{changed[field]} "
    status = fetched(url.replace(token(url), encoded(changed))).status_code
    assert status == 403


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"/{SPACE}/", "/file-1/"),
        ("X-Amz-Expires=", "X-Amz-Expires=1"),
        ("X-Amz-Date=2", "X-Amz-Date=3"),
        ("X-Amz-Signature=", "X-Amz-Signature=0"),
        ("?", "=?"),
        ("?", "&x=1?"),
        ("?", "?x=1&"),
    ],
)
def test_a_changed_link_is_refused(vector: dict[str, Any], old: str, new: str) -> None:
    url = vector["pathOrInlineDv"]
    assert old in url
    answer = fetched(url.replace(old, new, 1))
    assert (answer.status_code, answer.json()["errorCode"]) == (403, "PERMISSION_DENIED")


def test_links_to_files_of_the_storage_and_these_are_not_each_others(
    lake: IcebergSharing, vector: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even when the same text is signed with the keys of the others."""
    keys = keys_of(lake, monkeypatch)
    url = vector["pathOrInlineDv"]
    links = ContentLinks(keys.derive("content links").signing, lake.gateway.address, SPACE)
    assert fetched(links.sign([token(url)], 60).urls[0]).status_code == 403


def test_an_expired_link_is_refused(
    lake: IcebergSharing, vector: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = keys_of(lake, monkeypatch)
    path = token(vector["pathOrInlineDv"])
    signing, address = link_keys(keys).signing, lake.gateway.address
    assert fetched(ContentLinks(signing, address, SPACE).sign([path], 60).urls[0]).status_code == 200
    old = ContentLinks(signing, address, SPACE, clock=lambda: 0).sign([path], 60).urls[0]
    answer = fetched(old)
    assert answer.status_code == 403
    assert "expired" in answer.json()["message"]


def test_what_the_table_has_let_go_of_is_gone(lake: IcebergSharing) -> None:
    name, table = lake.table(SCHEMA)
    delete_positions(table, {fill(table): scattered(7)})
    url = large(lake.recipient, name)["pathOrInlineDv"]
    for file in Path(f"{lake.folder}/{name}/data").glob("*-deletes.parquet"):
        file.unlink()
    answer = fetched(url)
    assert (answer.status_code, answer.json()["errorCode"]) == (404, "RESOURCE_DOES_NOT_EXIST")
    assert "query the table again" in answer.json()["message"]
    assert str(lake.folder) not in answer.text


@pytest.mark.parametrize("ends", ["grant", "recipient"])
def test_a_link_ends_with_the_grant_and_the_recipient(
    lake: IcebergSharing, shared: tuple[str, Table], ends: str
) -> None:
    leaving = Recipient(lake.gateway.profile("leaving"), lake.recipient.share, lake.recipient.schema)
    url = large(leaving, shared[0])["pathOrInlineDv"]
    assert fetched(url).status_code == 200
    if ends == "recipient":
        lake.gateway.command("recipient", "revoke", "leaving")
        assert settled(url, 403).json()["errorCode"] == "PERMISSION_DENIED"
        return
    declared = lake.gateway.folder / "shares.yaml"
    before = declared.read_text()
    shares = json.loads(before)
    shares["recipients"]["leaving"]["shares"] = []
    declared.write_text(json.dumps(shares))
    lake.gateway.command("apply", "shares.yaml")
    assert settled(url, 404).json()["errorCode"] == "RESOURCE_DOES_NOT_EXIST"
    declared.write_text(before)
    lake.gateway.command("apply", "shares.yaml")
    assert settled(url, 200).content


def settled(url: str, status: int) -> httpx.Response:
    """What a link answers, once the gateway's process knows what another one has changed."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while (answer := fetched(url)).status_code != status and time.monotonic() < deadline:
        time.sleep(0.1)
    assert answer.status_code == status, answer.text
    return answer


def keys_of(lake: IcebergSharing, monkeypatch: pytest.MonkeyPatch) -> KeyRing:
    """The gateway's keys, which lie beside its database, named from its folder."""
    monkeypatch.chdir(lake.gateway.folder)
    return load_keys(load_settings(Path("gateway.yaml")))


def fetched(url: str, method: str = "GET", **headers: str) -> httpx.Response:
    return httpx.request(method, url, headers=headers, timeout=TIMEOUT_SECONDS)


def token(url: str) -> str:
    return urlsplit(url).path.rpartition("/")[2]


def said(url: str) -> list[str]:
    text = token(url)
    found: list[str] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return found


def encoded(values: list[str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")
