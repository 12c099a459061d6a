"""Insides of other distributions, on which code depends although no documentation promises them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any

_MISSING = object()


@dataclass(frozen=True)
class Inside:
    """Names that a module uses."""

    distribution: str
    used_by: str
    owner: str
    names: str

    def moved(self) -> Iterator[str]:
        """One line for each name that no longer exists."""
        module, _, name = self.owner.partition(":")
        for each in self.names.split():
            try:
                found = import_module(module)
                is_there = _has(getattr(found, name) if name else found, each)
            except (ImportError, AttributeError):
                is_there = False
            if not is_there:
                yield (
                    f"{self.distribution} {version(self.distribution)} has no {each} in {self.owner}, "
                    f"which {self.used_by} uses"
                )


def _has(owner: Any, name: str) -> bool:
    """Whether a module or class has a name, or its methods set an attribute of this name."""
    if inspect.getattr_static(owner, name, _MISSING) is not _MISSING:
        return True
    if not inspect.isclass(owner):
        return hasattr(owner, name)
    sets = re.compile(rf"\bself\.{name}\b(: [^=\n]+)?(,.*)? = |^    {name}: ", re.MULTILINE)
    return any(sets.search(inspect.getsource(each)) for each in owner.__mro__[:-1])
