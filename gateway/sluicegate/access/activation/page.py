"""The page of an activation link, without scripts, and its style sheet."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from string import Template

from sluicegate._util.clock import iso_utc
from sluicegate.http.responses import page_headers

STYLE_PATH = "activate/style.css"
# Neither the address of the page, which contains the token, nor its content leaves it.
HEADERS: Mapping[str, str] = {**page_headers(), "Vary": "Accept"}
STYLE = """\
body { background: #f6f7f9; color: #1c2430; font: 1.125rem/1.6 system-ui, sans-serif; margin: 0; }
main { background: #fff; border: 1px solid #c9d0d9; border-radius: 0.5rem; box-sizing: border-box;
  margin: 10vh auto; max-width: 38rem; padding: 1.5rem 2rem 2rem; }
h1 { font-size: 1.6rem; line-height: 1.25; }
strong { overflow-wrap: anywhere; }
button { background: #0b5394; border: 0; border-radius: 0.25rem; color: #fff; cursor: pointer;
  font: inherit; font-weight: 600; padding: 0.6rem 1.4rem; }
button:hover { background: #083d6d; }
button:focus-visible { outline: 3px solid #0b5394; outline-offset: 3px; }
"""
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
With this file, <code>config.share</code>, your tools read the data that is shared with you.</p>
<p>You can download it once, until <time datetime="$until">$until</time>. The file contains a secret:
store it where only you can read it.</p>
<form method="post">
<button type="submit">Download the profile</button>
</form>""")


def download_page(provider: str, recipient: str, expires_at: int) -> str:
    """The page of a link that was not used yet.

    Args:
        provider: Host of the gateway.
        recipient: Name of the recipient.
        expires_at: Epoch milliseconds.
    """
    content = _FORM.substitute(
        provider=escape(provider), recipient=escape(recipient), until=iso_utc(expires_at)
    )
    return _PAGE.substitute(title="Download your profile", style=STYLE_PATH, content=content)


def refusal_page(title: str, message: str) -> str:
    """The page of a link that does not work."""
    text = escape(f"{message[:1].upper()}{message[1:]}.")
    return _PAGE.substitute(title=escape(title), style=STYLE_PATH, content=f"<p>{text}</p>")
