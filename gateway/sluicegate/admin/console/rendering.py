"""Renders templates. All values are escaped, and unknown names are errors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sluicegate._util.clock import iso_utc
from sluicegate._util.printable import printable
from sluicegate._util.units import format_duration
from sluicegate.admin.console.static_files import StaticFiles

PREFIX = "/console"
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


class Addresses:
    """Addresses of pages, also behind a proxy that serves the gateway below a path."""

    def __init__(self, public_url: str) -> None:
        self.base = urlsplit(public_url).path.rstrip("/") + PREFIX

    def of(self, *names: str, **query: str | int | None) -> str:
        """The address of a page: `of("recipients", name, page=2)`."""
        path = "".join(f"/{quote(name, safe='')}" for name in names if name)
        given = {name: value for name, value in query.items() if value not in (None, "")}
        return self.base + path + (f"?{urlencode(given)}" if given else "")

    def is_own(self, address: str) -> bool:
        """Whether an address is one of the console's pages, so that a redirect stays here."""
        path = address.partition("?")[0]
        inside = path == self.base or path.startswith(f"{self.base}/")
        return inside and address.isascii() and address.isprintable() and not {*"\\ "} & {*address}


class Templates:
    """Renders the templates of the console."""

    def __init__(self, addresses: Addresses, files: StaticFiles) -> None:
        self._environment = _environment()
        self._shared = {
            "url": addresses.of,
            "style": addresses.of("static", *files.names("style.css")),
            "script": addresses.of("static", *files.names("live.js")),
        }

    def render(self, template: str, values: Mapping[str, Any]) -> str:
        """A page."""
        return self._environment.get_template(template).render({**self._shared, **values})


@cache  # compiled templates refer to no gateway: those that follow one another have the same
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("sluicegate.admin.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
        auto_reload=False,
    )
    made.filters |= {
        "time": iso_utc,
        "size": _size,
        "duration": format_duration,
        "sentence": sentence,
        "exact": exact,
    }
    return made


def sentence(message: str) -> str:
    """A message as a sentence."""
    return f"{message[:1].upper()}{message[1:]}{'' if message.endswith(('.', '!', '?')) else '.'}"


def exact(text: str) -> Markup:
    """A text for a field of a form, which sends it back unchanged, also its invisible characters."""
    escaped = str(Markup.escape(text))
    if escaped.isprintable():
        return Markup(escaped)  # noqa: S704 # it is escaped
    coded = "".join(
        each if each.isprintable() or each == "\n" else f"&#{ord(each)};" for each in escaped
    )
    return Markup(coded)  # noqa: S704 # it is escaped


def _finalize(value: Any) -> Any:
    """Values of templates: invisible characters are shown as escapes, missing values as nothing."""
    if value is None:
        return ""
    # Markup is written by templates. Its own values were finalized before.
    return _visible(value) if type(value) is str else value


def _visible(text: str) -> str:
    """A text with escapes instead of invisible characters except line breaks."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def _size(size: int) -> str:
    """Bytes in a unit that people read: `1.5 GB`."""
    value, unit = float(size), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{size} bytes" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"
