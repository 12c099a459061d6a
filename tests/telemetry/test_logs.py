"""One record, one line, whatever is in it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.servers.telemetry import SECRET

from sluicegate.api.errors import NotFound
from sluicegate.telemetry.context import RequestInfo, enter_request
from sluicegate.telemetry.logs import JsonFormatter, StructuredFormatter, TextFormatter, log_fields
from sluicegate.telemetry.setup import Shutdown, configure

Configure = Callable[..., Shutdown]


def record(
    message: object, *args: object, error: BaseException | None = None, **extra: object
) -> logging.LogRecord:
    exc_info = None if error is None else (type(error), error, error.__traceback__)
    return logging.getLogger("sluicegate.test").makeRecord(
        "sluicegate.test", logging.INFO, __file__, 1, message, args, exc_info, extra=extra
    )


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


def as_json(given: logging.LogRecord, **options: bool) -> dict[str, Any]:
    line = JsonFormatter(**options).format(given)
    assert "\n" not in line
    parsed: dict[str, Any] = json.loads(line)
    return parsed


def test_a_json_line_has_time_level_logger_message_and_extra_fields() -> None:
    line = as_json(record("read %s in %d ms", "orders", 3, version=7, share="sales"))
    assert line["ts"].endswith("Z")
    assert len(line["ts"]) == len("2026-08-01T12:00:00.000Z")
    del line["ts"]
    assert line == {
        "level": "info",
        "logger": "sluicegate.test",
        "message": "read orders in 3 ms",
        "version": 7,
        "share": "sales",
    }


def test_a_text_line_has_the_same_as_pairs() -> None:
    line = TextFormatter().format(record("read %s", "orders", version=7, note="two words", none=None))
    assert line.endswith('INFO    sluicegate.test: read orders version=7 note="two words" none=None')


def test_extra_fields_cannot_pose_as_the_record_itself() -> None:
    line = as_json(record("true", ts="never", level="critical", logger="root"))
    assert (line["message"], line["level"], line["logger"]) == ("true", "info", "sluicegate.test")
    assert line["ts"] != "never"


def test_a_domain_error_is_one_line_with_its_private_detail() -> None:
    error = raised(NotFound("there is no table x", detail="s3 says NoSuchKey"))
    expected = {
        "type": "NotFound",
        "message": "there is no table x",
        "code": "RESOURCE_DOES_NOT_EXIST",
        "detail": "s3 says NoSuchKey",
    }
    assert as_json(record("refused", error=error))["exception"] == expected
    text = TextFormatter().format(record("refused", error=error))
    assert "\n" not in text
    assert 'exception.detail="s3 says NoSuchKey"' in text


def test_where_a_domain_error_was_raised_is_for_debugging() -> None:
    error = raised(NotFound("there is no table x"))
    assert (
        "in raised" in as_json(record("refused", error=error), show_refusals=True)["exception"]["stack"]
    )


def test_an_unexpected_exception_is_logged_with_its_stack() -> None:
    error = raised(ZeroDivisionError("by zero"))
    exception = as_json(record("unexpected", error=error))["exception"]
    assert (exception["type"], exception["message"]) == ("ZeroDivisionError", "by zero")
    assert "in raised" in exception["stack"]
    first, *stack = TextFormatter().format(record("unexpected", error=error)).split("\n")
    assert "exception.type=ZeroDivisionError" in first
    assert any("in raised" in line for line in stack)
    assert all(line.startswith("    ") for line in stack)


async def test_the_request_is_named_in_every_line_of_it() -> None:
    enter_request(RequestInfo("request-7"))
    assert as_json(record("x"))["request_id"] == "request-7"
    assert "request_id=request-7" in await asyncio.to_thread(TextFormatter().format, record("x"))


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()], ids=["json", "text"])
@pytest.mark.parametrize(
    "given",
    [
        record("GET https://b/k?X-Amz-Signature=%s", SECRET),
        record("sent", headers={"authorization": f"Bearer {SECRET}"}),
        record("connecting", session_token=SECRET),
        record("failed", error=raised(ValueError(f"postgresql://gate:{SECRET}@db/gate"))),
        record("refused", error=raised(NotFound("no", detail=f"token={SECRET}"))),
        record("%d", f"password={SECRET}"),
        record({"password": SECRET}),
    ],
    ids=["argument", "nested field", "named field", "exception", "detail", "bad argument", "object"],
)
def test_a_secret_is_redacted_wherever_it_is(
    formatter: StructuredFormatter, given: logging.LogRecord
) -> None:
    line = formatter.format(given)
    assert SECRET not in line
    assert "***" in line


@pytest.mark.parametrize("forged", ["a\nb", "a\r\nb", "a\x1b[2Jb", "a\x00b", "a\u2028b", "a\x85b"])
def test_a_message_cannot_forge_a_line_or_steer_a_terminal(forged: str) -> None:
    for line in (
        TextFormatter().format(record(forged, field=forged)),
        TextFormatter().format(record("x", error=raised(ValueError(forged)))),
    ):
        first, *stack = line.splitlines()
        assert all(text.isprintable() for text in (first, *stack))
        assert all(text.startswith("    ") for text in stack)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.characters(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=5,
)


@settings(deadline=None)
@given(
    message=st.text(st.characters()), value=anything, key=st.from_regex("[a-z_]{3,8}x", fullmatch=True)
)
def test_every_record_is_one_valid_json_line(message: str, value: object, key: str) -> None:
    line = JsonFormatter().format(record("%s", message, error=None, **{key: value}))
    assert len(line.split("\n")) == 1
    line.encode()
    parsed = json.loads(line)
    assert key in parsed
    assert parsed["logger"] == "sluicegate.test"


@settings(deadline=None)
@given(message=st.text(st.characters()), value=anything)
def test_every_record_is_one_printable_text_line(message: str, value: object) -> None:
    line = TextFormatter().format(record("%s", message, value=value))
    assert len(line.splitlines()) == 1
    line.encode()


def test_a_lone_surrogate_or_a_cycle_is_logged_as_text() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    line = as_json(record("file \udcff", cycle=cycle, huge=2**80))
    assert line["message"] == "file \\udcff"
    assert line["huge"] == str(2**80)


def test_all_loggers_write_to_standard_error_in_one_format(
    configured: Configure, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("uvicorn"), "handlers", [logging.StreamHandler(sys.stdout)])
    monkeypatch.setattr(logging.getLogger("uvicorn"), "propagate", False)
    configured(log_format="json")
    logging.getLogger("sluicegate.app").info("ours")
    logging.getLogger("some.library").info("theirs")
    logging.getLogger("uvicorn.error").info("started", extra={"color_message": "\x1b[36mstarted"})
    logging.getLogger("uvicorn.access").info("GET /?token=1 200")
    logging.getLogger("alembic.runtime.plugins").info("setup plugin alembic.autogenerate.schemas")
    warnings.showwarning("old", DeprecationWarning, "file.py", 1)
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in err.splitlines()]
    assert out == ""
    assert [line["logger"] for line in lines] == [
        "sluicegate.app",
        "some.library",
        "uvicorn.error",
        "py.warnings",
    ]
    assert "color_message" not in lines[2]


@pytest.mark.parametrize(
    ("level", "heard"),
    [
        ("debug", ["ours debug", "ours info", "ours warning", "theirs info", "theirs warning"]),
        ("info", ["ours info", "ours warning", "theirs info", "theirs warning"]),
        ("warning", ["ours warning", "theirs warning"]),
        ("error", []),
    ],
)
def test_libraries_do_not_debug_into_the_log(
    level: str, heard: list[str], configured: Configure, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(log_format="json", log_level=level)
    for logger, who in (("sluicegate_s3.storage", "ours"), ("botocore.auth", "theirs")):
        for severity in (logging.DEBUG, logging.INFO, logging.WARNING):
            logging.getLogger(logger).log(
                severity, "%s %s", who, logging.getLevelName(severity).lower()
            )
    assert [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()] == heard


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_a_line_without_a_record_is_the_line_of_a_record(
    log_format: str, configured: Configure, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(log_format=log_format)
    logger = logging.getLogger("sluicegate.access_log")
    fields: dict[str, object] = {"path": "/100%", "url": f"?sig={SECRET}", "status": 200}
    log_fields(logger, logging.WARNING, "GET /100% 200", fields)
    logger.warning("GET /100% 200", extra=fields)
    lines = capsys.readouterr().err.splitlines()
    first, second = (re.sub(r"\d\d:\d\d\.\d{3}Z", "", line) for line in lines)
    assert first == second
    assert SECRET not in first


def test_a_handler_of_a_plugin_gets_records_of_every_line(
    configured: Configure, capsys: pytest.CaptureFixture[str]
) -> None:
    records: list[logging.LogRecord] = []
    listener = logging.Handler()
    listener.emit = records.append  # type: ignore[assignment,method-assign]
    configured(log_format="json")
    logging.getLogger().addHandler(listener)
    log_fields(
        logging.getLogger("sluicegate.access_log"), logging.INFO, "GET /100% 200", {"status": 200}
    )
    [heard] = records
    assert (heard.getMessage(), vars(heard)["status"]) == ("GET /100% 200", 200)
    assert json.loads(capsys.readouterr().err)["message"] == "GET /100% 200"


def test_a_record_that_cannot_be_written_does_not_show_its_arguments(
    configured: Configure, capsys: pytest.CaptureFixture[str]
) -> None:
    class Unprintable:
        def __str__(self) -> str:
            raise RuntimeError(SECRET)

    configured()
    logging.getLogger("some.library").info("%s %s", SECRET, Unprintable())
    assert capsys.readouterr().err == "some.library: a record was lost (RuntimeError)\n"


@pytest.mark.parametrize(
    "name", [None, "uvicorn", "uvicorn.error", "uvicorn.access", "alembic.runtime.plugins"]
)
def test_shutdown_puts_back_what_was_there(name: str | None) -> None:
    logger = logging.getLogger(name)
    before = (logger.level, logger.handlers[:], logger.propagate, logger.disabled)
    configure(log_level="debug")()
    assert (logger.level, logger.handlers[:], logger.propagate, logger.disabled) == before


def test_a_broken_standard_error_stops_nobody(
    configured: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured()
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", buffering=1) as broken:
        monkeypatch.setattr(sys, "stderr", broken)
        log_fields(
            logging.getLogger("sluicegate.access_log"), logging.INFO, "GET / 200", {"status": 200}
        )
        logging.getLogger("sluicegate.app").info("x")
        monkeypatch.undo()
        with Path(os.devnull).open("w") as sink:
            os.dup2(sink.fileno(), writer)  # or closing it would fail, too
