"""The overview: what is shared with whom, and which profiles end soon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.responses import Response

from sluicegate._util.clock import epoch_ms
from sluicegate.access.recipients.ending import ending
from sluicegate.access.shares_file.export import StoredShares
from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.identity import Admin
from sluicegate.api import ASSET_KINDS

_MOST = 20


@dataclass(frozen=True, slots=True)
class SharedCounts:
    """How much the shares of an administrator contain.

    Attributes:
        open_ended: Shares and schemas whose content a catalog decides at each request.
    """

    shares: int
    schemas: int
    tables: int
    assets: int
    grants: int
    open_ended: int


def count_shared(stored: StoredShares, admin: Admin) -> SharedCounts:
    """Count what the shares of an administrator declare."""
    shares = [share for share in stored.shares if admin.manages(share.names[0])]
    schemas = [each for share in shares for each in stored.within("schema", share.key[1])]
    return SharedCounts(
        shares=len(shares),
        schemas=len(schemas),
        tables=sum(len(stored.within("table", each.key[1])) for each in schemas),
        assets=sum(len(stored.within(kind, each.key[1])) for each in schemas for kind in ASSET_KINDS),
        grants=sum(len(stored.recipients_of(share)) for share in shares),
        open_ended=sum(each.values["source"] is not None for each in (*shares, *schemas)),
    )


class OverviewPage:
    """The start page.

    Args:
        admin: The services of the Admin API.
        warn_before: Seconds before its expiry from which a profile is shown as ending.
        now: Epoch milliseconds.
    """

    def __init__(self, admin: AdminApi, warn_before: int, *, now: Callable[[], int] = epoch_ms) -> None:
        self._admin = admin
        self._warn_before = warn_before
        self._now = now

    def routes(self) -> list[ConsoleRoute]:
        """The route."""
        return [ConsoleRoute("GET", "", self._show)]

    async def _show(self, call: ConsoleCall) -> Response:
        counts = count_shared(await self._admin.editor.stored(), call.admin)
        recipients = await self._admin.recipient_access.summaries(call.admin)
        soon = ending(recipients, self._now() + self._warn_before * 1000)
        active = [each for each in recipients if each.revoked_at is None]
        return call.page(
            "overview.html",
            counts=counts,
            recipients=len(recipients),
            revoked=len(recipients) - len(active),
            without_access=[each for each in active if not each.tokens][:_MOST],
            ending=soon[:_MOST],
            more_ending=max(0, len(soon) - _MOST),
            warn_before=self._warn_before,
        )
