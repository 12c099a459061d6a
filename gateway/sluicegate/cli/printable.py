"""Text of other systems, safe to print on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return the text with `?` in place of control characters, which terminals could execute."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "?" for character in text)
