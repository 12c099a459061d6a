"""What recipients might send, from nearly right to nonsense."""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import hypothesis.strategies as st
from hypothesis.strategies import SearchStrategy
from support.fuzz import fuzz_values as values

HeaderPair = tuple[str, str]

VISIBLE = st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="?#")
HEADER_TEXT = st.text(st.characters(max_codepoint=0xFF, exclude_categories=["Cc"]), max_size=60)

# RFC 9110, section 5.6.2.
_TOKEN = st.sampled_from(string.ascii_letters + string.digits + "!#$%&'*+-.^_`|~")

FULL_DELTA = (
    "delta-sharing-capabilities",
    "responseformat=delta,parquet;readerfeatures=deletionvectors,columnmapping,timestampntz",
)


def scalars() -> SearchStrategy[Any]:
    """Values of JSON that are not containers."""
    return st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from(values.INTEGERS),
        st.integers(0, 5),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(values.TIMESTAMPS),
        st.sampled_from(values.NUMERALS),
        st.text(max_size=20),
    )


def json_values() -> SearchStrategy[Any]:
    """Any value of JSON."""
    return st.recursive(scalars(), _containers, max_leaves=6)


def _containers(inner: SearchStrategy[Any]) -> SearchStrategy[Any]:
    keys = st.text(max_size=8)
    return st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4))


def objects() -> SearchStrategy[bytes]:
    """Objects with the protocol's keys, some of them twice, and with anything as their values."""
    text = st.one_of(
        scalars().map(json.dumps), json_values().map(json.dumps), st.sampled_from(values.LITERALS)
    )
    member = st.tuples(st.sampled_from(values.BODY_KEYS), text).map(
        lambda pair: f'"{pair[0]}":{pair[1]}'
    )
    return st.lists(member, max_size=4).map(lambda members: f"{{{','.join(members)}}}".encode())


def bodies() -> SearchStrategy[bytes]:
    """Any body: objects, JSON of any kind, pieces and other encodings of it, bytes."""
    whole = st.one_of(objects(), json_values().map(lambda value: json.dumps(value).encode()))
    cut = st.tuples(whole, st.integers(1, 40)).map(lambda pair: pair[0][: -pair[1]])
    encodings = st.sampled_from(("utf-16", "utf-32", "utf-7"))
    encoded = st.tuples(objects(), encodings).map(lambda pair: pair[0].decode().encode(pair[1]))
    literal = st.sampled_from(values.LITERALS).map(str.encode)
    return st.one_of(objects(), objects(), whole, cut, encoded, literal, st.binary(max_size=200))


def predicates() -> SearchStrategy[str]:
    """`jsonPredicateHints`: trees of operations, well-formed or not."""
    maybe = {
        "name": st.sampled_from(values.COLUMNS),
        "value": st.one_of(st.sampled_from(values.VALUES), scalars()),
        "valueType": st.sampled_from(values.VALUE_TYPES),
    }
    operation = {"op": st.sampled_from(values.OPERATIONS)}
    leaf = st.fixed_dictionaries(operation, optional=maybe)
    tree = st.recursive(
        st.one_of(leaf, leaf, json_values()),
        lambda inner: st.fixed_dictionaries(
            {**operation, "children": st.lists(inner, max_size=3)}, optional=maybe
        ),
        max_leaves=8,
    )
    return st.one_of(
        tree.map(json.dumps),
        st.tuples(tree, st.integers(50, 1_200)).map(lambda pair: _nested(json.dumps(pair[0]), pair[1])),
        st.sampled_from(values.LITERALS),
    )


def _nested(tree: str, depth: int) -> str:
    return '{"op":"not","children":[' * depth + tree + "]}" * depth


def conditions() -> SearchStrategy[list[str]]:
    """`predicateHints`: SQL in any order of its words."""
    words = st.one_of(st.sampled_from(values.SQL), st.text(max_size=6))
    return st.lists(st.lists(words, max_size=8).map(" ".join), max_size=3)


def capabilities() -> SearchStrategy[HeaderPair]:
    """The capabilities header, from well-formed to nonsense."""
    known = st.sampled_from(sorted(values.CAPABILITIES)).flatmap(_capability)
    part = st.one_of(known, known, known, HEADER_TEXT, st.sampled_from(values.CAPABILITY_PARTS))
    parts = st.lists(part, max_size=5)
    joined = st.tuples(st.sampled_from((";", "; ", ";;", ",")), parts).map(lambda p: p[0].join(p[1]))
    spelled = st.one_of(joined, joined.map(str.title))
    return spelled.map(lambda text: ("delta-sharing-capabilities", _latin(text)))


