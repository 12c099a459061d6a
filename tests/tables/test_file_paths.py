"""Paths of data files: what stores and links can carry, and what they cannot."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sluicegate.api import TableUnreadable
from sluicegate.formats import plain_paths


def plain(*paths: str, collapse: bool = True) -> list[str]:
    found: list[str] = plain_paths(
        pa.array(paths, pa.string()), ["_delta_log/"], collapse=collapse
    ).to_pylist()
    return found


@pytest.mark.parametrize(
    "path",
    [
        "a.parquet",
        "k=1/a b.parquet",
        "k=ü#1x/a#b.parquet",
        "a/.hidden/..b/c...parquet",
        "s3://bucket/other/a.parquet",
        "file:///lake/a.parquet",
        "x" * 1024,
        "a:b/c.parquet",
    ],
)
@pytest.mark.parametrize("collapse", [True, False])
def test_plain_paths_stay_what_they_are(path: str, collapse: bool) -> None:
    assert plain("first.parquet", path, collapse=collapse) == ["first.parquet", path]


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("./a", "a"),
        ("a//b", "a/b"),
        ("a/./b", "a/b"),
        (".//././a///b", "a/b"),
        ("/a", "a"),
        ("s3://bucket/t//a", "s3://bucket/t/a"),
        ("file:////lake/./a", "file:///lake/a"),
    ],
)
def test_other_names_of_a_path_are_that_path(path: str, wanted: str) -> None:
    assert plain("x", path, "y") == ["x", wanted, "y"]


def test_object_stores_know_empty_steps() -> None:
    assert plain("a//b", "s3://bucket//a", collapse=False) == ["a//b", "s3://bucket//a"]
    with pytest.raises(TableUnreadable, match="a segment that links cannot contain"):
        plain("a/./b", collapse=False)


@pytest.mark.parametrize("collapse", [True, False])
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "does not name a file"),
        (".", "does not name a file"),
        ("a/", "does not name a file"),
        ("..", "does not name a file"),
        ("../t2/a", "does not name a file"),
        ("a/../../b", "does not name a file"),
        ("s3://bucket/t/../a", "does not name a file"),
        ("a\tb", "links cannot contain"),
        ("a\nb", "links cannot contain"),
        ("a\x7fb", "links cannot contain"),
        ("a\0b", "links cannot contain"),
        ("a.parquet#12", "links cannot contain"),
        ("x" * 1025, "too long"),
        ("ü" * 513, "too long"),
        ("_delta_log/1.json", "metadata"),
    ],
)
def test_paths_that_no_data_file_has_are_refused(path: str, why: str, collapse: bool) -> None:
    with pytest.raises(TableUnreadable, match=why) as refused:
        plain("first.parquet", path, collapse=collapse)
    assert refused.value.message.isprintable()


def test_other_names_of_the_metadata_folder_are_found() -> None:
    with pytest.raises(TableUnreadable, match="metadata"):
        plain(".//_delta_log/./1.json")


def test_no_paths_are_plain() -> None:
    assert plain() == []
