"""The facts about the request in progress, which its steps contribute to its audit record.

Every step of a request can contribute: who sends it, what it is about, and what it issues. Outside of a
request, and if nothing is recorded, contributions have no effect. What refuses a request is a property
of its error instead (`SluicegateError.decided_by`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sluicegate.api.models import SharedTable
from sluicegate.audit.records import ActorKind

PARTITION_FILTER = "partition filter"
"""The rule that limits a table to some of its partitions."""


class Trail:
    """Facts about one request, shared by all of its tasks."""

    # Defaults of the class: a trail is created for each request, and most facts stay as they are.
    actor_kind: ActorKind = "anonymous"
    actor: str | None = None
    actor_id: str | None = None
    method: str | None = None
    credential: str | None = None
    resource: str | None = None
    grant: str | None = None
    rules: dict[str, None] | None = None
    issued: dict[str, object] | None = None
    changes: tuple[str, ...] = ()
    repeats: bool = False

    @property
    def rule(self) -> str | None:
        """What allows the request."""
        grant = None if self.grant is None else f"grant {self.grant}"
        if self.rules is None:
            return grant
        return "; ".join(self.rules if grant is None else (grant, *self.rules))

    async def announce(self) -> None:
        """Record the facts so far; see the function of this name."""


_current: ContextVar[Trail | None] = ContextVar("sluicegate_audit_trail", default=None)


def enter_trail(trail: Trail) -> None:
    """Set the trail of this task and of all tasks that it starts."""
    _current.set(trail)


@contextmanager
def in_trail(trail: Trail) -> Iterator[None]:
    """Set the trail for a block, which is not a request of a server."""
    token = _current.set(trail)
    try:
        yield
    finally:
        _current.reset(token)


def is_recorded() -> bool:
    """Whether there is a request that is recorded, and facts that take time are worth it."""
    return _current.get() is not None


def note_recipient(name: str, recipient_id: str, method: str, credential: str | None = None) -> None:
    """Contribute the recipient that a credential belongs to, whether or not it is then allowed."""
    trail = _current.get()
    if trail is not None:
        trail.actor_kind = "recipient"
        trail.actor = name
        trail.actor_id = recipient_id
        trail.method = method
        if credential is not None:
            trail.credential = credential


def note_credential(credential: str) -> None:
    """Contribute the id of the credential that the sender has used."""
    trail = _current.get()
    if trail is not None:
        trail.credential = credential


def note_admin(name: str, method: str, role: str) -> None:
    """Contribute the administrator that sends the request, with the role that it is decided by."""
    trail = _current.get()
    if trail is not None:
        trail.actor_kind, trail.actor, trail.method = "admin", name, method
        trail.rules = {f"role {role}": None}


def note_client(name: str) -> None:
    """Contribute the client of the delegation service that sends the request."""
    trail = _current.get()
    if trail is not None:
        trail.actor_kind, trail.actor = "client", name


def note_claim(method: str, name: str | None = None) -> None:
    """Contribute how a sender authenticates that is nobody known, and the name that it claims."""
    trail = _current.get()
    if trail is not None:
        trail.method, trail.actor = method, name


def note_grant(share: str) -> None:
    """Contribute the share whose grant allows the request."""
    trail = _current.get()
    if trail is not None:
        trail.grant = share


def note_table(table: SharedTable) -> None:
    """Contribute the table or other asset that was found, and the limits of what is shared of it."""
    trail = _current.get()
    if trail is None:
        return
    trail.grant, trail.resource = table.share, table.full_name
    if table.partition_filter is not None:
        _add_rule(trail, PARTITION_FILTER)


def note_resource(name: str) -> None:
    """Contribute the name of what the request is about, if its path doesn't contain it."""
    trail = _current.get()
    if trail is not None:
        trail.resource = name


def note_rule(rule: str) -> None:
    """Contribute an element that took part in the decision, such as a policy."""
    trail = _current.get()
    if trail is not None:
        _add_rule(trail, rule)


def note_decision(facts: Trail) -> None:
    """Contribute what allowed a step that several requests of a recipient share, and what it found."""
    trail = _current.get()
    if trail is None:
        return
    if facts.grant is not None:
        trail.grant = facts.grant
    if facts.resource is not None:
        trail.resource = facts.resource
    for rule in facts.rules or ():
        _add_rule(trail, rule)


def note_issued(kind: str, entry: str | None = None, **facts: object) -> None:
    """Contribute what the response issues. Later facts replace earlier ones with the same name."""
    trail = _current.get()
    if trail is None:
        return
    if trail.issued is None:
        trail.issued = {}
    issued = trail.issued
    issued["kind"] = kind
    for name, value in facts.items():
        if value is not None:
            issued[name] = value
    if entry is not None:
        entries = issued.setdefault("ledger", [])
        if isinstance(entries, list) and entry not in entries:
            entries.append(entry)


def note_repetition() -> None:
    """Contribute that a recent record covers the request, if it is allowed."""
    trail = _current.get()
    if trail is not None:
        trail.repeats = True


def note_changes(lines: Iterable[str]) -> None:
    """Contribute what was changed, one line for each change."""
    trail = _current.get()
    if trail is not None:
        trail.changes += tuple(lines)


async def announce() -> None:
    """Record the request before it changes anything, so that no change lacks a record."""
    trail = _current.get()
    if trail is not None:
        await trail.announce()


def _add_rule(trail: Trail, rule: str) -> None:
    if trail.rules is None:
        trail.rules = {}
    trail.rules[rule] = None
