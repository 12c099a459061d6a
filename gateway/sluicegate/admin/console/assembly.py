"""Assembles the console of a gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sluicegate._util.lazy import Lazy
from sluicegate.access.explain.lookups import Lookups
from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.console.endpoint import Guard, PageGroup, starlette_routes
from sluicegate.admin.console.inspector import Inspector
from sluicegate.admin.console.login.oidc import OidcLogin
from sluicegate.admin.console.login.pages import LoginPages
from sluicegate.admin.console.messages import Messages
from sluicegate.admin.console.pages.audit import AuditPages
from sluicegate.admin.console.pages.overview import OverviewPage
from sluicegate.admin.console.pages.plugins import PluginPages
from sluicegate.admin.console.pages.recipient import RecipientAccessForms, RecipientPage
from sluicegate.admin.console.pages.recipient_forms import RecipientForms
from sluicegate.admin.console.pages.recipients import RecipientsPage, RecipientStates
from sluicegate.admin.console.pages.shares import SharePages
from sluicegate.admin.console.pages.table import SharedTablePage
from sluicegate.admin.console.pages.tasks import TasksPages
from sluicegate.admin.console.pages.usage import UsagePage
from sluicegate.admin.console.rendering import PREFIX, Addresses, Templates
from sluicegate.admin.console.responses import ENTRIES, Pages
from sluicegate.admin.console.sessions.forms import FormTokens
from sluicegate.admin.console.sessions.service import Cookies, Sessions
from sluicegate.admin.console.static_files import StaticFiles
from sluicegate.admin.console.wizard.choosing import ChoosingPages
from sluicegate.admin.console.wizard.steps import SharingSteps
from sluicegate.api import ConsolePage
from sluicegate.config.sections.admin import AdminSettings, ConsoleSettings
from sluicegate.http.responses import as_sluicegate_error
from sluicegate.protocols.delta_sharing.assets.resolver import AssetResolver
from sluicegate.protocols.parts import GatewayParts

if TYPE_CHECKING:
    from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline
    from sluicegate.protocols.explain.explainer import Explainer
    from sluicegate.protocols.explain.who_can import WhoCan


class Console:
    """The routes of the console."""

    def __init__(
        self,
        parts: GatewayParts,
        admin: AdminApi,
        section: AdminSettings,
        console: ConsoleSettings,
        pipeline: Lazy[QueryPipeline],
        explanations: Callable[[], tuple[Explainer, WhoCan]],
        pages: Mapping[str, Sequence[ConsolePage]],
    ) -> None:
        self._parts = parts
        self._pipeline = pipeline
        self._explanations = explanations
        self._admin = admin
        self._section = section
        self._console = console
        self._public_url = parts.settings.public_url
        self._files = StaticFiles()
        self._plugin_pages = PluginPages(pages)
        keys = parts.keys
        addresses = Addresses(self._public_url)
        self._pages = Pages(
            addresses,
            Templates(addresses, self._files),
            Cookies(self._public_url),
            FormTokens(keys.derive("console forms")),
            Messages(keys.derive("console messages")),
            (*ENTRIES, *self._plugin_pages.entries()),
        )
        self._guard = Guard(
            admin.authentication,
            Sessions(parts.store, section, console),
            self._pages,
            self._public_url,
        )

    def groups(self) -> Sequence[PageGroup]:
        """The pages, grouped by what they show."""
        settings, store = self._parts.settings, self._parts.store
        recipients = RecipientStates(self._admin.recipient_access, settings.recipients.warn_before)
        audit = AuditPages(store, settings, self._parts.keys)
        inspector = self._inspector()
        return (
            OverviewPage(self._admin.contents, recipients, audit),
            SharePages(self._admin, inspector),
            SharedTablePage(self._admin, store, inspector, *self._explanations()),
            RecipientsPage(recipients),
            RecipientForms(self._admin),
            RecipientAccessForms(self._admin, settings),
            RecipientPage(self._admin, store, settings),
            UsagePage(self._admin),
            TasksPages(self._admin),
            audit,
            ChoosingPages(self._admin),
            SharingSteps(self._admin, settings),
            self._plugin_pages,
        )

    def routes(self) -> list[BaseRoute]:
        """The routes of an application."""
        label = "" if self._console.oidc is None else self._console.oidc.label
        pages = [route for group in self.groups() for route in group.routes()]
        return [
            Route(f"{PREFIX}/static/{{hash}}/{{file}}", self._static, methods=["GET"]),
            *LoginPages(self._guard, self._oidc(), label).routes(),
            *starlette_routes(pages, self._guard),
        ]

    def _inspector(self) -> Inspector:
        parts = self._parts
        return Inspector(
            Lookups(parts.store),
            parts.resolver,
            AssetResolver(parts.grants, parts.resolver, parts.instances),
            self._pipeline,
            parts.settings.authentication,
        )

    def _oidc(self) -> OidcLogin | None:
        client = self._console.oidc
        if client is None:
            return None
        return OidcLogin(
            client,
            next(each for each in self._section.oidc if each.issuer == client.issuer),
            self._admin.authentication,
            self._parts.keys.derive("console logins"),
            f"{self._public_url.rstrip('/')}{PREFIX}/login/callback",
        )

    async def _static(self, request: Request) -> Response:
        try:
            return await self._files.serve(request)
        except Exception as error:
            return self._pages.refusal(request, as_sluicegate_error(error), None)
