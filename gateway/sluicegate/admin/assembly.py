"""Assembles the Admin API of a gateway."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.admin.authentication import AdminAuthentication
from sluicegate.admin.call import answered
from sluicegate.admin.editor import Editor
from sluicegate.admin.endpoint import PREFIX, AdminRoute, starlette_routes
from sluicegate.admin.resources.access import AccessResource
from sluicegate.admin.resources.admins import AdminsResource
from sluicegate.admin.resources.applying import ApplyResource
from sluicegate.admin.resources.catalogs import CatalogsResource
from sluicegate.admin.resources.credentials import CredentialsResource
from sluicegate.admin.resources.explain import ExplainResource
from sluicegate.admin.resources.ledger import LedgerResource
from sluicegate.admin.resources.limits import LimitsResource
from sluicegate.admin.resources.recipients import RecipientsResource
from sluicegate.admin.resources.shares import SharesResource
from sluicegate.admin.resources.stored import StoredResource
from sluicegate.admin.resources.tasks import TasksResource
from sluicegate.admin.services import AdminServices
from sluicegate.admin.tokens import AdminTokens
from sluicegate.config import Settings
from sluicegate.config.admin.settings import AdminSettings
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner

_PAGES = "admin pages"


class AdminApi:
    """The routes of the Admin API.

    Args:
        settings: The settings of the gateway.
        section: Its section `admin`.
        keys: Its signing keys.
        services: What the API uses of the gateway.
    """

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

    @cached_property
    def operations(self) -> Sequence[AdminRoute]:
        """All routes except that of the OpenAPI document, which needs no token."""
        pages = TokenSigner(self._keys.derive(_PAGES), self._settings.sharing.page_token_lifetime)
        services, settings, store = self._services, self._settings, self._services.store
        editor = Editor(store, settings.catalogs)
        types = {name: section.type for name, section in settings.catalogs.items()}
        return [
            *ApplyResource(editor, services).routes(),
            *SharesResource(editor, pages).routes(),
            *StoredResource(editor).routes(),
            *RecipientsResource(editor, pages).routes(),
            *AccessResource(editor, services, settings, pages).routes(),
            *CredentialsResource(editor, store, settings).routes(),
            *ExplainResource(editor, services).routes(),
            *CatalogsResource(services.catalogs, types, pages).routes(),
            *LedgerResource(store, pages).routes(),
            *LimitsResource(editor, store, settings, pages).routes(),
            *TasksResource(services, settings, pages).routes(),
            *AdminsResource(self._tokens).routes(),
        ]

    def routes(self) -> list[Route]:
        """The routes of an application."""
        served = starlette_routes(self.operations, self._authentication, self._section.max_body)
        return [*served, Route(f"{PREFIX}/openapi.json", self._openapi, methods=["GET"])]

    async def aclose(self) -> None:
        """Close the connections to issuers."""
        await self._authentication.aclose()

    @cached_property
    def _authentication(self) -> AdminAuthentication:
        return AdminAuthentication(self._section, self._tokens)

    @cached_property
    def _tokens(self) -> AdminTokens:
        return AdminTokens(self._services.store, token_lifetime=self._section.token_lifetime)

    async def _openapi(self, request: Request) -> Response:
        from sluicegate.admin.openapi import document

        return answered(document(self._settings.public_url, self.operations))
