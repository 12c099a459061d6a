"""Footers and pages of Parquet files, by the grammar of Thrift's compact protocol."""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping

from support.fuzz.grammars.sizes import many

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_LEAVES = (_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY)
_DEEPEST = 4

# Numbers and types of fields (parquet.thrift); a list has its elements' grammar.
_Grammar = Mapping[int, object]
_NODE: _Grammar = {1: _I32, 2: _I32, 3: _I32, 4: _BINARY, 5: _I32, 6: _I32, 9: _I32, 10: {1: {}, 5: {}}}
_STATISTICS: _Grammar = {1: _BINARY, 2: _BINARY, 3: _I64, 4: _I64, 5: _BINARY, 6: _BINARY}
_PAIR: _Grammar = {1: _BINARY, 2: _BINARY}
_CHUNK: _Grammar = {
    1: _BINARY,
    2: _I64,
    3: {1: _I32, 2: [_I32], 3: [_BINARY], 4: _I32, 5: _I64, 6: _I64, 7: _I64, 8: [_PAIR], 9: _I64,
        11: _I64, 12: _STATISTICS, 13: [{1: _I32, 2: _I32, 3: _I32}], 16: {1: _I64, 2: [_I64]}},
}  # fmt: skip
_FOOTER: _Grammar = {
    1: _I32,
    2: [_NODE],
    3: _I64,
    4: [{1: [_CHUNK], 2: _I64, 3: _I64, 4: [{1: _I32, 2: _TRUE, 3: _TRUE}]}],
    5: [_PAIR],
    6: _BINARY,
    7: [{1: {}}],
}
_PAGE: _Grammar = {
    1: _I32,
    2: _I32,
    3: _I32,
    5: {1: _I32, 2: _I32, 3: _I32, 4: _I32, 5: _STATISTICS},
    7: {1: _I32, 2: _I32, 3: _TRUE},
    8: {1: _I32, 2: _I32, 3: _I32, 4: _I32, 5: _I32, 6: _I32, 7: _TRUE, 8: _STATISTICS},
}


def footer_file(dice: random.Random) -> bytes:
    """A file that consists of a footer, or of what is none."""
    footer = dice.choice([_odd, _steps])(dice) if dice.random() < 0.2 else _struct(_FOOTER, dice, 0)
    return b"PAR1" + footer + struct.pack("<I4s", len(footer), b"PAR1")


def pages(dice: random.Random) -> bytes:
    """Pages of a column chunk, most of which are empty."""
    parts = [_struct(_PAGE, dice, 0) + bytes(many(dice, 64)) for _ in range(dice.randint(1, 5))]
    if dice.random() < 0.2:
        parts.append(dice.choice([_odd, _steps])(dice))
    return b"".join(parts) * many(dice, 1 << 10)


def _steps(dice: random.Random) -> bytes:
    """One header of a field again and again."""
    return bytes([dice.choice([0xF1, 0x11, 0x1C, 0xF2, 0xF9])]) * many(dice, 1 << 18)


def _odd(dice: random.Random) -> bytes:
    return _value(dice.choice([_LIST, _STRUCT, _SET]), dice, 0)


def _struct(grammar: object, dice: random.Random, depth: int) -> bytes:
    """A struct, whose fields are mostly those of the grammar in their order."""
    fields = dict(grammar) if isinstance(grammar, Mapping) else {}
    written, last = bytearray(), 0
    for number in sorted(fields):
        if dice.random() < 0.15:
            continue
        kind = fields[number]
        if dice.random() < 0.05:
            number, kind = number + dice.choice([0, 1, 20_000]), dice.choice([*_LEAVES, _LIST, _STRUCT])
        written += _header(number, last, _kind_of(kind)) + _value(kind, dice, depth)
        last = number
    return bytes(written) + b"\0"


def _header(number: int, last: int, kind: int) -> bytes:
    if 0 < number - last <= 15:
        return bytes([(number - last) << 4 | kind])
    return bytes([kind]) + _varint(number << 1)


def _kind_of(kind: object) -> int:
    if isinstance(kind, int):
        return kind
    return _LIST if isinstance(kind, list) else _STRUCT


def _value(kind: object, dice: random.Random, depth: int) -> bytes:
    if isinstance(kind, list):
        return _list(kind[0], dice, depth)
    if kind in (_LIST, _SET):
        return _list(dice.choice([*_LEAVES, _LIST, _STRUCT]), dice, depth + 1)
    if isinstance(kind, Mapping) or kind == _STRUCT:
        return _struct(kind, dice, depth + 1)
    if kind in (_I16, _I32, _I64):
        return _varint(dice.choice([0, 1, 2, 4, 7, 100, 1 << 14, 1 << 31, (1 << 64) - 1]))
    if kind == _BINARY:
        size = many(dice, 1 << 8)
        return _varint(size) + b"a" * size
    return {_BYTE: b"\0", _DOUBLE: bytes(8)}.get(int(str(kind)), b"")


def _list(kind: object, dice: random.Random, depth: int) -> bytes:
    if depth > _DEEPEST:
        return b"\x05"
    different = [_value(kind, dice, depth + 1) or b"\1" for _ in range(dice.randint(1, 3))]
    count = many(dice, 1 << (14 if depth < 2 else 7))
    declared = count if dice.random() < 0.9 else many(dice, 1 << 40)
    elements = b"".join(different) * (count // len(different) + 1)
    if len(elements) > 1 << 16:
        count = declared = 1
        elements = different[0]
    elif count:
        declared = declared if declared != count else (count // len(different) + 1) * len(different)
    return bytes([0xF0 | _kind_of(kind)]) + _varint(declared) + elements


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
