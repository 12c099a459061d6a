"""The reference of the conformance kit: fixtures and declarations of suites, fakes and servers."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from generators.hooks import document, signature
from generators.values import described

SUITES = (
    ("catalog", "CatalogBehaviour"),
    ("assets", "AssetBehaviour"),
    ("storage", "StorageBehaviour"),
    ("storage", "ObjectStorageBehaviour"),
    ("formats", "FormatBehaviour"),
    ("policies", "PolicyBehaviour"),
    ("authenticators", "AuthenticatorBehaviour"),
    ("token_bindings", "TokenBindingBehaviour"),
    ("executors", "TaskExecutorBehaviour"),
)
VALUES = (
    ("catalog", "ExpectedTable"),
    ("assets", "ExpectedAsset"),
    ("formats", "WrittenTable"),
    ("policies", "Decision"),
    ("executors", "RecordedRun"),
)
FAKES = (
    *("FakeContext", "authentication_request", "FakeLinks", "MemoryCatalog", "MemoryStorage"),
    *("MemoryVendor", "VendingStorage"),
)
HELPERS = (
    ("servers.failing", "failing_servers"),
    ("servers.catalog_http", "serve"),
    ("servers.catalog_http", "Request"),
    ("servers.catalog_http", "Reply"),
    ("checks.blocking", "never_blocking"),
    ("leaks", "no_secret_leaks"),
    ("secrets", "keep_secret"),
    ("shape", "check_shape"),
)
INTERNAL = frozenset({"calls", "invalid_calls", "failures", "listing", "presigning"})


def kit_page() -> str:
    """The page's Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from ("# Conformance kit", "", "<!-- Made by docs/generate.py: do not edit. -->", "")
    yield from (
        "What the suites of `sluicegate_testing` need, and what else it provides. A suite is a class",
        "that your test class inherits. Override each fixture that is required, and the others if",
        "their defaults do not fit. [Conformance checks](conformance.md) lists the tests of each",
        "suite, and the [guide](guide.md#a-complete-catalog) has an example. The fixtures can be in",
        "the class or in its module. If a fixture or test of yours is asynchronous, configure",
        "`asyncio_mode` of pytest-asyncio; the suites do not need it. To install the kit, see",
        "[sluicegate-testing](../../plugins/testing/README.md).",
        "",
    )
    yield from ("## Fixtures and declarations of every instance", "")
    yield from _suite("checks.behaviour", "InstanceBehaviour", ())
    base = _member("checks.behaviour", "InstanceBehaviour")
    for module, name in SUITES:
        kind = _member(module, name)
        inherited = tuple(vars(base)) if issubclass(kind, base) else ()
        yield from (f"## `sluicegate_testing.{module}.{name}`", "")
        yield from _suite(module, name, inherited)
    yield from ("## Values in fixtures", "")
    for module, name in VALUES:
        yield from (
            f"In `sluicegate_testing.{module}`:",
            "",
            *described(name, _member(module, name)),
            "",
        )
    yield from ("## Fakes", "", "In `sluicegate_testing.fakes`:", "")
    for name in FAKES:
        yield from (*described(name, _member("fakes", name)), "")
    yield from ("## Servers and helpers", "")
    for module, name in HELPERS:
        yield from (
            f"In `sluicegate_testing.{module}`:",
            "",
            *_described(name, _member(module, name)),
            "",
        )


def _suite(module: str, name: str, inherited: tuple[str, ...]) -> Iterator[str]:
    kind = _member(module, name)
    yield from (*document(inspect.getdoc(kind)), "")
    for declared, annotation in inspect.get_annotations(kind).items():
        value = getattr(kind, declared, None)
        shown = f" = {value!r}" if hasattr(kind, declared) else ", without a default"
        yield f"- `{declared}: {annotation.removeprefix('ClassVar[').removesuffix(']')}`{shown}"
    for fixture, function in _fixtures(kind):
        if fixture not in inherited:
            text = " ".join((inspect.getdoc(function) or "").split())
            returned = inspect.signature(function).return_annotation
            needed = "" if _has_default(function) else ", required"
            yield f"- `{fixture}: {returned}`{needed}: {text}"
    yield ""


def _fixtures(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The fixtures of a class, except those that only its own tests use."""
    for name, value in vars(kind).items():
        unwrap = getattr(value, "_get_wrapped_function", None)
        if unwrap is not None and name not in INTERNAL and not inspect.isasyncgenfunction(unwrap()):
            yield name, unwrap()


def _has_default(function: Callable[..., Any]) -> bool:
    return "raise NotImplementedError" not in inspect.getsource(function)


def _described(name: str, value: Any) -> Iterator[str]:
    if hasattr(value, "_get_wrapped_function"):
        value = value._get_wrapped_function()
    if inspect.isclass(value):
        yield from described(name, value)
    else:
        yield from (f"### `{name}{signature(value)}`", "", *document(inspect.getdoc(value)))


def _member(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"sluicegate_testing.{module}"), name)
