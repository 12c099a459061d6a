"""Texts, names and numbers in the shares file, with the checks of each.

Names follow the Delta Sharing protocol, "Names"; lengths of comments and properties follow its notes on
`List Shares`.
"""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Annotated, get_args

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from sluicegate.access.partition_filter import PartitionFilter
from sluicegate.api.models import AccessMode, SharedKind
from sluicegate.config.yaml import nearest
from sluicegate.database.names import NamedKind, check_name

MAX_VERSION = 2**63 - 1
# Some clients put names into URLs without percent-encoding.
_REPLACEMENT = re.compile(r"[A-Za-z0-9_~-]{1,16}")

# See docs/interop.md, "OpenSharing".
_SKILL = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(-[a-z0-9]+)*")


def _storable(text: str) -> str:
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("texts cannot contain a NUL character or half of a surrogate pair")
    return text


def _named(kind: NamedKind) -> AfterValidator:
    return AfterValidator(lambda name: check_name(kind, name))


def _network(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError:
        raise ValueError("expected a network like 203.0.113.0/24, without host bits set") from None


def _filter(text: str) -> str:
    PartitionFilter.parse(text)
    return text


def _replacement(text: str) -> str:
    if not _REPLACEMENT.fullmatch(text):
        raise ValueError("expected up to 16 ASCII letters, digits, '_', '-' or '~', such as _")
    return text


def _skill(name: str) -> str:
    if not _SKILL.fullmatch(name):
        raise ValueError(
            "a skill's name consists of up to 64 lower-case letters, digits and single hyphens"
        )
    return name


def _in_one_order(modes: tuple[AccessMode, ...]) -> tuple[AccessMode, ...]:
    if not modes:
        raise ValueError("expected url, dir or both")
    return tuple(mode for mode in get_args(AccessMode) if mode in modes)


def _known_kind(value: object) -> object:
    if isinstance(value, str) and value not in get_args(SharedKind):
        raise ValueError(f"unknown kind '{value}'{nearest(value, get_args(SharedKind))}")
    return value


def _kinds_in_one_order(kinds: tuple[SharedKind, ...]) -> tuple[SharedKind, ...]:
    if not kinds:
        raise ValueError("expected at least one of tables, volumes, models and skills")
    return tuple(kind for kind in get_args(SharedKind) if kind in kinds)


_STORABLE = AfterValidator(_storable)

Comment = Annotated[str, StringConstraints(max_length=65_536), _STORABLE]
DisplayName = Annotated[str, StringConstraints(min_length=1, max_length=255), _STORABLE]
PropertyKey = Annotated[str, StringConstraints(min_length=1, max_length=255), _STORABLE]
PropertyValue = Annotated[str, StringConstraints(max_length=1000), _STORABLE]
Properties = Annotated[dict[PropertyKey, PropertyValue], Field(max_length=50)]
Tags = Annotated[
    Properties,
    Field(description="Attributes for policies. Tables inherit them; the nearest takes precedence."),
]
Required = Annotated[str, StringConstraints(min_length=1), _STORABLE]
FilterText = Annotated[str, _STORABLE, AfterValidator(_filter)]
AccessModes = Annotated[tuple[AccessMode, ...], AfterValidator(_in_one_order)]
_KnownKind = Annotated[SharedKind, BeforeValidator(_known_kind)]
SharedKinds = Annotated[tuple[_KnownKind, ...], AfterValidator(_kinds_in_one_order)]
ShareName = Annotated[str, _named("share")]
SchemaName = Annotated[str, _named("schema")]
TableName = Annotated[str, _named("table")]
VolumeName = Annotated[str, _named("volume")]
ModelName = Annotated[str, _named("model")]
SkillName = Annotated[str, AfterValidator(_skill)]
VersionAlias = Annotated[str, _named("alias")]
VersionNumber = Annotated[int, Field(ge=0, le=MAX_VERSION)]
RecipientName = Annotated[str, _named("recipient")]
NetworkText = Annotated[str, AfterValidator(_network)]
CatalogName = Annotated[str, Field(description="Name of a configured catalog.")]
Patterns = tuple[Required, ...]
Alias = Annotated[str, AfterValidator(_replacement)]
