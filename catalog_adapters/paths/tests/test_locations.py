from __future__ import annotations

import pytest

from sluicegate_paths.folders import normalised


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("s3://lake/eu/orders", "s3://lake/eu/orders"),
        ("s3://lake/eu/orders/", "s3://lake/eu/orders"),
        ("s3://lake/eu/orders//", "s3://lake/eu/orders"),
        ("s3://lake/", "s3://lake"),
        ("s3://lake", "s3://lake"),
        ("s3://lake/eu//orders", "s3://lake/eu//orders"),
        ("s3://lake/a b/p%20q/k=1?x#y", "s3://lake/a b/p%20q/k=1?x#y"),
        ("abfss://box@account.dfs.example/t", "abfss://box@account.dfs.example/t"),
        ("file:///srv/tables/orders/", "file:///srv/tables/orders"),
        ("file:///srv//tables/orders", "file:///srv/tables/orders"),
        ("/srv/tables/orders", "file:///srv/tables/orders"),
        ("//srv/tables//orders/", "file:///srv/tables/orders"),
        ("/srv/50% off/größe", "file:///srv/50% off/größe"),
        ("/srv/..hidden/...", "file:///srv/..hidden/..."),
    ],
)
def test_a_location_has_one_spelling(written: str, meant: str) -> None:
    assert normalised(written) == meant
    assert normalised(meant) == meant


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("", "must be a location"),
        ("orders", "must be a location"),
        ("eu.orders", "must be a location"),
        ("./orders", "must be a location"),
        ("s3:/lake/orders", "must be a location"),
        ("file:/srv/orders", "must be a location"),
        ("S3://lake/orders", "must be a location"),
        ("://lake/orders", "must be a location"),
        (" /srv/orders", "must be a location"),
        ("s3:///orders", "must contain a bucket"),
        ("s3://", "must contain a bucket"),
        ("file://", "or a path"),
        ("file:///", "or a path"),
        ("/", "or a path"),
        ("file://host/srv/orders", "or a path"),
        ("/srv/../etc", "cannot contain the segments"),
        ("s3://lake/../other", "cannot contain the segments"),
        ("s3://lake/./orders", "cannot contain the segments"),
    ],
)
def test_what_is_no_location_gets_that_reason(written: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        normalised(written)
