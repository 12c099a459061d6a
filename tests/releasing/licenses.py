"""The licenses of what the distributions require, against a list of those that are allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution
from typing import Final

# SPDX ids of licenses that let an Apache-2.0 project require the package.
ALLOWED: Final = frozenset(
    {
        *("0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT"),
        *("MIT-0", "MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib"),
    }
)
# Packages under another license, and why they may be required all the same.
EXCEPTIONS: Final = {
    "cedarpy": "Apache-2.0, according to the file LICENSE in its wheel; its metadata names none",
    "jwcrypto": "LGPL-3.0-or-later; installed unchanged, for the official client of the extra 'demo'",
}
# What packages of older metadata write into `License` and classifiers.
_NAMES: Final = (
    (re.compile(r"apache.*2|apache software license", re.IGNORECASE), "Apache-2.0"),
    (re.compile(r"\bMPL|mozilla", re.IGNORECASE), "MPL-2.0"),
    (re.compile(r"3-clause bsd|bsd[ -]3-clause", re.IGNORECASE), "BSD-3-Clause"),
    (re.compile(r"2-clause bsd|bsd[ -]2-clause", re.IGNORECASE), "BSD-2-Clause"),
    (re.compile(r"\bBSD\b", re.IGNORECASE), "BSD"),
    (re.compile(r"\bMIT\b", re.IGNORECASE), "MIT"),
    (re.compile(r"PSF-2\.0|python software foundation", re.IGNORECASE), "PSF-2.0"),
    (re.compile(r"\bISC\b", re.IGNORECASE), "ISC"),
)
_LONGEST_NAME: Final = 60  # characters; longer values are texts of licenses
_GNU: Final = re.compile(r"\b[AL]?GPL", re.IGNORECASE)


def expression(distribution: Distribution) -> str | None:
    """The license of a distribution as an SPDX expression; `None` if it names none that is known.

    Several classifiers mean that users may choose.
    """
    found = distribution.metadata
    if "License-Expression" in found:
        return found["License-Expression"]
    said = found["License"].strip() if "License" in found else ""
    if _is_expression(said):
        return said
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in found.get_all("Classifier") or ()
        if each.startswith("License :: OSI Approved ::")
    ]
    names = classifiers or ([said] if said and len(said) <= _LONGEST_NAME else [])
    ids = [_id(name) for name in names]
    return None if not ids or None in ids else " OR ".join(filter(None, ids))


def problems(distributions: Iterable[Distribution]) -> Iterator[str]:
    """Packages whose license is not allowed or not known, a line for each."""
    for distribution in distributions:
        name = distribution.metadata["Name"]
        said = expression(distribution)
        if name.lower() in EXCEPTIONS:
            continue
        if said is None:
            yield f"{name}: its metadata names no known license; look it up, and add it to EXCEPTIONS"
        elif not is_allowed(said):
            yield f"{name}: its license {said} is not allowed"


def is_allowed(said: str) -> bool:
    """Whether an SPDX expression can be satisfied with allowed licenses.

    Alternatives in brackets have to be allowed all: no package that is required needs more.
    """
    alternatives = [said] if "(" in said else re.split(r"\s+OR\s+", said)
    return any(_ids(each) <= ALLOWED for each in alternatives)


def _ids(said: str) -> set[str]:
    return set(re.findall(r"[\w.+-]+", said)) - {"AND", "OR"}


def _is_expression(said: str) -> bool:
    """Whether a text consists of allowed ids alone."""
    return "\n" not in said and bool(ids := _ids(said)) and ids <= ALLOWED - {"BSD"}


def _id(name: str) -> str | None:
    if _GNU.search(name):
        return None
    return next((id_ for pattern, id_ in _NAMES if pattern.search(name)), None)
