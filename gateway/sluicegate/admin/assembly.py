"""Assembles the Admin API of a gateway."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate._util.lazy import Lazy
from sluicegate.admin.authentication import AdminAuthentication
from sluicegate.admin.call import answered
from sluicegate.admin.dependencies import AdminServices
from sluicegate.admin.editor import Editor
from sluicegate.admin.endpoint import PREFIX, AdminRoute, starlette_routes
from sluicegate.admin.recipient_access import RecipientAccess
from sluicegate.admin.resources.access import AccessResource
from sluicegate.admin.resources.admins import AdminsResource
from sluicegate.admin.resources.audit import AuditResource
from sluicegate.admin.resources.catalogs import CatalogsResource
from sluicegate.admin.resources.explain import ExplainResource
from sluicegate.admin.resources.ledger import LedgerResource, UsageResource
from sluicegate.admin.resources.limits import LimitsResource
from sluicegate.admin.resources.recipients import CredentialsResource, RecipientsResource
from sluicegate.admin.resources.schedules import SchedulesResource
from sluicegate.admin.resources.shares import SharesResource
from sluicegate.admin.resources.shares_file import ApplyResource, StoredResource
from sluicegate.admin.resources.tasks import TasksResource
from sluicegate.admin.services.browsing import CatalogBrowser
from sluicegate.admin.services.contents import SharedContents
from sluicegate.admin.services.listings import EntryListings
from sluicegate.admin.services.schedules import Schedules
from sluicegate.admin.services.tasks import Tasks
from sluicegate.admin.services.usage import UsageReports
from sluicegate.admin.tokens import AdminTokens
from sluicegate.audit.actions import Operations, operation_key
from sluicegate.config import Settings
from sluicegate.config.sections.admin import AdminSettings
from sluicegate.plugins.configured import ConfiguredInstances
from sluicegate.protocols.parts import GatewayParts
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import PAGE_TOKEN_LIFETIME, TokenSigner
from sluicegate.vending.sessions import end_sessions

if TYPE_CHECKING:
    from sluicegate.protocols.explain.explainer import Explainer
    from sluicegate.protocols.explain.who_can import WhoCan


_DOCUMENT = f"{PREFIX}/openapi.json"
_PAGES = "admin pages"


class AdminApi:
    """The routes of the Admin API."""

    def __init__(
        self,
        settings: Settings,
        section: AdminSettings,
        keys: KeyRing,
        services: AdminServices,
    ) -> None:
        self._settings = settings
        self._section = section
        self._keys = keys
        self._services = services
        self._document = Lazy(self._load_document)

    public_paths = frozenset({_DOCUMENT})
    """Paths that need no token."""

    @cached_property
    def operations(self) -> Sequence[AdminRoute]:
        """All routes except that of the OpenAPI document, which needs no token."""
        services, settings, store = self._services, self._settings, self._services.store
        pages, editor = self.pages, self.editor
        return [
            *ApplyResource(editor, services).routes(),
            *SharesResource(editor, self.listings, pages).routes(),
            *StoredResource(editor, self.listings).routes(),
            *RecipientsResource(editor, self.listings, pages).routes(),
            *AccessResource(self.recipient_access, services, settings, pages).routes(),
            *CredentialsResource(self.recipient_access, settings.public_url).routes(),
            *ExplainResource(self.recipient_access, self.listings, services).routes(),
            *CatalogsResource(self.browser, pages).routes(),
            *LedgerResource(store, pages).routes(),
            *UsageResource(self.usage).routes(),
            *LimitsResource(store, settings, pages).routes(),
            *AuditResource(settings, self._keys, store, pages).routes(),
            *TasksResource(self.tasks, services, pages).routes(),
            *SchedulesResource(self.schedules, pages).routes(),
            *AdminsResource(self.tokens).routes(),
        ]

    def operation_ids(self) -> Operations:
        """The ids of all operations, for the audit log."""
        return {
            operation_key(each.method, PREFIX + each.path): each.operation for each in self.operations
        }

    def routes(self) -> list[Route]:
        """The routes of an application."""
        served = starlette_routes(self.operations, self.authentication, self._section.max_body)
        return [*served, Route(_DOCUMENT, self._openapi, methods=["GET"])]

    async def aclose(self) -> None:
        """Close the connections to issuers."""
        await self.authentication.aclose()

    @cached_property
    def authentication(self) -> AdminAuthentication:
        """Authenticates administrators."""
        return AdminAuthentication(self._section, self.tokens)

    @cached_property
    def tokens(self) -> AdminTokens:
        """The administrators with tokens."""
        return AdminTokens(self._services.store, token_lifetime=self._section.token_lifetime)

    @cached_property
    def editor(self) -> Editor:
        """Reads and changes shares, recipients and grants."""
        return Editor(self._services.store, self._settings.catalogs)

    @cached_property
    def listings(self) -> EntryListings:
        """Lists shares and recipients in parts."""
        return EntryListings(self._services.store)

    @cached_property
    def recipient_access(self) -> RecipientAccess:
        """Reads and changes the credentials of recipients."""
        return RecipientAccess(self.editor, self._services.store, self._settings.recipients)

    @cached_property
    def contents(self) -> SharedContents:
        """Reads the content of shares in parts."""
        return SharedContents(self._services.store)

    @cached_property
    def pages(self) -> TokenSigner:
        """Signs page tokens."""
        return TokenSigner(self._keys.derive(_PAGES), PAGE_TOKEN_LIFETIME)

    @cached_property
    def browser(self) -> CatalogBrowser:
        """Browses the catalogs."""
        types = {name: section.type for name, section in self._settings.catalogs.items()}
        return CatalogBrowser(self._services.catalogs, types)

    @cached_property
    def usage(self) -> UsageReports:
        """Reads usage."""
        services, settings = self._services, self._settings
        return UsageReports(services.store, services.open_location, settings)

    @cached_property
    def tasks(self) -> Tasks:
        """Finds tasks, and provides their queue."""
        return Tasks(self._services.store, self._settings)

    @cached_property
    def schedules(self) -> Schedules:
        """Reports and changes schedules."""
        return Schedules(self._services.store, self._settings)

    async def _openapi(self, request: Request) -> Response:
        return answered(await self._document.get())

    def _load_document(self) -> dict[str, Any]:
        from sluicegate.admin.openapi.document import document  # imported late: rarely requested

        return document(self._settings.public_url, self.operations)


def admin_api(
    parts: GatewayParts,
    section: AdminSettings,
    configured: ConfiguredInstances,
    explanations: Callable[[], tuple[Explainer, WhoCan]],
) -> AdminApi:
    """The Admin API of a gateway, by its section `admin`."""
    instances = parts.instances

    async def explain() -> tuple[Explainer, WhoCan]:
        return explanations()

    services = AdminServices(
        store=parts.store,
        catalogs=lambda: instances.catalogs,
        end_sessions=lambda principal, before: end_sessions(instances, principal, before),
        explanations=explain,
        configured=lambda: configured,
        open_location=instances.open_location,
    )
    return AdminApi(parts.settings, section, parts.keys, services)
