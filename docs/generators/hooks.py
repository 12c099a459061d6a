"""The reference of what plugins implement, from the hooks and the base classes."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from inspect import Parameter
from typing import Any

from sluicegate import api
from sluicegate.plugins import hookspecs

BASES = (
    api.Catalog,
    api.Storage,
    api.ObjectStorage,
    api.PathSigner,
    api.CredentialVendor,
    api.TableFormat,
    api.Authenticator,
    api.Policy,
    api.TaskExecutor,
    api.TaskRun,
    api.TokenBinding,
    api.PluginContext,
    api.ExecutorContext,
    api.SnapshotIndexes,
    api.LinkSigner,
    api.GatewayServices,
    api.VisibleTables,
    api.PluginDatabase,
    api.CommandServices,
    api.PluginTelemetry,
    api.AuthenticationRequest,
    api.ClientCertificate,
)
TYPES = (
    api.CatalogType,
    api.StorageType,
    api.FormatType,
    api.AuthenticatorType,
    api.PolicyType,
    api.TaskExecutorType,
)
HOOK = re.compile(r"(?P<text>.+?)\n+Called:\n(?P<called>.+?)\n\nExample:\n(?P<example>.+)", re.DOTALL)
NOT_RUN = "<!-- not run: tests/plugins/test_hook_examples.py runs it -->"
SECTIONS = ("Args", "Attributes", "Raises", "Returns")


def hooks_page() -> str:
    """The page's Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from ("# Hooks", "", "<!-- Made by docs/generate.py: do not edit. -->", "")
    yield from (*document(hookspecs.__doc__), "")
    yield from (
        "A plugin is a module that an entry point of the group `sluicegate` names; each hook is a",
        "function of it with `@hookimpl` from `sluicegate.api`. Take only the arguments that you need.",
        "",
    )
    for name, function in _public_functions():
        yield from (f"## `{name}{signature(function)}`", "", *_hook(function), "")
    yield from ("# What hooks register", "")
    for kind in TYPES:
        yield from (f"## `{kind.__name__}`", "", *document(kind.__doc__), "")
        yield from (f"- `{name}: {annotation}`" for name, annotation in kind.__annotations__.items())
        yield ""
    yield from ("# What instances do", "")
    for base in BASES:
        yield from (f"## `{base.__name__}`", "", *document(base.__doc__), "")
        for name, member in own_members(base):
            yield from (f"### `{asynchronous(base, name)}{base.__name__}.{name}{member}`", "")
            yield from (*document(inspect.getdoc(getattr(base, name))), "")


def _hook(function: Callable[..., Any]) -> Iterator[str]:
    """The docstring of a hook; when the hook is called and an example come last."""
    found = HOOK.fullmatch(inspect.cleandoc(function.__doc__ or ""))
    if found is None:
        raise ValueError(f"{function.__name__} has to say when it is called, and to show an example")
    yield from document(found["text"])
    yield from ("", "**Called**", "", *textwrap.dedent(found["called"]).strip().splitlines(), "")
    yield from (NOT_RUN, "```python", *textwrap.dedent(found["example"]).splitlines(), "```")


def _public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, value in vars(hookspecs).items():
        if name.startswith("sluicegate_"):
            yield name, value


def own_members(base: type) -> Iterator[tuple[str, str]]:
    """Names of the members that a class itself defines, and how each is called.

    Methods that plugins have to implement are included, even if only the class itself calls them.
    """
    for name, value in vars(base).items():
        if name.startswith("_") and not getattr(value, "__isabstractmethod__", False):
            continue
        if isinstance(value, property):
            returns = inspect.signature(value.fget).return_annotation if value.fget else "Any"
            yield name, f": {returns}"
        elif inspect.isfunction(value):
            yield name, signature(value, method=True)


def asynchronous(kind: type, name: str) -> str:
    """What precedes the name of a method: `async` if callers await it."""
    return "async " if inspect.iscoroutinefunction(getattr(kind, name)) else ""


class _Written:
    """What a signature shows as it is: an annotation, or `…` for a default such as a function."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


_SHOWN = (bool, int, float, str, tuple, type(None), type)


def signature(function: Callable[..., Any], *, method: bool = False) -> str:
    """How a function, a class, or a method without its `self` is called, with its result."""
    found = inspect.signature(function)
    parameters = [
        parameter.replace(
            annotation=_annotation(parameter.annotation),
            default=parameter.default if isinstance(parameter.default, _SHOWN) else _Written("…"),
        )
        for parameter in list(found.parameters.values())[1 if method else 0 :]
    ]
    returned = Parameter.empty if inspect.isclass(function) else _annotation(found.return_annotation)
    return str(found.replace(parameters=parameters, return_annotation=returned))


def _annotation(annotation: Any) -> Any:
    return _Written(annotation) if isinstance(annotation, str) else annotation


def document(text: str | None) -> Iterator[str]:
    """A Google docstring as Markdown: its sections become lists."""
    section = False
    for line in inspect.cleandoc(text or "").splitlines():
        if line.rstrip(":") in SECTIONS and line.endswith(":"):
            section = True
            yield from (f"**{line.rstrip(':')}**", "")
        elif section and re.match(r" {4}\S", line):
            yield f"- {line.strip()}"
        elif section and line.strip():
            yield f"  {line.strip()}"
        else:
            section = section and not line
            yield line
