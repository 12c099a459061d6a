"""Token files (HDTS) in both formats, for `HADOOP_TOKEN_FILE_LOCATION` and `dtutil`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sluicegate.vending.hadoop import protobuf
from sluicegate.vending.hadoop.token import HadoopToken, encode_token, read_token
from sluicegate.vending.hadoop.wire import Input, blob, text, vint

FileFormat = Literal["writable", "protobuf"]
FORMATS: tuple[FileFormat, ...] = ("writable", "protobuf")

_MAGIC = b"HDTS"
_WHAT = "the token file"


@dataclass(frozen=True, slots=True)
class TokenFile:
    """The content of a token file (`org.apache.hadoop.security.Credentials`)."""

    tokens: Mapping[str, HadoopToken]
    secrets: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    format: FileFormat = "writable"

    def encode(self) -> bytes:
        """Encode the file."""
        body = _protobuf(self) if self.format == "protobuf" else _writable(self)
        return _MAGIC + bytes([FORMATS.index(self.format)]) + body

    @classmethod
    def decode(cls, content: bytes) -> TokenFile:
        """Decode a file."""
        data = Input(content, _WHAT)
        if content[: len(_MAGIC)] != _MAGIC:
            data.fail("it is not a Hadoop token file, which begins with HDTS")
        data.take(len(_MAGIC))
        number = data.byte()
        if number >= len(FORMATS):
            data.fail(f"format {number} is unknown")
        found = _read_protobuf(data) if FORMATS[number] == "protobuf" else _read_writable(data)
        data.end()
        return found


def _writable(file: TokenFile) -> bytes:
    tokens = [text(alias) + encode_token(token) for alias, token in file.tokens.items()]
    secrets = [text(alias) + blob(secret) for alias, secret in file.secrets.items()]
    return b"".join((vint(len(tokens)), *tokens, vint(len(secrets)), *secrets))


def _read_writable(data: Input) -> TokenFile:
    tokens = {data.text(): read_token(data) for _ in range(_count(data))}
    secrets = {data.text(): data.blob() for _ in range(_count(data))}
    return TokenFile(tokens, secrets, "writable")


def _count(data: Input) -> int:
    count = data.vint()
    # Each entry has at least one byte, so a larger count is invalid. This limits the work for a forged
    # count.
    if not 0 <= count <= data.remaining:
        data.fail(f"{count} entries are announced, {data.remaining} bytes are left")
    return count


def _protobuf(file: TokenFile) -> bytes:
    entries = [
        *(protobuf.field(1, _entry(alias, 2, _proto(token))) for alias, token in file.tokens.items()),
        *(protobuf.field(2, _entry(alias, 3, secret)) for alias, secret in file.secrets.items()),
    ]
    message = b"".join(entries)
    return protobuf.varint(len(message)) + message


def _entry(alias: str, number: int, content: bytes) -> bytes:
    return protobuf.field(1, alias.encode()) + protobuf.field(number, content)


def _proto(token: HadoopToken) -> bytes:
    parts = (token.identifier, token.password, token.kind.encode(), token.service.encode())
    return b"".join(protobuf.field(number, part) for number, part in enumerate(parts, start=1))


def _read_protobuf(data: Input) -> TokenFile:
    message = Input(data.take(protobuf.read_varint(data)), _WHAT)
    tokens: dict[str, HadoopToken] = {}
    secrets: dict[str, bytes] = {}
    for number, content in protobuf.fields(message):
        if number in (1, 2):
            entry = _message(content)
            alias = _text(message, entry.get(1))
            if number == 1:
                tokens[alias] = _read_proto(message, entry.get(2, b""))
            else:
                secrets[alias] = entry.get(3, b"")
    return TokenFile(tokens, secrets, "protobuf")


def _read_proto(message: Input, content: bytes) -> HadoopToken:
    entry = _message(content)
    if not entry.keys() >= {1, 2, 3, 4}:
        message.fail("a token without identifier, password, kind or service")
    return HadoopToken(entry[1], _text(message, entry[3]), _text(message, entry[4]), entry[2])


def _message(content: bytes) -> dict[int, bytes]:
    return dict(protobuf.fields(Input(content, _WHAT)))


def _text(message: Input, content: bytes | None) -> str:
    if content is None:
        message.fail("an entry without a name")
    try:
        return content.decode()
    except UnicodeDecodeError:
        message.fail("a text that is not UTF-8")
