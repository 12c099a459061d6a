"""Where settings came from: the document with its references resolved, for messages and checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from sluicegate.yamlfile import Document, Location, parse_document


@dataclass(frozen=True, slots=True)
class Reference:
    """A value that the document takes from elsewhere.

    Attributes:
        kind: `env` or `file`.
        target: Name of the variable, or the file's path.
    """

    kind: Literal["env", "file"]
    target: str


@dataclass(frozen=True, slots=True)
class Source:
    """A document whose references are resolved.

    Attributes:
        document: Data with the values in place of the references.
        references: Which values stood elsewhere, by their location.
        on_disk: Whether the document is a file, whose mode counts.
    """

    document: Document
    references: Mapping[Location, Reference] = field(default_factory=dict)
    on_disk: bool = True

    @property
    def values(self) -> Mapping[str, Any]:
        """The configuration as it was written, references resolved; holds secrets."""
        values: Mapping[str, Any] = self.document.data
        return values


def source_of(data: dict[str, Any]) -> Source:
    """A source for settings that were made in code."""
    empty = parse_document("", Path("settings"))
    return Source(replace(empty, data=data), on_disk=False)
