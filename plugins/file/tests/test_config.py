from __future__ import annotations

import pytest
from pydantic import ValidationError

from sluicegate_file.config import FileConfig


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("file:///srv/tables/", "file:///srv/tables/"),
        ("file:///srv/tables", "file:///srv/tables/"),
        ("file:///srv/two words/50%/", "file:///srv/two words/50%/"),
    ],
)
def test_a_prefix_is_an_absolute_directory(prefix: str, expected: str) -> None:
    assert FileConfig(prefix=prefix).prefix == expected


@pytest.mark.parametrize(
    ("prefix", "told"),
    [
        ("/srv/tables/", "not an absolute location"),
        ("file://host/srv/", "not an absolute location"),
        ("file:/srv/", "not an absolute location"),
        ("file://tables/", "not an absolute location"),
        ("s3://lake/", "not an absolute location"),
        ("", "not an absolute location"),
        ("file:///", "root of the file system"),
        ("file:////", "root of the file system"),
        ("file:///srv/../etc/", "'..' segment"),
        ("file:///srv/./tables/", "'.' or"),
        ("file:///srv//tables/", "empty"),
        ("file:///srv/\0/", "empty"),
    ],
)
def test_any_other_prefix_is_refused_with_a_reason(prefix: str, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        FileConfig(prefix=prefix)
