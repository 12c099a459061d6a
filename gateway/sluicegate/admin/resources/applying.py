"""Applies shares files, and describes the administrator that sends a request."""

from __future__ import annotations

from starlette.responses import Response

from sluicegate._util.clock import iso_utc
from sluicegate.access.shares_file.diff import Change, Difference, render
from sluicegate.access.shares_file.models import Declaration
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.editor import Editor
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.protocols.common.parameters import boolean


class ApplyResource:
    """Serves `/apply` and `/me`.

    Args:
        editor: Applies shares files.
    """

    def __init__(self, editor: Editor) -> None:
        self._editor = editor

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute("GET", "/me", self._me, "viewer", "getMe", "Get your name and role", "Me"),
            AdminRoute(
                "POST",
                "/apply",
                self._apply,
                "admin",
                "applySharesFile",
                "Apply a shares file completely, or not at all",
                "Difference",
                body=Declaration,
                parameters=(
                    ("dry_run", "Return the changes without making them."),
                    ("prune", "Remove shares and recipients that the file does not contain."),
                ),
            ),
        ]

    async def _me(self, call: AdminCall) -> Response:
        admin = call.admin
        return answered(
            {
                "name": admin.name,
                "role": admin.role,
                "shares": None if admin.shares is None else sorted(admin.shares),
                "method": admin.method,
                "expires_at": iso_utc(admin.expires_at),
            }
        )

    async def _apply(self, call: AdminCall) -> Response:
        query = call.query("dry_run", "prune")
        dry_run = boolean("dry_run", query.get("dry_run"))
        prune = boolean("prune", query.get("prune"))
        content = await call.json(Declaration)
        difference = await self._editor.apply(call.admin, content, prune=prune, dry_run=dry_run)
        return answered(
            {
                "applied": not dry_run,
                "changes": [_change(each) for each in difference.changes],
                "text": list(render(Difference(difference.changes, ()))),
            }
        )


def _change(change: Change) -> dict[str, object]:
    action = "add" if change.before is None else "remove" if change.after is None else "change"
    return {"action": action, "kind": change.entry.kind, "names": list(change.entry.names)}
