"""Environments of Python processes that find compiled modules, or that have to compile them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_CACHE, _UNWRITTEN = "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"


@contextmanager
def compiled_modules() -> Iterator[Mapping[str, str]]:
    """Variables with which each process keeps what it compiles for the next, until the block ends.

    Installers compile modules, and so does the first start. This environment might forbid both.
    """
    with tempfile.TemporaryDirectory(prefix="sluicegate-bytecode-") as folder:
        variables = {_CACHE: folder, _UNWRITTEN: ""}
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)  # for processes that are not started with these variables
        try:
            yield variables
        finally:
            _restore(before)


def without_compiled_modules(folder: Path) -> Mapping[str, str]:
    """Variables with which a process compiles every module and keeps none."""
    return {_CACHE: str(folder), _UNWRITTEN: "1"}


def _restore(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
