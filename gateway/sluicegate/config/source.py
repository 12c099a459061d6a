"""The source of settings: the document with its references resolved, for messages and checks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from sluicegate.config.yaml import Document, Location, parse_document


@dataclass(frozen=True, slots=True)
class Reference:
    """A value that the document refers to, instead of containing it.

    Attributes:
        kind: `env` or `file`.
        target: Name of the environment variable, or path of the file.
    """

    kind: Literal["env", "file"]
    target: str

    def __str__(self) -> str:
        """A description for messages."""
        return f"the environment variable '{self.target}'" if self.kind == "env" else f"'{self.target}'"

    @property
    def file(self) -> Path | None:
        """The file; `None` for a variable."""
        return Path(self.target) if self.kind == "file" else None

    def read(self, environment: Mapping[str, str] = os.environ) -> str:
        """Read the current value. Surrounding white space in a file is removed.

        Raises:
            OSError: The file cannot be read.
            KeyError: The variable is not set.
            UnicodeDecodeError: The file is not UTF-8 text.
        """
        if self.file is None:
            return environment[self.target]
        return self.file.read_text(encoding="utf-8").strip()


@dataclass(frozen=True, slots=True)
class Source:
    """A document whose references are resolved.

    Attributes:
        document: Data with the values in place of the references.
        references: The references that were resolved, by location.
        on_disk: Whether the document is a file, so that its mode is checked.
    """

    document: Document
    references: Mapping[Location, Reference] = field(default_factory=dict)
    on_disk: bool = True
    warnings: tuple[str, ...] = ()

    @property
    def values(self) -> Mapping[str, Any]:
        """The configuration as written, with references resolved. It contains secrets."""
        values: Mapping[str, Any] = self.document.data
        return values


def source_of(data: dict[str, Any]) -> Source:
    """A source for settings that were created in code."""
    empty = parse_document("", Path("settings"))
    return Source(replace(empty, data=data), on_disk=False)
