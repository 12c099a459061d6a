"""Renders snippets as HTML, without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from sluicegate.access.activation.snippets.model import Code, Snippet, Steps, Text, Values

_INLINE = re.compile(r"`(?P<code>[^`]+)`|\*(?P<label>[^*]+)\*")


def snippets_html(snippets: Sequence[Snippet], values: Values) -> str:
    """One `<details>` element for each snippet, with everything escaped."""
    return "\n".join(line for snippet in snippets for line in _details(snippet, values))


def _details(snippet: Snippet, values: Values) -> Iterator[str]:
    yield f'<details id="{escape(snippet.slug)}">'
    yield f"<summary>{escape(snippet.title)}</summary>"
    samples = 0
    for part in snippet.parts:
        match part:
            case Text(text):
                yield f"<p>{_inline(values.fill(text))}</p>"
            case Steps(steps=steps):
                items = "".join(f"<li>{_inline(values.fill(step))}</li>" for step in steps)
                yield f"<ol>{items}</ol>"
            case Code(text=text):
                samples += 1
                label = escape(f"{snippet.title}, sample {samples}")
                code = escape(values.fill(text).rstrip("\n"))
                # Focusable, because keyboards can otherwise not scroll it.
                yield f'<pre tabindex="0" role="region" aria-label="{label}"><code>{code}</code></pre>'
    if snippet.examples:
        names = ", ".join(f"<code>{escape(getattr(values, name))}</code>" for name in snippet.examples)
        yield f"<p>Replace {names} with names that the pandas sample lists.</p>"
    yield "</details>"


def _inline(text: str) -> str:
    parts = []
    end = 0
    for found in _INLINE.finditer(text):
        tag = "code" if found["code"] else "strong"
        parts.append(
            f"{escape(text[end : found.start()])}<{tag}>{escape(found[1] or found[2])}</{tag}>"
        )
        end = found.end()
    return "".join((*parts, escape(text[end:])))
