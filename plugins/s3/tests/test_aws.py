"""Clients of AWS's services share what botocore knows about the services."""

from __future__ import annotations

import pytest
from botocore.loaders import JSONFileLoader

from sluicegate_s3.aws import client
from sluicegate_s3.credentials import Credentials


def test_another_client_reads_no_file_of_botocore(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway makes new clients whenever it reloads its configuration."""

    def connect() -> None:
        key = Credentials("AKIA", "of-a-test", None, None)
        client("sts", key, region="eu-central-1", endpoint="http://127.0.0.1:1").close()

    def refuse(*_: object) -> None:
        raise AssertionError("a file of botocore is read again")

    connect()
    monkeypatch.setattr(JSONFileLoader, "load_file", refuse)
    connect()
