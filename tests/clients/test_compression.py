"""Clients read compressed responses: what they decode is what uncompressed ones contain."""

from __future__ import annotations

import json
import shutil
import subprocess

import httpx
import pytest
from delta_sharing import protocol, rest_client
from support.gateways.reader_gateway import SCHEMA, SHARE, ReaderGateway
from support.process.external_files import skip_without
from support.tables.rows import assert_same_rows

TABLE = "history-3"
PATH = f"/shares/{SHARE}/schemas/{SCHEMA}/tables/{TABLE}"
REQUESTS = [
    ("POST", f"{PATH}/query"),
    ("GET", f"/shares/{SHARE}/all-tables"),
]


def authorization(readers: ReaderGateway) -> dict[str, str]:
    token = json.loads(readers.recipient.profile.read_text())["bearerToken"]
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_a_coding_changes_only_the_bytes_on_the_wire(
    readers: ReaderGateway, method: str, path: str, coding: str
) -> None:
    def ask(accepted: str) -> httpx.Response:
        headers = authorization(readers) | {"Accept-Encoding": accepted}
        return httpx.request(method, readers.running.endpoint + path, headers=headers, timeout=60)

    plain, compressed = ask("identity"), ask(coding)
    assert plain.status_code == compressed.status_code == 200
    assert "Content-Encoding" not in plain.headers
    assert compressed.headers["Content-Encoding"] == coding
    assert compressed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
    assert compressed.num_bytes_downloaded < len(compressed.content)
    assert [_without_urls(line) for line in compressed.iter_lines()] == [
        _without_urls(line) for line in plain.iter_lines()
    ]


def test_a_short_response_is_sent_as_it_is(readers: ReaderGateway) -> None:
    headers = authorization(readers) | {"Accept-Encoding": "gzip"}
    response = httpx.get(f"{readers.running.endpoint}{PATH}/metadata", headers=headers, timeout=60)
    assert response.status_code == 200
    assert "Content-Encoding" not in response.headers
    assert 0 < int(response.headers["Content-Length"]) == len(response.content) < 4096


def _without_urls(line: str) -> object:
    def cleaned(value: object) -> object:
        if isinstance(value, dict):
            signed = {"url", "expirationTimestamp", "nextPageToken"}
            return {key: cleaned(each) for key, each in value.items() if key not in signed}
        return [cleaned(each) for each in value] if isinstance(value, list) else value

    return cleaned(json.loads(line))


def test_the_official_client_reads_compressed_responses(
    readers: ReaderGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    codings: list[str | None] = []
    send = rest_client.requests.Session.send

    def noting(*args: object, **options: object) -> object:
        response = send(*args, **options)
        if response.url.startswith(readers.running.endpoint):
            codings.append(response.headers.get("Content-Encoding"))
        return response

    monkeypatch.setattr(rest_client.requests.Session, "send", noting)
    assert_same_rows(readers.expected(TABLE), readers.recipient.read(TABLE))
    assert {*codings} & {"gzip", "zstd"}
    assert {*codings} <= {"gzip", "zstd", None}  # short responses are not compressed


@skip_without("curl")
def test_curl_reads_compressed_responses(readers: ReaderGateway) -> None:
    curl = shutil.which("curl") or "curl"
    profile = protocol.DeltaSharingProfile.read_from_file(readers.recipient.profile)
    command = [curl, "--silent", "--fail", "--compressed", "--config", "-"]
    header = f'header = "Authorization: Bearer {profile.bearer_token}"\n'
    target = f'url = "{readers.running.endpoint}{PATH}/query"\nwrite-out = "%{{size_download}}"\n'
    for _ in range(2):  # the second response to a query comes from the gateway's cache
        found = subprocess.run(
            command,
            input=f'{header}{target}data = "{{}}"\n',
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        *lines, received = found.stdout.splitlines()
        assert [next(iter(json.loads(line))) for line in lines][:2] == ["protocol", "metaData"]
        assert int(received) < sum(map(len, lines))
