"""The reference of what plugins implement, from the hooks and the base classes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from sluicegate import api, hookspecs

BASES = (
    api.Catalog,
    api.Storage,
    api.CredentialVendor,
    api.TableFormat,
    api.Authenticator,
    api.Policy,
    api.TaskExecutor,
    api.TaskRun,
    api.TokenBinding,
    api.PluginContext,
    api.LinkSigner,
)
TYPES = (
    api.CatalogType,
    api.StorageType,
    api.FormatType,
    api.AuthenticatorType,
    api.PolicyType,
    api.TaskExecutorType,
)
SECTIONS = ("Args", "Attributes", "Raises", "Returns")


def hooks_page() -> str:
    """The page's Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from ("# Hooks", "", "<!-- Made by docs/generate.py: do not edit. -->", "")
    yield from (*_document(hookspecs.__doc__), "")
    yield from (
        "A plugin is a module that an entry point of the group `sluicegate` names; each hook is a",
        "function of it with `@hookimpl` from `sluicegate.api`. Take only the arguments that you need.",
        "",
    )
    for name, function in _public_functions():
        yield from (f"## `{name}{_signature(function)}`", "", *_document(function.__doc__), "")
    yield from ("# What hooks register", "")
    for kind in TYPES:
        yield from (f"## `{kind.__name__}`", "", *_document(kind.__doc__), "")
        yield from (f"- `{name}: {annotation}`" for name, annotation in kind.__annotations__.items())
        yield ""
    yield from ("# What instances do", "")
    for base in BASES:
        yield from (f"## `{base.__name__}`", "", *_document(base.__doc__), "")
        for name, member in _own_members(base):
            yield from (f"### `{base.__name__}.{name}{member}`", "")
            yield from (*_document(inspect.getdoc(getattr(base, name))), "")


def _public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, value in vars(hookspecs).items():
        if name.startswith("sluicegate_"):
            yield name, value


def _own_members(base: type) -> Iterator[tuple[str, str]]:
    """Names of the members that a class itself defines, and how each is called."""
    for name, value in vars(base).items():
        if name.startswith("_"):
            continue
        if isinstance(value, property):
            returns = inspect.signature(value.fget).return_annotation if value.fget else "Any"
            yield name, f": {returns}"
        elif inspect.isfunction(value):
            yield name, _signature(value, method=True)


def _signature(function: Callable[..., Any], *, method: bool = False) -> str:
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[1 if method else 0 :]
    # Annotations are texts here, which `str` would put into quotes.
    return re.sub(r"'([^']*)'", r"\1", str(signature.replace(parameters=parameters)))


def _document(text: str | None) -> Iterator[str]:
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
