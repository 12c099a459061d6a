from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.clients.hadoop_tokens import IDENTIFIER, NOW, made_up_token

from sluicegate.api.errors import InvalidRequest
from sluicegate.api.hadoop_tokens import (
    SESSION_KIND,
    EncryptionSecrets,
    MarshalledCredentials,
    S3ATokenIdentifier,
)
from sluicegate.vending.hadoop.identifier import (
    Layout,
    decode_identifier,
    encode_identifier,
    guarded_created,
)
from sluicegate.vending.hadoop.token import HadoopToken, from_url, to_url
from sluicegate.vending.hadoop.token_file import FORMATS, FileFormat, TokenFile
from sluicegate.vending.hadoop.wire import Input, MalformedToken, text, vint

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
tokens = st.builds(HadoopToken, st.binary(max_size=300), texts, texts, st.binary(max_size=20))
files = st.builds(
    TokenFile,
    st.dictionaries(texts, tokens, max_size=4),
    st.dictionaries(texts, st.binary(max_size=40), max_size=3),
    st.sampled_from(FORMATS),
)
moments = st.integers(1, 2**44)


def _refusal(read: Callable[[], object]) -> str:
    """What a reader said against its bytes; empty where it took them."""
    try:
        read()
    except MalformedToken as error:
        return error.message
    return ""


def identifiers(layout: Layout) -> st.SearchStrategy[S3ATokenIdentifier]:
    context = texts if layout is Layout.B else st.just("")
    return st.builds(
        S3ATokenIdentifier,
        uri=texts,
        owner=texts,
        credentials=st.builds(MarshalledCredentials, texts, texts, texts, texts, int64),
        encryption=st.builds(EncryptionSecrets, texts, texts, context),
        renewer=texts,
        real_user=texts,
        issue_date=int64,
        max_date=int64,
        sequence_number=int32,
        master_key_id=int32,
        origin=texts,
        uuid=texts,
        created=moments.map(lambda now: guarded_created(now, layout)),
    )


# What Java's WritableUtils writes.
@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (127, "7f"),
        (-112, "90"),
        (128, "8f80"),
        (-113, "8770"),
        (300, "8e012c"),
        (-200, "87c7"),
        (1_700_000_000_123, "8a018bcfe5687b"),
        (2**31 - 1, "8c7fffffff"),
        (-(2**63), "807fffffffffffffff"),
    ],
)
def test_numbers_are_spelled_as_java_spells_them(value: int, encoded: str) -> None:
    assert vint(value).hex() == encoded
    assert Input(vint(value), "it").vlong() == value


@given(int64)
def test_long_numbers_come_back(value: int) -> None:
    data = Input(vint(value), "it")
    assert (data.vlong(), data.remaining) == (value, 0)


@given(int32)
def test_numbers_come_back(value: int) -> None:
    assert Input(vint(value), "it").vint() == value


@given(texts)
def test_texts_come_back(value: str) -> None:
    assert Input(text(value), "it").text() == value


@given(files)
def test_files_come_back(file: TokenFile) -> None:
    assert TokenFile.decode(file.encode()) == file


@given(tokens)
def test_url_forms_come_back(token: HadoopToken) -> None:
    assert from_url(to_url(token)) == token
    assert not set(to_url(token)) & set("+/=")


@pytest.mark.parametrize("layout", Layout)
@given(data=st.data())
def test_identifiers_come_back_with_their_layout(layout: Layout, data: st.DataObject) -> None:
    identifier = data.draw(identifiers(layout))
    assert decode_identifier(encode_identifier(identifier, layout)) == (identifier, layout)


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("format_", FORMATS)
def test_a_file_that_is_cut_anywhere_is_malformed(layout: Layout, format_: FileFormat) -> None:
    token = made_up_token(SESSION_KIND, layout)
    content = TokenFile({token.service: token}, {"other": b"secret"}, format_).encode()
    for end in range(len(content)):
        with pytest.raises(MalformedToken, match="the token file is malformed at byte"):
            TokenFile.decode(content[:end])
    with pytest.raises(MalformedToken, match="1 bytes follow"):
        TokenFile.decode(content + b"\0")


@pytest.mark.parametrize("layout", Layout)
def test_an_identifier_that_is_cut_anywhere_is_malformed(layout: Layout) -> None:
    content = made_up_token(SESSION_KIND, layout).identifier
    for end in range(len(content)):
        with pytest.raises(MalformedToken):
            decode_identifier(content[:end])


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("key_length", [1, 13, 20, 64])
def test_what_hadoop_issues_is_read_in_its_own_layout_at_each_time(
    layout: Layout, key_length: int
) -> None:
    secret = replace(IDENTIFIER.credentials, access_key="A" * key_length, session_token="a session")
    for created in range(NOW, NOW + 256):  # without our guard, as Java writes it
        identifier = replace(IDENTIFIER, created=created, credentials=secret)
        assert decode_identifier(encode_identifier(identifier, layout)) == (identifier, layout)


@given(st.binary(max_size=200), st.sampled_from(["", "48445453", "4844545300", "4844545301"]))
def test_anything_else_is_malformed_and_never_repeated(content: bytes, start: str) -> None:
    assert _refusal(lambda: TokenFile.decode(bytes.fromhex(start) + content)).isascii()


