"""Parts of a snippet, and the values that a page fills in.

Text is plain, except for `code` and *labels* of a program's interface. Code and text can contain the
names of values: `{{profile}}`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Language = Literal["console", "python", "r", "text"]

_VALUE = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Values:
    """What the snippets of one page contain.

    The defaults for share, schema, and table are words that the reader replaces.
    """

    profile: str
    endpoint: str
    iceberg_endpoint: str
    share: str = "SHARE"
    schema: str = "SCHEMA"
    table: str = "TABLE"

    def fill(self, text: str) -> str:
        """Replace the names of values in a text."""
        return _VALUE.sub(lambda found: str(getattr(self, found[1])), text)


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Steps:
    """What a person does in a program, in order.

    Attributes:
        source: The documentation that they were checked against, because no test can follow them.
    """

    steps: tuple[str, ...]
    source: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """Something to copy. Of `console`, it is one command without a prompt."""

    language: Language
    text: str
    output: str = ""
    not_run: str = ""


@dataclass(frozen=True, slots=True)
class Snippet:
    """How to read shared tables with one program."""

    slug: str
    title: str
    summary: str
    parts: tuple[Text | Steps | Code, ...]

    @property
    def examples(self) -> tuple[str, ...]:
        """Names of the values that the reader replaces, unless the page fills in real ones."""
        code = " ".join(part.text for part in self.parts if isinstance(part, Code))
        return tuple(name for name in ("share", "schema", "table") if f"{{{{{name}}}}}" in code)
