"""JSON that was right, and was then damaged at random: in its values, its text or its bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from support.fuzz import fuzz_values as values

Damage = Callable[[Any, random.Random, Sequence[Any]], bytes]
"""Writes a document, damaged, by values that may be put into it; none of them is changed."""

# Texts of JSON that no library writes.
LITERALS = (
    *(literal.encode("utf-8") for literal in values.LITERALS),
    *(b"\xff", b'"\xc0\xaf"', b'"\xed\xa0\x80"', b"\x00", b"NaN", rb'"\udc00"', rb'"\u0000\ud83d"'),
    *(b"9" * 20_000, b"-" + b"9" * 400, b"1e99999", b"0." + b"1" * 5_000, b'"' + b"x" * 70_000 + b'"'),
    *(b"[" * 99 + b"]" * 99, b'{"a":' * 95 + b"1" + b"}" * 95, b"[" + b"0," * 50_000 + b"0]"),
    *(
        b"{" + b'"location":"s3://x/",' * 9_000 + b'"a":1}',
        b'["s3://other/"]',
        b'"' + rb"\n" * 3_000 + b'"',
    ),
)
_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-7", "utf-8-sig", "latin-1")
_MARKER = "here-is-the-value"


def written(document: Any) -> bytes:
    """The text of a document, with integers of any size."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def with_values(document: Any, dice: random.Random, odd: Sequence[Any]) -> bytes:
    """Up to three members replaced, left out, renamed or added."""
    changing = _copied(document)
    for _ in range(dice.randint(0, 3)):
        if _containers(changing):
            _changed(changing, dice, _copied(dice.choice(odd)))
    return written(changing)


def with_literal(document: Any, dice: random.Random, _odd: Sequence[Any] = ()) -> bytes:
    """One member replaced by a text that no library writes."""
    changing = _copied(document)
    if not _containers(changing):
        return dice.choice(LITERALS)
    _changed(changing, dice, _MARKER)
    return written(changing).replace(f'"{_MARKER}"'.encode(), dice.choice(LITERALS))


def with_second_members(document: Any, dice: random.Random, odd: Sequence[Any]) -> bytes:
    """Members of the document twice, with values of which the first or the last is the right one."""
    first, second = written(document), with_values(document, dice, odd)
    if dice.random() < 0.5:
        first, second = second, first
    return first[:-1] + b"," + second[1:] if min(len(first), len(second)) > 2 else first


def with_bytes(document: Any, dice: random.Random, _odd: Sequence[Any] = ()) -> bytes:
    """Some bytes changed, left out, doubled or inserted."""
    data = bytearray(written(document))
    for _ in range(dice.randint(1, 4)):
        place, change = dice.randrange(len(data)), dice.random()
        if change < 0.4:
            data[place] = dice.randrange(256)
        elif change < 0.6:
            del data[place : place + dice.randint(1, 50)]
        elif change < 0.8:
            data[place:place] = data[place : place + dice.randint(1, 200)]
        else:
            data[place:place] = dice.choice((b'"', b"{", b"]", b"\\u0000", b"\\ud800", b",", b"\xff"))
        data = data or bytearray(b" ")
    return bytes(data)


def reencoded(document: Any, dice: random.Random, _odd: Sequence[Any] = ()) -> bytes:
    """The document in another encoding."""
    return written(document).decode().encode(dice.choice(_ENCODINGS), "replace")


def whole(_document: Any, dice: random.Random, _odd: Sequence[Any] = ()) -> bytes:
    """Something else."""
    return dice.choice((*LITERALS, b"", b"null", b"[]", b"{}", dice.randbytes(300)))


KINDS: Sequence[Damage] = (
    *(with_values,) * 4,
    *(with_literal,) * 3,
    *(with_bytes,) * 2,
    with_second_members,
    reencoded,
    whole,
)
"""All kinds of damage, as often as they are worth."""


def _copied(value: Any) -> Any:
    """A copy of a document that may be nested deeper than `copy.deepcopy` can follow."""
    return json.loads(written(value))


def _containers(value: Any) -> list[Any]:
    """All objects and lists that have members, from the outside in."""
    found, waiting = [], [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list) and each:
            found.append(each)
            waiting += each.values() if isinstance(each, dict) else each
    return found


def _changed(document: Any, dice: random.Random, value: Any) -> None:
    """Replace, leave out, rename or add one member somewhere in a document."""
    target = dice.choice(_containers(document))
    key = dice.choice(list(target)) if isinstance(target, dict) else dice.randrange(len(target))
    change = dice.random()
    if change < 0.6:
        target[key] = value
    elif change < 0.7:
        del target[key]
    elif isinstance(target, list):
        target.append(value)
    elif change < 0.8:
        target[dice.choice(values.NAMES)] = target.pop(key)
    else:
        target[dice.choice((*values.NAMES, "location", "statistics-path", "extra", "metadata"))] = value