@given(st.binary(max_size=400), st.integers(0, 300))
def test_damaged_identifiers_are_malformed_or_read(noise: bytes, at: int) -> None:
    content = made_up_token(SESSION_KIND, Layout.A).identifier
    damaged = content[:at] + noise + content[at + len(noise) :]
    assert IDENTIFIER.credentials.secret_key not in _refusal(lambda: decode_identifier(damaged))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it is not a Hadoop token file"),
        (b"HDFS\0\0\0", "it is not a Hadoop token file"),
        (b"HDTS", "1 bytes are announced, 0 are left"),
        (b"HDTS\x02", "format 2 is unknown"),
        (b"HDTS\0" + vint(2**31 - 1), "2147483647 entries are announced, 0 bytes are left"),
        (b"HDTS\0" + vint(-1), "-1 entries are announced"),
        (b"HDTS\0" + b"\x87\xff" * 4, "-256 entries are announced"),
        (b"HDTS\0\x01" + vint(2**20 + 1), "a text of 1048577 bytes, but at most 1048576 are allowed"),
        (b"HDTS\0\x01\x02\xff\xfe", "a text that is not UTF-8"),
        (b"HDTS\0\x80" + b"\xff" * 8, "a number of more than 32 bits"),
        (b"HDTS\x01" + b"\xff" * 12, "a truncated protobuf number"),
        (b"HDTS\x01\x01\x0b", "a protobuf field of an unknown type"),
        (b"HDTS\x01\x02\x0a\x00", "an entry without a name"),
        (b"HDTS\x01\x05\x0a\x03\x0a\x01a", "a token without identifier"),
    ],
)
def test_malformed_files_are_distinguished(content: bytes, problem: str) -> None:
    with pytest.raises(MalformedToken, match=problem):
        TokenFile.decode(content)


@pytest.mark.parametrize("spelled", ["!", "a b", "é", "a", "AAAA", "AAAAAAA"])
def test_other_texts_are_no_url_form(spelled: str) -> None:
    with pytest.raises(MalformedToken):
        from_url(spelled)


def test_unknown_protobuf_fields_are_passed_over() -> None:
    token = made_up_token(SESSION_KIND, Layout.A)
    content = TokenFile({"a": token}, format="protobuf").encode()
    message = content[5:]
    known = message[2:] if message[1] < 0x80 else message[3:]
    unknown = bytes.fromhex("38013d00000000390000000000000000420178")
    body = known + unknown
    length = bytes([len(body) & 0x7F | 0x80, len(body) >> 7])
    assert TokenFile.decode(content[:5] + length + body).tokens == {"a": token}


@pytest.mark.parametrize(
    ("version", "layout"),
    [
        ("3.3", Layout.A),
        ("3.3.1", Layout.A),
        ("3.4.3", Layout.A),
        ("3.5", Layout.B),
        ("3.5.0", Layout.B),
        ("4.0.1", Layout.B),
    ],
)
def test_the_version_of_hadoop_decides_the_layout(version: str, layout: Layout) -> None:
    assert Layout.of_hadoop(version) is layout


@pytest.mark.parametrize("version", ["3", "", "3.x", "3.4.1.2", "three", "3.4-SNAPSHOT", "³.4", "2.10"])
def test_other_versions_are_refused(version: str) -> None:
    with pytest.raises(InvalidRequest):
        Layout.of_hadoop(version)


@given(moments)
def test_each_layout_makes_the_other_readers_stumble(now: int) -> None:
    first = guarded_created(now, Layout.A).to_bytes(8, signed=True)[:1]
    last = guarded_created(now, Layout.B).to_bytes(8, signed=True)[-1:]
    assert Input(first, "it").vint() < 0
    assert Input(last, "it").vint() < 0


@pytest.mark.parametrize(
    "identifier",
    [
        replace(IDENTIFIER, uri="s3a://" + "b" * 8192),
        replace(IDENTIFIER, origin="ö" * 4097),
        replace(IDENTIFIER, owner="o" * (2**20 + 1)),
        replace(IDENTIFIER, renewer="\ud800"),
        replace(IDENTIFIER, encryption=EncryptionSecrets("SSE-KMS", "k" * 2049)),
    ],
)
def test_what_hadoop_would_not_read_is_not_written(identifier: S3ATokenIdentifier) -> None:
    with pytest.raises(InvalidRequest):
        encode_identifier(identifier, Layout.A)


def test_an_encryption_context_needs_layout_b() -> None:
    encryption = EncryptionSecrets("SSE-KMS", "key", "context")
    identifier = S3ATokenIdentifier("s3a://lake", "acme", MarshalledCredentials("a", "b"), encryption)
    with pytest.raises(InvalidRequest, match="needs the token layout of"):
        encode_identifier(identifier, Layout.A)


def test_no_secret_is_shown_by_repr() -> None:
    token = made_up_token(SESSION_KIND, Layout.A)
    shown = f"{IDENTIFIER!r} {token!r} {TokenFile({'a': token}, {'b': b'hidden'})!r}"
    for secret in (IDENTIFIER.credentials.secret_key, IDENTIFIER.credentials.session_token, "hidden"):
        assert secret not in shown
