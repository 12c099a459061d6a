"""Manifest lists and manifests, read as PyIceberg reads them, and as plain Avro."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import orjson
import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFileContent, ManifestContent, ManifestFile, read_manifest_list
from support.gateways.memory_gateway import shared_table
from support.gateways.memory_grants import ACME
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import PREFIX, iceberg_view
from support.tables.memory_tables import file, snapshot

from sluicegate.api import NotFound, UnsupportedOperation
from sluicegate.protocols.common.shared_scope import visible
from sluicegate.protocols.iceberg_rest.manifests import files as files_module
from sluicegate.protocols.iceberg_rest.manifests.avro_schemas import decimal_bytes, manifest_schema
from sluicegate.protocols.iceberg_rest.manifests.entries import Entries, rows_by_path
from sluicegate.protocols.iceberg_rest.manifests.files import ManifestFiles
from sluicegate.protocols.iceberg_rest.planning.scan_tasks import VectorBlob
from sluicegate.protocols.iceberg_rest.planning.specs import spec_without
from sluicegate.protocols.iceberg_rest.view import IcebergView, TableView
from sluicegate.tables.snapshot import FileSet

LIST = "~/manifest-list.avro"
VECTOR = {"storageType": "u", "pathOrInlineDv": "x", "sizeInBytes": 40, "cardinality": 2}
PLAIN = table_metadata([schema_field("id", "long")])
BY_DAY = table_metadata([schema_field("id", "long"), schema_field("day", "date")], ["day"])


class Blobs:
    """Says that each vector is a blob of one generated file."""

    def need_all(self, files: FileSet) -> bool:
        return True

    async def of(self, view: TableView, files: pa.Table) -> Sequence[VectorBlob | None]:
        return [
            VectorBlob("~/vectors-0.puffin", 4 + 48 * place, 48, each["cardinality"], 900)
            if each
            else None
            for place, each in enumerate(files.column("deletion_vector").to_pylist())
        ]


@pytest.fixture
def manifests() -> ManifestFiles:
    return ManifestFiles(Blobs())


def row(
    path: str, records: int | None = 5, day: str | None = "2024-01-02", **more: Any
) -> dict[str, Any]:
    stats = None if records is None else f'{{"numRecords":{records}}}'
    partition = orjson.dumps({"day": day}).decode()
    return file(path, **{"stats": stats, "partition_values": partition, **more})


async def view_of(*rows: dict[str, Any], metadata: Any = BY_DAY, **options: Any) -> IcebergView:
    return await iceberg_view(metadata, snapshot(*rows).files, **options)


def avro(content: bytes) -> tuple[list[Any], dict[str, str]]:
    reader = fastavro.reader(io.BytesIO(content))
    return list(reader), dict(reader.metadata)


async def all_of(manifests: ManifestFiles, view: IcebergView) -> dict[str, bytes]:
    """The generated files of a view by their names."""
    found = {LIST: await manifests.manifest_list(view)}
    for each in avro(found[LIST])[0]:
        name = each["manifest_path"].removeprefix(PREFIX)
        number = int(name.removeprefix("~/manifest-").removesuffix(".avro"))
        found[name] = await manifests.manifest(view, number)
    return found


def by_pyiceberg(found: dict[str, bytes], folder: Path) -> list[tuple[ManifestFile, list[Any]]]:
    """The manifests of the list, and their entries, from files with the list's paths rewritten."""
    io_ = PyArrowFileIO()
    (folder / "list").write_bytes(found[LIST])
    read = []
    for each in read_manifest_list(io_.new_input(str(folder / "list"))):
        content = found[each.manifest_path.removeprefix(PREFIX)]
        (folder / "manifest").write_bytes(content)
        each[0] = str(folder / "manifest")
        read.append((each, each.fetch_manifest_entry(io_, discard_deleted=True)))
    return read


async def test_an_empty_table_has_an_empty_list(manifests: ManifestFiles) -> None:
    view = await view_of()
    rows, header = avro(await manifests.manifest_list(view))
    assert rows == []
    assert (header["snapshot-id"], header["sequence-number"]) == ("5", "5")
    for number in (0, 1, 2, 10**10):
        with pytest.raises(NotFound, match="load the table again"):
            await manifests.manifest(view, number)


