"""The pages of recipients, one for each program, from the snippets that the activation page shows."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from sluicegate.access.activation.page import SNIPPETS
from sluicegate.access.activation.snippets.model import Code, Snippet, Steps, Text, Values

FOLDER = "quickstart/recipients"
WIDTH = 128
# The profile, the address, and the table of the README, with which the samples of the pages run.
_ADDRESS = "http://127.0.0.1:8080"
VALUES = Values(
    *("acme.share", f"{_ADDRESS}/delta-sharing", f"{_ADDRESS}/iceberg", "sales", "eu", "orders")
)


def snippet_pages() -> Mapping[str, Callable[[], str]]:
    """What makes each page, by the name of its file in `docs/`."""
    return {f"{FOLDER}/{snippet.slug}.md": partial(_page, snippet) for snippet in SNIPPETS}


def _page(snippet: Snippet) -> str:
    return "\n".join(_lines(snippet)) + "\n"


def _lines(snippet: Snippet) -> Iterator[str]:
    yield from (f"# {snippet.title}", "", "<!-- Made by docs/generate.py: do not edit. -->", "")
    yield from (*_wrapped(snippet.summary), "")
    yield from (*_wrapped(_introduction(snippet)), "")
    for part in snippet.parts:
        match part:
            case Text(text):
                yield from _wrapped(VALUES.fill(text))
            case Steps(steps=steps, source=source):
                yield from (line for step in steps for line in _item(VALUES.fill(step)))
                yield from ("", *_wrapped(_provenance(source)))
            case Code():
                yield from _code(part)
        yield ""
    yield from _wrapped("[Quickstart for a recipient](../recipient.md) explains profiles and errors.")


def _provenance(source: str) -> str:
    checked = f" They were checked against {source} in November 2026." if source else ""
    return f"The tests of Sluicegate do not follow these steps.{checked}"


def _introduction(snippet: Snippet) -> str:
    table = f"{VALUES.share}.{VALUES.schema}.{VALUES.table}"
    used = f"`{VALUES.profile}` and the table `{table}`" if snippet.examples else f"`{VALUES.profile}`"
    return f"This page uses the profile {used} of a gateway at `{_ADDRESS}`. Replace these with yours."


def _code(part: Code) -> Iterator[str]:
    if part.not_run:
        yield f"<!-- not run: {part.not_run} -->"
    text = VALUES.fill(part.text).rstrip("\n")
    prompt, output = ("$ ", part.output) if part.language == "console" else ("", "")
    yield from (f"```{part.language}", *f"{prompt}{text}\n{output}".rstrip("\n").split("\n"), "```")
    if part.output and not output:
        yield from ("", "<!-- output -->", "```text", part.output.rstrip("\n"), "```")


def _item(text: str) -> list[str]:
    return _wrapped(f"1. {text}", indent="   ")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
