"""Sends what Hypothesis makes up to a gateway, and judges every answer and the whole log."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson
from hypothesis import HealthCheck, currently_in_test_context, given, note, seed, settings
from hypothesis.strategies import SearchStrategy
from support.gateways.in_process import Answer, HeaderList, InProcessGateway, Request

from sluicegate.access.authentication.oauth.endpoint import ICEBERG_TOKENS
from sluicegate.access.recipients.profile import ICEBERG_PATH, TOKEN_ENDPOINT_PATH
from sluicegate.protocols.iceberg_rest.file_access.sign_request import ENDPOINT_PATH
from sluicegate.telemetry.setup import configure

T = TypeVar("T")

SEED = "SLUICEGATE_FUZZ_SEED"
TIMES = "SLUICEGATE_FUZZ_TIMES"
EACH_CHANGE = 0.25
# How many requests each part sends at least, and the part "documented" for each operation and mode.
# For each change, `EACH_CHANGE` of them; `tox -e nightly` sends ten times as many.
REQUESTS = {
    "documented": 60,
    "bodies": 2_400,
    "predicates": 1_500,
    "headers": 1_500,
    "any header": 1_500,
    "credentials": 300,
    "tokens": 300,
    "links": 600,
    "conditions": 900,
    "addresses": 1_800,
    "changes": 900,
    "oauth": 300,
    "plans": 240,
    "plan tokens": 90,
    "sign requests": 240,
    "generated files": 90,
    "assets": 180,
}
STATUSES = frozenset((200, 204, 206, 304, 400, 401, 403, 404, 405, 412, 413, 416, 429))
UNREACHABLE = "/tables/nowhere"
TOKEN_ENDPOINTS = (TOKEN_ENDPOINT_PATH, ICEBERG_PATH + ICEBERG_TOKENS)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SIGNATURE = re.compile(r"X-Amz-Signature=[0-9a-f]{64}")


@dataclass(frozen=True)
class Fuzzer:
    """Asks a gateway as a recipient."""

    gateway: InProcessGateway
    token: str
    secrets: Sequence[str]

    def run(self, part: str, strategy: SearchStrategy[T], act: Callable[[T], object]) -> None:
        """Act on the part's number of values: always the same ones, unless the environment has a seed.

        The environment can also say how many times as many.
        """
        examples = int(REQUESTS[part] * float(os.environ.get(TIMES, EACH_CHANGE)))

        def each(value: T) -> None:
            act(value)

        chosen = os.environ.get(SEED)
        test = settings(
            max_examples=examples,
            derandomize=chosen is None,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )(given(strategy)(each))
        before = self.gateway.sent
        with self._clean_log():
            (test if chosen is None else seed(int(chosen))(test))()
        assert self.gateway.sent - before >= examples

    def ask(
        self, method: str, target: str, headers: HeaderList = (), body: bytes = b"", **more: Any
    ) -> Answer:
        """Send a request with the recipient's token, and judge the answer."""
        return self.send(Request(method, target, [self.authorization, *headers], body, **more))

    @property
    def authorization(self) -> tuple[str, str]:
        """The header."""
        return ("authorization", f"Bearer {self.token}")

    def send(self, request: Request) -> Answer:
        """Send a request as it is, and judge the answer."""
        if currently_in_test_context():
            note(repr(request)[:4_000])
        answer = self.gateway.send(request)
        judge(request, answer)
        text = answer.body.decode("utf-8", "replace") + repr(answer.headers)
        assert not [secret for secret in self.secrets if secret in text], "the answer holds a secret"
        return answer

    @contextmanager
    def _clean_log(self) -> Iterator[None]:
        with redirect_stderr(io.StringIO()) as log:
            stop = configure(log_format="json")
            try:
                yield
            finally:
                stop()
        written = log.getvalue()
        for line in written.splitlines():
            orjson.loads(line)
        assert "Traceback" not in written
        assert not [secret for secret in self.secrets if secret in written]
        assert not _SIGNATURE.search(written)


def judge(request: Request, answer: Answer) -> None:
    """Fail where an answer is not one that the protocol knows."""
    status = answer.status
    if request.leaves and status == 0:
        return
    reachable = UNREACHABLE not in request.path.casefold()
    assert status in STATUSES or (status == 503 and not reachable), answer
    assert answer.headers["x-request-id"]
    assert not [value for value in answer.headers.values() if _CONTROL.search(value)]
    if status >= 400:
        _judge_error(request, answer)
    elif "ndjson" in answer.headers.get("content-type", ""):
        assert not [line for line in answer.lines if _is_broken(line)], answer.lines[-1]


def _judge_error(request: Request, answer: Answer) -> None:
    if answer.headers["content-type"] == "application/xml":  # of the store for Iceberg clients
        assert request.path.startswith(f"{ENDPOINT_PATH}/")
        assert (answer.status == 503) == ("retry-after" in answer.headers)
        assert (b"<Code>" in answer.body) == (request.method != "HEAD")
        return
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    if request.path in TOKEN_ENDPOINTS and "error_description" in answer.json:
        assert answer.json.keys() == {"error", "error_description"}  # RFC 6749, section 5.2
        return
    needed = {401: "www-authenticate", 405: "allow", 503: "retry-after"}.get(answer.status)
    assert needed is None or answer.headers[needed]
    if request.method != "HEAD":
        error = answer.json
        if "error" in error:
            assert request.path.startswith(f"{ICEBERG_PATH}/")
            error = {"errorCode": error["error"].pop("type"), **error["error"]}
            assert error.pop("code") == answer.status
        assert error.keys() == {"errorCode", "message"}
        assert error["errorCode"]
        assert error["message"]
        assert "Traceback" not in error["message"]


def _is_broken(line: Any) -> bool:
    last = line.get("endStreamAction", {})
    return "errorMessage" in last
