"""A recipient with the official Python client, which here gives up at the first error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import requests
from delta_sharing.protocol import CdfOptions, DeltaSharingProfile, Table
from delta_sharing.reader import DeltaSharingReader
from delta_sharing.rest_client import DataSharingRestClient


@dataclass(frozen=True)
class Refusal:
    """An error of the protocol, as the client got it."""

    status: int
    code: str
    message: str


@dataclass(frozen=True)
class Recipient:
    """Reads the tables of one schema."""

    profile: Path
    share: str
    schema: str

    def url(self, table: str) -> str:
        """What `delta_sharing.load_as_pandas` takes."""
        return f"{self.profile}#{self.share}.{self.schema}.{table}"

    def read(self, table: str, *, use_delta_format: bool | None = None, **options: Any) -> pd.DataFrame:
        """What `delta_sharing.load_as_pandas` does, without its ten retries."""
        with self.client() as client:
            reader = DeltaSharingReader(
                self.named(table), client, use_delta_format=use_delta_format, **options
            )
            return reader.to_pandas()

    def changes(self, table: str, *, use_delta_format: bool, **bounds: Any) -> pd.DataFrame:
        """What `delta_sharing.load_table_changes_as_pandas` does, without its ten retries."""
        options = CdfOptions(**bounds, include_historical_metadata=use_delta_format)
        with self.client() as client:
            reader = DeltaSharingReader(self.named(table), client, use_delta_format=use_delta_format)
            return reader.table_changes_to_pandas(options)

    def negotiated_format(self, table: str) -> str:
        """The format that the client chooses by default."""
        with self.client() as client:
            chosen: str = client.autoresolve_query_format(self.named(table))
            return chosen

    def named(self, table: str) -> Table:
        """The table, as the client names it."""
        return Table(table, share=self.share, schema=self.schema)

    @contextmanager
    def client(self) -> Iterator[DataSharingRestClient]:
        """The client's own REST client."""
        with self.profile.open() as file:
            profile = DeltaSharingProfile.read_from_file(file)
        client = DataSharingRestClient(profile, num_retries=0)
        try:
            yield client
        finally:
            client.close()


def refusal_of(call: Callable[[], object]) -> Refusal:
    """The protocol's error that a call of the client ends with."""
    with pytest.raises(requests.HTTPError) as caught:
        call()
    body = caught.value.response.json()
    return Refusal(caught.value.response.status_code, body["errorCode"], body["message"])
