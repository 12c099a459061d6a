"""Which settings a running gateway can't change."""

from __future__ import annotations

from sluicegate.config import Settings

# The settings of `server` that a new gateway applies. The server itself reads the others at startup.
_RELOADED = frozenset(
    {
        "reload",
        "compression",
        "client_certificates",
        "max_requests",
        "max_requests_per_recipient",
        "max_requests_per_address",
        "queue_timeout",
    }
)


def restart_required(before: Settings, after: Settings) -> list[str]:
    """Return the names of settings that are different, and take effect only after a restart."""
    old, new = before.server, after.server
    names = [name for name in type(new).model_fields if name not in _RELOADED | {"tls"}]
    changed = [f"server.{name}" for name in names if getattr(old, name) != getattr(new, name)]
    if (old.tls is None) != (new.tls is None):
        changed.append("server.tls")
    elif old.tls is not None and new.tls is not None and old.tls.client_ca != new.tls.client_ca:
        changed.append("server.tls.client_ca")
    if before.telemetry != after.telemetry:
        changed.append("telemetry")
    return changed
