import hashlib

import pyarrow as pa
import pytest
from support.tables.memory_tables import change, change_rows, file, file_rows

from sluicegate.protocols.delta_sharing.encoding.file_ids import file_ids


@pytest.mark.parametrize("name", ["md5", "sha256"])
def test_an_id_is_the_hash_of_the_path_as_utf_8(name: str) -> None:
    paths = ["a.parquet", "day=1/ü b.parquet", "s3://lake/other/a.parquet"]
    rows = file_rows(*(file(path) for path in paths))
    assert file_ids(rows, name) == [hashlib.new(name, path.encode()).hexdigest() for path in paths]


def test_an_id_is_made_of_the_path_as_the_log_writes_it() -> None:
    rows = file_rows(file("a b.parquet", spelled_path="a%20b.parquet"), file("c.parquet"))
    written = [b"a%20b.parquet", b"c.parquet"]
    assert file_ids(rows, "sha256") == [hashlib.sha256(path).hexdigest() for path in written]


def test_changes_of_one_file_have_the_id_of_the_file() -> None:
    rows = pa.Table.from_batches([change_rows(change("remove", "a"), change("add", "a"))])
    assert file_ids(rows, "md5") == file_ids(file_rows(file("a"), file("a")), "md5")