def _capability(key: str) -> SearchStrategy[str]:
    return st.sampled_from(values.CAPABILITIES[key]).map(lambda value: f"{key}={value}")


def headers() -> SearchStrategy[list[HeaderPair]]:
    """Headers of the protocol and others, also twice and with odd values."""
    value = st.one_of(HEADER_TEXT, st.sampled_from(values.HEADER_VALUES))
    other = st.tuples(st.sampled_from(values.HEADERS), value)
    return st.lists(st.one_of(capabilities(), other), max_size=4)


def any_headers() -> SearchStrategy[list[HeaderPair]]:
    """Headers of HTTP with values of their own and of others, and headers of any other name."""
    text = st.one_of(
        HEADER_TEXT,
        st.sampled_from((*values.RANGES, *values.DATES, *values.TAGS, *values.HEADER_VALUES)),
    )
    own = st.sampled_from(sorted(values.HTTP_HEADERS)).flatmap(_http_header)
    crossed = st.tuples(st.sampled_from(sorted(values.HTTP_HEADERS)), text)
    name = st.text(_TOKEN, min_size=1, max_size=30).map(str.lower)
    pairs = st.one_of(own, own, crossed, st.tuples(name, text), capabilities())
    return st.lists(pairs.map(lambda pair: (pair[0], _latin(pair[1]))), min_size=1, max_size=8)


def _http_header(name: str) -> SearchStrategy[HeaderPair]:
    return st.tuples(st.just(name), st.sampled_from(values.HTTP_HEADERS[name]))


def names() -> SearchStrategy[str]:
    """Names as they stand in an address: encoded once or twice, or not at all."""
    name = st.one_of(st.sampled_from(values.NAMES), st.text(max_size=30))
    encoded = name.map(lambda text: quote(text, safe=""))
    return st.one_of(
        encoded,
        encoded,
        encoded.map(lambda text: quote(text, safe="")),
        st.text(VISIBLE, max_size=20),
        st.binary(max_size=8).map(lambda raw: "".join(f"%{byte:02x}" for byte in raw)),
        st.sampled_from(values.ENCODED_NAMES),
    )


def queries() -> SearchStrategy[str]:
    """Query strings with the protocol's and other keys."""
    value = st.one_of(
        st.sampled_from(values.INTEGERS).map(str),
        st.sampled_from((*values.TIMESTAMPS, *values.NUMERALS)).map(quote),
        st.text(max_size=15).map(quote),
        st.text(VISIBLE, max_size=10),
        st.sampled_from(("%FF", "%00", "%")),
    )
    known = st.sampled_from(values.QUERY_KEYS)
    pair = st.tuples(st.one_of(known, known, st.text(VISIBLE, max_size=6)), value).map("=".join)
    return st.lists(pair, max_size=4).map(lambda pairs: "?" + "&".join(pairs) if pairs else "")


def mutated(genuine: Sequence[str]) -> SearchStrategy[str]:
    """Tokens that were once real: cut, changed, joined, or of something else."""
    one = st.sampled_from(genuine)
    place = st.floats(0, 1, exclude_max=True)
    letter = st.characters(max_codepoint=0x7E, min_codepoint=0x21)
    odd = st.sampled_from(("=", "==", "\x00", " ", "A", "%3D", "\xe9", "\ud7ff"))
    return st.one_of(
        one,
        st.tuples(one, place, letter).map(lambda parts: _replaced(*parts)),
        st.tuples(one, place).map(lambda pair: pair[0][: int(pair[1] * len(pair[0]))]),
        st.tuples(one, place).map(lambda pair: pair[0][int(pair[1] * len(pair[0])) :]),
        st.tuples(one, one).map("".join),
        st.tuples(one, odd).map("".join),
        one.map(str.swapcase),
        one.map(lambda token: token[::-1]),
        st.text(st.sampled_from("ABCabc019-_"), max_size=200),
        st.text(max_size=30),
    )


def _replaced(token: str, place: float, letter: str) -> str:
    at = int(place * len(token))
    return token[:at] + letter + token[at + 1 :]


def _latin(text: str) -> str:
    return text.encode("latin-1", "replace").decode("latin-1")
