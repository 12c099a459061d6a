"""Executors that end as nobody should: broken results, words without end, exceptions that are none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast

from sluicegate.api import DelegatedTask, TaskExecutor, TaskFailed, TaskProgress, TaskResult, TaskRun

LARGE = 100_000_000
_SURROGATE = "a\ud800b"


class Speechless(Exception):
    """An exception whose words cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


def _circular() -> Any:
    found: dict[str, Any] = {}
    found["again"] = found
    return found


def _deep() -> Any:
    found: Any = 1
    for _ in range(100_000):
        found = [found]
    return found


def _odd(**changed: Any) -> Callable[[], Any]:
    """A result that no type checker lets through."""
    return lambda: TaskResult(**({"summary": "done"} | changed))


RESULTS: Mapping[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "a dictionary": lambda: {"summary": "done"},
    "a summary that is no text": _odd(summary=7),
    "a null character": _odd(summary="a\0b"),
    "a lone surrogate": _odd(summary=_SURROGATE),
    "a summary of 100 MB": lambda: TaskResult("x" * LARGE),
    "a negative count": _odd(files_deleted=-1),
    "a count that no database holds": _odd(bytes_deleted=2**63),
    "a count of a thousand digits": _odd(bytes_deleted=10**1000),
    "a count that is no integer": _odd(files_deleted=1.5),
    "a count that is a truth value": _odd(files_deleted=True),
    "figures that are no mapping": _odd(further=[1]),
    "an object that is no JSON": _odd(further={"a": object()}),
    "a figure that is no number": _odd(further={"a": float("nan")}),
    "a figure of a thousand digits": _odd(further={"a": 10**1000}),
    "a name that is no text": _odd(further={1: 1}),
    "a null character in a name": _odd(further={"a\0b": 1}),
    "a lone surrogate in a figure": _odd(further={"a": _SURROGATE}),
    "circular figures": lambda: TaskResult("done", further=_circular()),
    "figures nested without end": lambda: TaskResult("done", further={"a": _deep()}),
    "a figure of 100 MB": lambda: TaskResult("done", further={"a": "x" * LARGE}),
    "a million figures": lambda: TaskResult("done", further={str(n): n for n in range(10**6)}),
}

EXCEPTIONS: Mapping[str, tuple[Callable[[], BaseException], str]] = {
    "an exception without words": (Speechless, "INTERNAL_ERROR"),
    "an exception of 100 MB": (lambda: RuntimeError("x" * LARGE), "INTERNAL_ERROR"),
    "a failure of 100 MB": (
        lambda: TaskFailed("x" * LARGE, error_code="ENGINE_FAILED", detail="y" * LARGE),
        "ENGINE_FAILED",
    ),
    "a failure whose message is no text": (
        lambda: TaskFailed(cast("Any", Speechless()), error_code="ENGINE_FAILED"),
        "ENGINE_FAILED",
    ),
    "a failure with a code of 100 MB": (
        lambda: TaskFailed("no", error_code=cast("Any", "X" * LARGE)),
        "INTERNAL_ERROR",
    ),
    "a failure whose code is no text": (
        lambda: TaskFailed("no", error_code=cast("Any", ["\0"])),
        "INTERNAL_ERROR",
    ),
    "a keyboard interrupt": (KeyboardInterrupt, "EXECUTOR_FAILED"),
    "an exit": (lambda: SystemExit(3), "EXECUTOR_FAILED"),
    "the end of a generator": (GeneratorExit, "EXECUTOR_FAILED"),
    "a base exception": (lambda: BaseException("x"), "EXECUTOR_FAILED"),
    "a group of base exceptions": (
        lambda: BaseExceptionGroup("x", [KeyboardInterrupt()]),
        "EXECUTOR_FAILED",
    ),
    "a cancellation that nobody wished": (asyncio.CancelledError, "EXECUTOR_FAILED"),
}

REPORTS: Mapping[str, Callable[[], Any]] = {
    "no progress": lambda: None,
    "a stage that is no text": lambda: TaskProgress(cast("Any", object())),
    "a null character": lambda: TaskProgress("a\0b"),
    "a lone surrogate": lambda: TaskProgress(_SURROGATE),
    "a stage of 100 MB": lambda: TaskProgress("x" * LARGE),
    "a negative count": lambda: TaskProgress("content", -1),
    "a count that no database holds": lambda: TaskProgress("content", 1, 2, 2**63),
    "a total that is circular": lambda: TaskProgress("content", 1, _circular()),
}

STAGES: Mapping[str, Callable[[], Any]] = {
    "a stage that is no text": lambda: 7,
    "a null character": lambda: "a\0b",
    "a lone surrogate": lambda: _SURROGATE,
    "a stage of 100 MB": lambda: "x" * LARGE,
}


class Unkind(TaskExecutor):
    """Ends each task as the table's name says; tables of other names are purged well."""

    async def acquire(self, task: DelegatedTask) -> None:
        """Fail here already, if the name says so."""
        kind, _, name = task.table.name.partition(": ")
        if kind == "acquire":
            raise EXCEPTIONS[name][0]()

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Do what the name says."""
        kind, _, name = task.table.name.partition(": ")
        if kind == "result":
            return cast("TaskResult", RESULTS[name]())
        if kind == "raise":
            raise EXCEPTIONS[name][0]()
        if kind == "report":
            run.report(REPORTS[name]())
        if kind == "stage":
            await run.finish_stage(STAGES[name]())
        return TaskResult("done", files_deleted=1, bytes_deleted=2**62)


EXPECTED: Mapping[str, str] = {
    **{f"result: {name}": "INVALID_RESULT" for name in RESULTS},
    **{f"report: {name}": "INVALID_RESULT" for name in REPORTS},
    **{f"stage: {name}": "INVALID_RESULT" for name in STAGES},
    **{f"raise: {name}": code for name, (_, code) in EXCEPTIONS.items()},
    **{f"acquire: {name}": code for name, (_, code) in EXCEPTIONS.items()},
}
"""The code of each task of `Unkind`, by its table's name."""