async def test_pyiceberg_reads_the_data_files(manifests: ManifestFiles, tmp_path: Path) -> None:
    view = await view_of(row("b", 7, size=70), row("a", None, None))
    found = await all_of(manifests, view)
    [(manifest, entries)] = by_pyiceberg(found, tmp_path)
    assert (manifest.content, manifest.partition_spec_id) == (
        ManifestContent.DATA,
        spec_without((), view.shape),
    )
    numbers = (manifest.sequence_number, manifest.min_sequence_number, manifest.added_snapshot_id)
    assert numbers == (5, 4, 5)
    counts = (manifest.added_files_count, manifest.existing_files_count, manifest.deleted_files_count)
    assert counts == (0, 2, 0)
    assert manifest.existing_rows_count == 7
    assert [
        (each.snapshot_id, each.sequence_number, each.data_file.file_path, each.data_file.record_count,
         each.data_file.file_size_in_bytes, each.data_file.partition[0])
        for each in entries
    ] == [(5, 4, PREFIX + "a", -1, 10, None), (5, 4, PREFIX + "b", 7, 70, 19724)]  # fmt: skip
    assert {each.data_file.content for each in entries} == {DataFileContent.DATA}


async def test_the_length_of_a_manifest_is_that_of_its_bytes(manifests: ManifestFiles) -> None:
    found = await all_of(manifests, await view_of(row("a", deletion_vector=VECTOR), row("b")))
    lengths = {each["manifest_path"]: each["manifest_length"] for each in avro(found.pop(LIST))[0]}
    assert lengths == {PREFIX + name: len(content) for name, content in found.items()}
    assert sorted(found) == ["~/manifest-0.avro", "~/manifest-1.avro"]


async def test_headers_describe_the_manifest(manifests: ManifestFiles) -> None:
    view = await view_of(row("a", deletion_vector=VECTOR))
    found = await all_of(manifests, view)
    data, deletes = (avro(found[f"~/manifest-{number}.avro"])[1] for number in (0, 1))
    assert (data["content"], deletes["content"]) == ("data", "deletes")
    for header in (data, deletes):
        assert (header["partition-spec-id"], header["schema-id"], header["format-version"]) == (
            str(spec_without((), view.shape)),
            "0",
            "3",
        )
        assert [each["name"] for each in json.loads(header["schema"])["fields"]] == ["id", "day"]
        (field,) = json.loads(header["partition-spec"])
        assert field == {"field-id": 1000, "source-id": 2, "name": "day", "transform": "identity"}


async def test_deletion_vectors_are_in_a_manifest_of_their_own(
    manifests: ManifestFiles, tmp_path: Path
) -> None:
    rows = [row("a", deletion_vector=VECTOR), row("b"), row("c", deletion_vector=VECTOR)]
    found = await all_of(manifests, await view_of(*rows))
    (_, data), (manifest, deletes) = by_pyiceberg(found, tmp_path)
    assert (len(data), manifest.content) == (3, ManifestContent.DELETES)
    assert (manifest.existing_files_count, manifest.existing_rows_count) == (2, 4)
    places = []
    for each in avro(found["~/manifest-1.avro"])[0]:
        vector = each["data_file"]
        assert (vector["content"], vector["file_format"], vector["record_count"]) == (1, "PUFFIN", 2)
        assert vector["file_path"] == PREFIX + "~/vectors-0.puffin"
        assert vector["partition"] == {"partition_1000": date(2024, 1, 2)}
        places.append(
            (vector["referenced_data_file"], vector["content_offset"], vector["content_size_in_bytes"])
        )
    assert places == [(PREFIX + "a", 4, 48), (PREFIX + "c", 100, 48)]
    assert [each.data_file.file_path for each in deletes] == [PREFIX + "~/vectors-0.puffin"] * 2


