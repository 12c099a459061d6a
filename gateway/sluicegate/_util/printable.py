"""Makes texts safe to print on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return a text as one line, with escapes instead of control and other invisible characters.

    Otherwise a comment in a shares file could hide the changes that a person confirms.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
