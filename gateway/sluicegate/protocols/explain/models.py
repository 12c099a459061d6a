"""The results of explanations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sluicegate.access.explain.steps import Step
from sluicegate.api import AssetKind

WayName = Literal["url", "dir", "iceberg", "iceberg-dir", "hadoop"]
"""ways to read: presigned URLs and temporary credentials of Delta Sharing, Iceberg file by file and by
temporary credentials, and Hadoop delegation tokens."""

Action = Literal["read", "vend", "url", "dir", "iceberg"]
"""What is explained: reading by any way, by temporary credentials, or by one protocol."""

NamedKind = Literal["table"] | AssetKind

WAYS_OF: dict[Action, tuple[WayName, ...]] = {
    "read": ("url", "dir", "iceberg", "iceberg-dir", "hadoop"),
    "vend": ("dir", "iceberg-dir", "hadoop"),
    "url": ("url",),
    "dir": ("dir",),
    "iceberg": ("iceberg", "iceberg-dir"),
}
"""The ways of each action, of which one is sufficient."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to read, and what requests that use it get.

    Attributes:
        code: Code of the error in the response; `None` if the way is open.
    """

    name: WayName
    status: int
    code: str | None
    reason: str

    @property
    def is_open(self) -> bool:
        """Whether a request succeeds."""
        return self.status == 200


@dataclass(frozen=True, slots=True)
class AssetPath:
    """A table or asset as recipients name it. All names are case-insensitive."""

    share: str
    schema: str
    name: str

    def __str__(self) -> str:
        """`share.schema.name`."""
        return f"{self.share}.{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether a recipient can read a table or asset, and why.

    Attributes:
        ways: The ways to read; empty if they were left out.
        listed: Whether listings of Delta Sharing show it to the recipient; `None` if this is unknown.
    """

    recipient: str
    path: str
    kind: NamedKind
    action: Action
    allowed: bool
    steps: tuple[Step, ...]
    ways: tuple[Way, ...]
    listed: bool | None = None
    listed_in_iceberg: bool | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """A recipient in the answer of `who-can`.

    Attributes:
        allowed: Whether it can read the table now; `None` if this is not shown to an administrator.
        ways: The ways that are open to it; empty if they were left out.
        reason: What refuses access or, if it is allowed, what limits it; can be empty.
    """

    recipient: str
    allowed: bool | None
    ways: tuple[WayName, ...]
    reason: str
    credentials: str


@dataclass(frozen=True, slots=True)
class Readers:
    """The recipients that were granted the share of a table, sorted by casefolded name."""

    path: str
    kind: NamedKind
    readers: tuple[Reader, ...]