async def test_data_files_are_older_than_what_is_deleted_from_them(
    manifests: ManifestFiles, tmp_path: Path
) -> None:
    """PyIceberg before 0.11 ignores deletes with the sequence number of their data file."""
    rows = [row("a", deletion_vector=VECTOR), row("b")]
    found = await all_of(manifests, await view_of(*rows))
    (data, files), (deletes, vectors) = by_pyiceberg(found, tmp_path)
    assert {each.sequence_number for each in files} == {4}
    assert {each.sequence_number for each in vectors} == {5}
    assert (data.min_sequence_number, deletes.min_sequence_number) == (4, 5)
    for listed, entries in ((data, files), (deletes, vectors)):
        assert {each.file_sequence_number for each in entries} == {listed.min_sequence_number}


async def test_several_manifests_together_have_each_file_once(
    manifests: ManifestFiles, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(files_module, "MANIFEST_FILES", 3)
    rows = [row(f"f{number}", deletion_vector=VECTOR if number == 5 else None) for number in range(7)]
    found = await all_of(manifests, await view_of(*rows))
    assert found.keys() == {LIST, *(f"~/manifest-{number}.avro" for number in (0, 2, 3, 4))}
    read = by_pyiceberg(found, tmp_path)
    paths = [
        [each.data_file.file_path.removeprefix(PREFIX) for each in entries]
        for manifest, entries in read
        if manifest.content is ManifestContent.DATA
    ]
    assert paths == [["f0", "f1", "f2"], ["f3", "f4", "f5"], ["f6"]]
    for missing in (1, 5, 6, 7):
        with pytest.raises(NotFound):
            await manifests.manifest(await view_of(*rows), missing)


async def test_bytes_do_not_depend_on_the_order_in_which_a_process_read_the_files(
    manifests: ManifestFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process can have a list from another process, and must then make the same manifests."""
    monkeypatch.setattr(files_module, "MANIFEST_FILES", 2)
    rows = [row(name, day=f"2024-01-0{place + 1}", deletion_vector=VECTOR if place % 2 else None)
            for place, name in enumerate("dbace")]  # fmt: skip
    first = await all_of(manifests, await view_of(*rows))
    assert await all_of(manifests, await view_of(*rows)) == first
    assert await all_of(ManifestFiles(Blobs()), await view_of(*reversed(rows))) == first


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("boolean", "true", True),
        ("byte", "-128", -128),
        ("integer", "2147483647", 2147483647),
        ("long", "-9223372036854775808", -(2**63)),
        ("float", "1.5", 1.5),
        ("double", "-0.1", -0.1),
        ("string", "a/\u00e9 ", "a/\u00e9 "),
        ("binary", "ab", b"ab"),
        ("date", "1969-12-31", date(1969, 12, 31)),
        ("timestamp", "2024-01-02T03:04:05.123456Z", datetime(2024, 1, 2, 3, 4, 5, 123456, UTC)),
        ("timestamp_ntz", "2024-01-02 03:04:05", 1704164645000000),
        ("decimal(9, 2)", "-1.5", Decimal("-1.50")),
        ("decimal(9, 2)", "1.5000", Decimal("1.50")),
        ("decimal(9, 2)", "1E+3", Decimal("1000.00")),
        ("decimal(38, 0)", "9" * 38, Decimal("9" * 38)),
        ("decimal(38, 38)", "-0." + "9" * 38, Decimal("-0." + "9" * 38)),
        *((kind, None, None) for kind in ("boolean", "long", "string", "date", "decimal(9, 2)")),
        ("long", "", None),
    ],
)
async def test_partition_values_have_the_type_of_their_column(
    manifests: ManifestFiles, kind: str, text: str | None, value: Any
) -> None:
    metadata = table_metadata([schema_field("p", kind)], ["p"])
    partition = orjson.dumps({"p": text}).decode()
    view = await view_of(file("a", partition_values=partition), metadata=metadata)
    [entry] = avro(await manifests.manifest(view, 0))[0]
    found = entry["data_file"]["partition"]["partition_1000"]
    if isinstance(found, datetime) and isinstance(value, int):
        found = int(found.replace(tzinfo=UTC).timestamp() * 1_000_000)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("integer", "2147483648"),
        ("integer", "x"),
        ("long", "9223372036854775808"),
        ("long", "1.5"),
        ("double", "NaN"),
        ("float", "1e60"),
        ("date", "2024-13-01"),
        ("timestamp", "yesterday"),
        ("boolean", "maybe"),
        ("decimal(9, 2)", "1.234"),
        ("decimal(9, 2)", "12345678.00"),
        ("decimal(9, 2)", "1E+90"),
        ("decimal(9, 2)", "1E+999999999"),
        ("decimal(9, 2)", "Infinity"),
    ],
)
async def test_a_value_that_its_column_cannot_have_is_refused(
    manifests: ManifestFiles, kind: str, text: str
) -> None:
    metadata = table_metadata([schema_field("p", kind)], ["p"])
    partition = orjson.dumps({"p": text}).decode()
    view = await view_of(file("a", partition_values=partition), metadata=metadata)
    for make in (manifests.manifest_list(view), manifests.manifest(view, 0)):
        with pytest.raises(UnsupportedOperation, match="partition whose value of 'p'"):
            await make


@pytest.mark.parametrize("records", [2**63, 10**30])
async def test_an_impossible_number_of_records_is_unknown(
    manifests: ManifestFiles, records: int
) -> None:
    [entry] = avro(await manifests.manifest(await view_of(row("a", records)), 0))[0]
    assert entry["data_file"]["record_count"] == -1


async def test_manifests_of_a_partition_name_no_other_file(manifests: ManifestFiles) -> None:
    read = snapshot(
        row("mine", deletion_vector=VECTOR),
        row("hidden", 1234567, "2023-05-06", deletion_vector=VECTOR),
        row("hidden too", 7654321, None),
    )
    shared = shared_table(partition_filter="day = '2024-01-02'")
    files = await visible(shared, ACME, BY_DAY, read.files)
    view = await iceberg_view(BY_DAY, files, shared=shared)
    found = await all_of(manifests, view)
    for content in found.values():
        assert "hidden" not in repr(avro(content))
        assert "1234567" not in repr(avro(content))
    [listed, deletes] = avro(found[LIST])[0]
    assert (listed["existing_files_count"], listed["existing_rows_count"]) == (1, 5)
    assert (deletes["existing_files_count"], deletes["existing_rows_count"]) == (1, 2)
    assert len(list(Entries(view).of_data(rows_by_path(files)))) == 1


@pytest.mark.parametrize("name", ["a-b", "1st", "\u00e4 x", "status", "partition_1000"])
async def test_names_of_partition_columns_need_not_be_names_of_avro(
    manifests: ManifestFiles, name: str
) -> None:
    metadata = table_metadata([schema_field(name, "long")], [name])
    view = await view_of(
        file("a", partition_values=orjson.dumps({name: "7"}).decode()), metadata=metadata
    )
    [entry] = avro(await manifests.manifest(view, 0))[0]
    assert entry["data_file"]["partition"] == {"partition_1000": 7}


@pytest.mark.parametrize(
    ("precision", "size"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (9, 4), (18, 8), (38, 16)]
)
def test_decimals_have_the_size_of_the_specification(precision: int, size: int) -> None:
    assert decimal_bytes(precision) == size
    for value in (10**precision - 1, 1 - 10**precision):
        assert len(value.to_bytes(size, "big", signed=True)) == size


async def test_two_decimals_have_types_with_different_names(manifests: ManifestFiles) -> None:
    metadata = table_metadata(
        [schema_field("p", "decimal(9, 2)"), schema_field("q", "decimal(5, 1)")], ["p", "q"]
    )
    partition = orjson.dumps({"p": "1.25", "q": "-0.5"}).decode()
    view = await view_of(file("a", partition_values=partition), metadata=metadata)
    [entry] = avro(await manifests.manifest(view, 0))[0]
    values = {"partition_1000": Decimal("1.25"), "partition_1001": Decimal("-0.5")}
    assert entry["data_file"]["partition"] == values
    assert fastavro.parse_schema(manifest_schema(view.shape))
