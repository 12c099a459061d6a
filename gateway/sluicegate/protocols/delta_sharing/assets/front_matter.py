"""Parses the front matter of `SKILL.md` files, which anyone can have written.

Source: docs/interop.md, "OpenSharing". The YAML nodes are read without constructing objects from them,
so tags have no effect and aliases are never expanded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

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
    """Parse the beginning of a `SKILL.md` file.

    Args:
        content: The file's first `MOST_BYTES` bytes, or all of them.

    Raises:
        ValueError: The front matter is missing, too long or not valid, or a field breaks a rule. The
            message contains nothing of the file.
    """
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
