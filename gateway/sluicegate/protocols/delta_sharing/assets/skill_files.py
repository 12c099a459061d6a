"""Reads the fields of skills from the `SKILL.md` file in their directories, and caches them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

import anyio
from obstore.exceptions import BaseError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sluicegate._util.lru import LRU
from sluicegate.api import (
    CatalogTable,
    ObjectDirectory,
    Principal,
    SharedAsset,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate.plugins import Instances
from sluicegate.protocols.delta_sharing.assets.resolver import errors_about
from sluicegate.telemetry import span
from sluicegate.vending import Vending

MOST_BYTES: Final = 16 << 10
_BLOCK = re.compile(r"\A\ufeff?---[ \t]*\r?\n(?P<yaml>.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
# The scanner's work grows with the square of the depth of these.
_MOST_BRACKETS: Final = 256
_DESCRIPTION: Final = 1024
_COMPATIBILITY: Final = 500


@dataclass(frozen=True, slots=True)
class SkillFields:
    """The fields of a skill that its `SKILL.md` contains."""

    name: str
    description: str
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


def parse_front_matter(content: bytes) -> SkillFields:
    """Parse the beginning of a `SKILL.md` file."""
    fields = _fields(_yaml(content))
    description = _text(fields, "description", _DESCRIPTION)
    if not description:
        raise ValueError("it has no description")
    return SkillFields(
        name=_text(fields, "name", 64) or "",
        description=description,
        license=_text(fields, "license"),
        compatibility=_text(fields, "compatibility", _COMPATIBILITY),
        allowed_tools=_tools(fields.get("allowed-tools")),
        metadata=_metadata(fields.get("metadata")),
    )


def _yaml(content: bytes) -> str:
    # A character at the end can be cut off.
    text = content[:MOST_BYTES].decode("utf-8", errors="replace")
    found = _BLOCK.match(text)
    if found is None:
        raise ValueError(f"its first {MOST_BYTES} bytes contain no front matter between lines of '---'")
    block = found["yaml"]
    if "\ufffd" in block:
        raise ValueError("its front matter is not UTF-8 text")
    if block.count("[") + block.count("{") > _MOST_BRACKETS:
        raise ValueError("its front matter has too many brackets")
    return block


def _fields(text: str) -> dict[str, Node]:
    try:
        node = YAML(typ="safe", pure=True).compose(text)
    except (YAMLError, ValueError, RecursionError, OverflowError) as error:
        raise ValueError("its front matter is not valid YAML") from error
    if not isinstance(node, MappingNode):
        raise ValueError("its front matter is not a mapping")
    return _members(node, "its front matter")


def _members(node: MappingNode, what: str) -> dict[str, Node]:
    members: dict[str, Node] = {}
    for key, value in node.value:
        name = _scalar(key, f"a key of {what}")
        if name in members:
            raise ValueError(f"{what} contains a key twice")
        members[name] = value
    return members


def _text(fields: Mapping[str, Node], name: str, longest: int = MOST_BYTES) -> str | None:
    node = fields.get(name)
    if node is None:
        return None
    text = _scalar(node, f"its {name}")
    if len(text) > longest:
        raise ValueError(f"its {name} is longer than {longest} characters")
    return text or None


def _tools(node: Node | None) -> str | None:
    if isinstance(node, SequenceNode):
        items = [_scalar(each, "an item of its allowed-tools") for each in node.value]
        _check_total(items, "its allowed-tools")
        return " ".join(items)
    return None if node is None else _scalar(node, "its allowed-tools")


def _metadata(node: Node | None) -> dict[str, str]:
    if node is None:
        return {}
    if not isinstance(node, MappingNode):
        raise ValueError("its metadata is not a mapping")
    members = _members(node, "its metadata")
    values = {name: _scalar(value, "a value of its metadata") for name, value in members.items()}
    _check_total(values.values(), "its metadata")
    return values


def _check_total(texts: Collection[str], what: str) -> None:
    """Refuse texts that aliases repeat so often that they are longer than the file."""
    if sum(map(len, texts)) > MOST_BYTES:
        raise ValueError(f"{what} is longer than {MOST_BYTES} characters")


def _scalar(node: Node, what: str) -> str:
    if not isinstance(node, ScalarNode):
        raise ValueError(f"{what} is not a text")
    text = str(node.value).strip()
    if any("\ud800" <= character <= "\udfff" or character == "\0" for character in text):
        raise ValueError(f"{what} contains a character that is not valid")
    return text


_FILE: Final = "SKILL.md"
_MAX_AGE_SECONDS: Final = 60.0
_CAPACITY: Final = 10_000
_TIMEOUT_SECONDS: Final = 10.0
# Parsing holds the interpreter's lock, so more threads would only delay other requests.
_PARSERS: Final = 1


@dataclass(frozen=True, slots=True)
class _Cached:
    """The fields of a skill, or why they cannot be read, and when they were requested."""

    found: SkillFields | UnsupportedOperation
    requested_at: float


class SkillFiles:
    """Reads the front matter of `SKILL.md` files."""

    def __init__(
        self, instances: Instances, vending: Vending, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._instances = instances
        self._vending = vending
        self._clock = clock
        self._cache: LRU[Hashable, _Cached] = LRU(_CAPACITY)
        self._reading: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()
        self._parsers = anyio.CapacityLimiter(_PARSERS)

    async def fields(
        self, principal: Principal, shared: SharedAsset, source: CatalogTable
    ) -> SkillFields:
        """The fields of a skill, which are at most a minute old."""
        key = shared.id, shared.name, source.id, source.location
        async with self._reading.setdefault(key, asyncio.Lock()):
            cached = self._cache.get(key)
            now = self._clock()
            if cached is None or now - cached.requested_at >= _MAX_AGE_SECONDS:
                cached = _Cached(await self._read(principal, shared, source), now)
                self._cache.put(key, cached)
        if isinstance(cached.found, UnsupportedOperation):
            raise UnsupportedOperation(cached.found.message, detail=cached.found.detail)
        return cached.found

    async def _read(
        self, principal: Principal, shared: SharedAsset, source: CatalogTable
    ) -> SkillFields | UnsupportedOperation:
        content = await self._content(principal, shared, source)
        try:
            if content is None:
                raise ValueError("the directory does not contain it")
            found = await anyio.to_thread.run_sync(parse_front_matter, content, limiter=self._parsers)
            folder = source.location.rpartition("/")[2]
            if not found.name == shared.name == folder:
                raise ValueError("its name is not that of the skill and of its directory")
        except ValueError as error:
            return UnsupportedOperation(
                f"the skill {shared.full_name} cannot be read: ask the provider to correct its "
                f"{_FILE} ({error})",
                detail=source.location,
            )
        return found

    async def _content(
        self, principal: Principal, shared: SharedAsset, source: CatalogTable
    ) -> bytes | None:
        """The beginning of the file, or `None` if there is no file."""
        try:
            with errors_about(shared), anyio.fail_after(_TIMEOUT_SECONDS):
                canonical, storage = self._instances.storage_for(source.location)
                credentials = await self._vending.for_gateway(principal, source)
                directory = await storage.open(canonical, credentials)
                return await _beginning(directory)
        except (BaseError, OSError, TimeoutError, ValueError) as error:
            raise Unavailable(
                f"the skill {shared.full_name} cannot be read now; try again later", detail=str(error)
            ) from error


async def _beginning(directory: ObjectDirectory) -> bytes | None:
    key = directory.key(_FILE)
    try:
        with span("store.head"):
            size = (await directory.store.head_async(key))["size"]
        if size == 0:
            return b""
        end = min(size, MOST_BYTES)
        with span("store.get"):
            return bytes(await directory.store.get_range_async(key, start=0, end=end))
    except FileNotFoundError:
        return None
