"""What `--server` refuses, and what it reports when a gateway does not answer as expected."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sluicegate import __version__
from sluicegate.cli.main import run
from sluicegate_testing.secrets import keep_secret

TOKEN = "slgadm_" + "t" * 43
VERSION = {"Sluicegate-Version": __version__}
Outcome = tuple[int, str, str]


@dataclass
class Answers:
    """A server that gives one answer, and the requests that it got."""

    url: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes = b"{}"
    received: list[tuple[str, str | None]] = field(default_factory=list)


@pytest.fixture
def answers() -> Iterator[Answers]:
    """A server of which a test chooses the answer."""
    given = Answers()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given.received.append((self.path, self.headers["Authorization"]))
            self.send_response(given.status)
            for name, value in given.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(given.content)))
            self.end_headers()
            self.wfile.write(given.content)

        do_POST = do_GET  # noqa: N815 (a name of the library)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    given.url = f"http://127.0.0.1:{server.server_port}"
    yield given
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Run a command in a folder without a configuration, with a token in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("SLUICEGATE_CONFIG", "SLUICEGATE_SERVER"):
        monkeypatch.delenv(name, raising=False)
    keep_secret(TOKEN)
    monkeypatch.setenv("SLUICEGATE_ADMIN_TOKEN", TOKEN)

    def run_command(*arguments: str) -> Outcome:
        return run(arguments), *capfd.readouterr()

    return run_command


@pytest.mark.parametrize(
    ("status", "headers", "content", "expected"),
    [
        (200, {}, b"{}", "does not have the Admin API (status 200)"),
        (404, {}, b'{"message": "there is no such route"}', "does not have the Admin API (status 404)"),
        (302, {"Location": "http://127.0.0.1:9/x"}, b"", "redirects to another address"),
        (503, {"Retry-After": "60"}, b'{"message": "too busy"}', "is busy: too busy"),
        (401, VERSION, b'{"message": "unknown token"}', "the token of SLUICEGATE_ADMIN_TOKEN: unknown"),
        (403, VERSION, b'{"message": "this requires the role admin"}', "error: this requires the role"),
        (400, VERSION, b'{"message": "a\\u001b[31mb\\nc"}', "error: a\\x1b[31mb\nerror: c\n"),
        (500, VERSION, b"<html>", "has an unexpected form"),
        (200, VERSION, b'{"items": [{"x": 1}]}', "has an unexpected form"),
        (200, VERSION, b'{"items": 1}', "has an unexpected form"),
        (200, VERSION, b"[]", "has an unexpected form"),
    ],
)
def test_answers_that_are_no_success_are_explained(
    answers: Answers,
    command: Callable[..., Outcome],
    status: int,
    headers: dict[str, str],
    content: bytes,
    expected: str,
) -> None:
    answers.status, answers.headers, answers.content = status, headers, content
    code, shown, errors = command("share", "list", "--server", answers.url)
    assert (code, shown) == (1, "")
    assert expected in errors
    assert TOKEN not in errors
    assert answers.received == [("/admin/v1/shares?maxResults=500", f"Bearer {TOKEN}")]


def test_another_version_is_noted_once(answers: Answers, command: Callable[..., Outcome]) -> None:
    answers.headers = {"Sluicegate-Version": "9.0.0"}
    answers.content = json.dumps({"items": [], "nextPageToken": "x"}).encode()
    command("ledger", "--limit", "1", "--server", answers.url)
    answers.content = b'{"items": []}'
    code, _, errors = command("share", "list", "--server", answers.url)
    assert code == 0
    assert (
        errors == f"note: the gateway has version 9.0.0, and this command has version {__version__}\n"
    )


def test_a_change_without_an_answer_may_have_been_made(command: Callable[..., Outcome]) -> None:
    with _closing() as url:
        code, _, errors = command("recipient", "restore", "acme", "--server", url)
    assert code == 1
    assert "it is unknown whether the change was made" in errors


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("share.example.com", "must be a URL"),
        ("ftp://share.example.com", "must be a URL"),
        ("http://", "must be a URL"),
        ("https://ada:secret@share.example.com", "must not contain a user or password"),
        ("https://share.example.com/?token=x", "without a query"),
        ("http://127.0.0.1:1", "does not respond"),
    ],
)
def test_a_bad_url_is_refused(command: Callable[..., Outcome], url: str, expected: str) -> None:
    code, _, errors = command("share", "list", "--server", url)
    assert code == 1
    assert expected in errors
    assert "secret" not in errors


def test_the_token_is_in_a_private_file_or_a_variable(
    answers: Answers, command: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers.headers, answers.content = VERSION, b'{"items": []}'
    monkeypatch.setenv("SLUICEGATE_SERVER", answers.url)
    assert command("share", "list")[0] == 0
    file = tmp_path / "ada.token"
    file.write_text("another\n")
    file.chmod(0o604)
    code, _, errors = command("share", "list", "--token-file", "ada.token")
    assert (code, errors) == (
        1,
        "error: every user can read the token in ada.token: chmod o-r ada.token\n",
    )
    file.chmod(0o600)
    assert command("--token-file", "ada.token", "share", "list")[0] == 0
    assert [token for _, token in answers.received] == [f"Bearer {TOKEN}", "Bearer another"]
    monkeypatch.delenv("SLUICEGATE_ADMIN_TOKEN")
    assert "needs the token of an administrator" in command("share", "list")[2]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("serve", "--server", "https://x.example"), "serve works on this machine"),
        (("database", "migrate", "--server", "https://x.example"), "database migrate works on this"),
        (("--server", "https://x.example", "doctor"), "doctor works on this machine"),
        (("import", "old.yaml", "--token-file", "x"), "import works on this machine"),
        (("audit", "verify", "--server", "https://x.example"), "audit verify works on this machine"),
        (("--server", "https://x.example", "audit", "export"), "audit export works on this machine"),
        (("audit", "search", "--server", "https://x.example", "--file", "."), "exclude each other"),
        (("share", "list", "--token-file", "x"), "--token-file needs --server"),
        (("share", "list", "--server", "https://x.example", "--config", "x"), "exclude each other"),
    ],
)
def test_commands_say_what_a_server_is_not_for(
    command: Callable[..., Outcome], arguments: tuple[str, ...], expected: str
) -> None:
    code, _, errors = command(*arguments)
    assert code == 2
    assert expected in errors


def test_the_server_of_the_environment_is_not_ignored_silently(
    answers: Answers, command: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICEGATE_SERVER", answers.url)
    for arguments in (("import", "old.yaml"), ("audit", "verify")):
        code, _, errors = command(*arguments)
        assert code == 2
        assert "unset SLUICEGATE_SERVER, or add --config" in errors
    (tmp_path / "gateway.yaml").write_text("catalogs: {raw: {type: paths}}")
    assert command("share", "list", "--config", "gateway.yaml")[0] == 0
    assert command("config", "check")[0] == 0
    assert answers.received == []


@contextmanager
def _closing() -> Iterator[str]:
    """The URL of a server that closes the connection after the first request."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            connection.recv(65_536)
            connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()
