"""The page of an activation link, without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from string import Template
from urllib.parse import urlsplit

from sluicegate._util.clock import iso_utc
from sluicegate.access.activation.snippets.dashboards import EXCEL, POWER_BI, TABLEAU
from sluicegate.access.activation.snippets.dataframes import DUCKDB, PANDAS, POLARS, R
from sluicegate.access.activation.snippets.engines import CURL, PYICEBERG, SPARK
from sluicegate.access.activation.snippets.model import Code, Snippet, Steps, Text, Values
from sluicegate.access.recipients.profile import ICEBERG_PATH, SHARING_PATH
from sluicegate.http.responses import page_headers

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


SNIPPETS = (PANDAS, POLARS, DUCKDB, SPARK, PYICEBERG, POWER_BI, TABLEAU, R, EXCEL, CURL)


STYLE_PATH = "activate/style.css"
PROFILE_FILE = "config.share"
# Neither the address of the page, which contains the token, nor its content leaves it.
HEADERS: Mapping[str, str] = {**page_headers(), "Vary": "Accept"}
_PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex, nofollow">
<title>$title</title>
<link rel="stylesheet" href="$style">
</head>
<body>
<main>
<h1>$title</h1>
$content
</main>
</body>
</html>
""")
# The form has no `action`, so it is sent to the address of the page, and the page has no token.
_FORM = Template("""\
<p>The provider at <strong>$provider</strong> has prepared a profile for <strong>$recipient</strong>.
With this file, <code>$file</code>, your tools read the data that is shared with you.</p>
<p>You can download it once, until <time datetime="$until">$shown</time>. The file contains a secret:
store it where only you can read it.</p>
<form method="post">
<button type="submit">Download the profile</button>
</form>""")
_SNIPPETS = Template("""\
<h2>Read the data</h2>
<p>Select your program. Run the samples in the folder that contains <code>$file</code>. To select all
of a sample, click it.</p>
$snippets""")


def download_page(public_url: str, recipient: str, expires_at: int) -> str:
    """The page of a link that was not used yet. It stays open after the download, with the snippets."""
    until = iso_utc(expires_at)
    content = _FORM.substitute(
        provider=escape(urlsplit(public_url).netloc),
        recipient=escape(recipient),
        file=PROFILE_FILE,
        until=until,
        shown=f"{until[:10]} {until[11:16]} UTC",
    )
    return _page("Download your profile", f"{content}\n{_snippets(public_url)}")


def used_page(title: str, message: str, public_url: str) -> str:
    """The page of a link that was used. Its reader may have the profile, and look for the snippets."""
    return _page(title, f"{_paragraph(message)}\n{_snippets(public_url)}")


def refusal_page(title: str, message: str) -> str:
    """The page of a link that does not work."""
    return _page(title, _paragraph(message))


def _page(title: str, content: str) -> str:
    return _PAGE.substitute(title=escape(title), style=STYLE_PATH, content=content)


def _paragraph(message: str) -> str:
    return f"<p>{escape(f'{message[:1].upper()}{message[1:]}.')}</p>"


def _snippets(public_url: str) -> str:
    base = public_url.rstrip("/")
    values = Values(PROFILE_FILE, base + SHARING_PATH, base + ICEBERG_PATH)
    return _SNIPPETS.substitute(file=PROFILE_FILE, snippets=snippets_html(SNIPPETS, values))
