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

    Attributes:
        profile: Name of the profile file.
        endpoint: URL of the Delta Sharing endpoint, as in the profile.
        iceberg_endpoint: URL of the Iceberg REST catalog, as in the profile.
        share: A share that the recipient can read.
        schema: A schema in the share.
        table: A table in the schema.
    """

    profile: str
    endpoint: str
    iceberg_endpoint: str
    share: str = "SHARE"
    schema: str = "SCHEMA"
    table: str = "TABLE"

    def fill(self, text: str) -> str:
        """Replace the names of values in a text.

        Raises:
            AttributeError: There is no such value.
        """
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
    """Something to copy. Of `console`, it is one command without a prompt.

    Attributes:
        output: What the documentation's sample prints; `…` stands for any text.
        not_run: Why the tests of the documentation do not run it.
    """

    language: Language
    text: str
    output: str = ""
    not_run: str = ""


@dataclass(frozen=True, slots=True)
class Snippet:
    """How to read shared tables with one program.

    Attributes:
        slug: Name of the page in the documentation.
        title: Name of the program.
        summary: One sentence for lists of snippets.
    """

    slug: str
    title: str
    summary: str
    parts: tuple[Text | Steps | Code, ...]

    @property
    def examples(self) -> tuple[str, ...]:
        """Names of the values that the reader replaces, unless the page fills in real ones."""
        code = " ".join(part.text for part in self.parts if isinstance(part, Code))
        return tuple(name for name in ("share", "schema", "table") if f"{{{{{name}}}}}" in code)
