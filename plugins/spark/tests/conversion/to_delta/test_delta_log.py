"""Commits of a Delta log, also on a store that loses responses, without Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import orjson
import pytest
from obstore.store import LocalStore, S3Store

from sluicegate.api import ObjectDirectory, TaskFailed
from sluicegate_spark.conversion.to_delta.delta_log import add_lines, commit, remove_lines

from ..delta_parts import VECTOR, files_of


def test_lines_of_a_log_are_json_with_percent_encoded_paths() -> None:
    files = files_of(
        {"path": "p=a b%2F/ü.parquet", "size": 5, "stats": '{"numRecords":1,"x":"\\"\n"}'},
        {"path": "s3://other/a b:c", "size": 6, "modification_time": 9, "deletion_vector": VECTOR},
    )
    first, second = (orjson.loads(line)["add"] for line in b"".join(add_lines(files)).splitlines())
    assert first["path"] == "p%3Da%20b%252F/%C3%BC.parquet"
    assert first["stats"] == '{"numRecords":1,"x":"\\"\n"}'
    assert (second["path"], second["deletionVector"]) == ("s3://other/a%20b%3Ac", VECTOR)
    removed = orjson.loads(b"".join(remove_lines(files, 7)).splitlines()[1])["remove"]
    assert (removed["path"], removed["deletionVector"]) == (second["path"], second["deletionVector"])


async def test_a_commit_never_overwrites_another(tmp_path: Path) -> None:
    directory = ObjectDirectory(LocalStore(str(tmp_path)), "orders")
    await commit(directory, 3, b"first")
    with pytest.raises(TaskFailed, match="another writer committed version 3") as failed:
        await commit(directory, 3, b"second")
    assert failed.value.retryable
    assert (tmp_path / "orders/_delta_log/00000000000000000003.json").read_bytes() == b"first"


class _Bucket:
    """Objects of an S3 store that closes the connection after it has stored an object."""

    def __init__(self, *, is_down: bool) -> None:
        self.objects: dict[str, bytes] = {}
        self.puts = 0
        self.is_down = is_down

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes] | None:
        if method == "PUT":
            self.puts += 1
            if path in self.objects:
                return 412, b""
            self.objects[path] = body
            return None
        return None if self.is_down else (200, self.objects[path])


@contextmanager
def _served(bucket: _Bucket) -> Iterator[ObjectDirectory]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = bucket.answer(self.command, self.path, body)
            if answer is None:
                self.close_connection = True
                return
            status, content = answer
            ranged = status == 200 and "Range" in self.headers
            self.send_response(206 if ranged else status)
            if ranged:
                self.send_header("Content-Range", f"bytes 0-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Last-Modified", "Mon, 23 Nov 2026 00:00:00 GMT")
            self.send_header("ETag", '"1"')
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else content)

        def do_GET(self) -> None:
            self._answer()

        def do_HEAD(self) -> None:
            self._answer()

        def do_PUT(self) -> None:
            self._answer()

        def log_message(self, format: str, *args: object) -> None:
            """Suppress the log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        store = S3Store(
            "lake",
            endpoint=f"http://127.0.0.1:{server.server_port}",
            access_key_id="AKIA",
            secret_access_key="key",
            region="eu-west-1",
            client_options={"allow_http": True},
            retry_config={"max_retries": 1},
        )
        yield ObjectDirectory(store, "orders")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_a_commit_of_a_delta_log_whose_answer_is_lost_is_found_in_the_log() -> None:
    """The store's client repeats the request, which is rejected because of its own object."""
    bucket = _Bucket(is_down=False)
    with _served(bucket) as directory:
        await commit(directory, 3, b"ours")
        with pytest.raises(TaskFailed, match="another writer committed version 3"):
            await commit(directory, 3, b"more")
    assert list(bucket.objects.values()) == [b"ours"]


async def test_a_store_that_does_not_show_its_log_leaves_the_commit_unknown() -> None:
    with _served(_Bucket(is_down=True)) as directory:
        with pytest.raises(TaskFailed, match="did not confirm the commit to the Delta table") as failed:
            await commit(directory, 3, b"ours")
        assert (failed.value.error_code, failed.value.retryable) == ("COMMIT_STATE_UNKNOWN", True)
