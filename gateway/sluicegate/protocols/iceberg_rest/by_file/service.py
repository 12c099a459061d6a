"""Serves tables that clients read file by file. Importing this module loads Arrow."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import anyio.to_thread
import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sluicegate._util.limited_threads import LimitedThreads
from sluicegate.access.recipients.profile import ICEBERG_PATH
from sluicegate.api import CatalogTable, Principal, SharedTable
from sluicegate.protocols.common.resolver import OpenTable, Resolver
from sluicegate.protocols.derived_files import DerivedLinks
from sluicegate.protocols.iceberg_rest import addresses
from sluicegate.protocols.iceberg_rest.by_file.field_ids import Shapes
from sluicegate.protocols.iceberg_rest.by_file.file_names import FileNames
from sluicegate.protocols.iceberg_rest.by_file.generation import Generator, MetadataFile
from sluicegate.protocols.iceberg_rest.by_file.snapshots import ListedVersions
from sluicegate.protocols.iceberg_rest.by_file.viewer import IcebergViewer
from sluicegate.protocols.iceberg_rest.deletion_vectors.delete_files import (
    ByFormatVersion,
    PositionFiles,
    PuffinVectors,
    StoredVectors,
)
from sluicegate.protocols.iceberg_rest.deletion_vectors.generation import VectorFiles, VectorSources
from sluicegate.protocols.iceberg_rest.file_access.file_paths import FilePaths
from sluicegate.protocols.iceberg_rest.file_access.generated_files import (
    GeneratedFileEndpoint,
    GeneratedFiles,
)
from sluicegate.protocols.iceberg_rest.file_access.generated_links import GeneratedLinks, metadata_name
from sluicegate.protocols.iceberg_rest.file_access.sign import RequestSigner, SignedFiles
from sluicegate.protocols.iceberg_rest.file_access.sign_request import store_endpoint
from sluicegate.protocols.iceberg_rest.file_access.store_endpoint import signing_config
from sluicegate.protocols.iceberg_rest.file_access.table_files import TableFiles
from sluicegate.protocols.iceberg_rest.load_table import LoadRequest
from sluicegate.protocols.iceberg_rest.manifests.files import ManifestFiles, check_manifests
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.plan_scan import ScanPlanner
from sluicegate.protocols.iceberg_rest.planning.request import PlanRequest, parse_plan_task
from sluicegate.protocols.iceberg_rest.planning.scan_tasks import VectorBlobs
from sluicegate.protocols.iceberg_rest.planning.tokens import PlanTokens
from sluicegate.protocols.iceberg_rest.store.config import KeyConfig
from sluicegate.protocols.iceberg_rest.store.endpoint import StoreEndpoint
from sluicegate.protocols.iceberg_rest.store.keys import StoreKeys
from sluicegate.protocols.iceberg_rest.store.reader import FileReader
from sluicegate.protocols.iceberg_rest.view import TableView, ViewPaths
from sluicegate.protocols.parts import GatewayParts
from sluicegate.protocols.presigning.signer import Signer
from sluicegate.signing.opaque_tokens import PAGE_TOKEN_LIFETIME
from sluicegate.tables.snapshot_index.failures import IndexUnusable

_PARSED_AT_ONCE = 2


class FileByFile:
    """Loads tables, plans scans and signs requests."""

    def __init__(
        self,
        *,
        resolver: Resolver,
        viewer: IcebergViewer,
        metadata: MetadataFile,
        planner: ScanPlanner,
        tokens: PlanTokens,
        signer: RequestSigner,
        generated: GeneratedFileEndpoint,
        keys: KeyConfig,
        store: StoreEndpoint,
        catalog_uri: str,
        store_endpoint: str,
    ) -> None:
        self._resolver = resolver
        self._viewer = viewer
        self._metadata = metadata
        self._planner = planner
        self._tokens = tokens
        self._signer = signer
        self._generated = generated
        self._keys = keys
        self._store = store
        self._catalog_uri = catalog_uri
        self._store_endpoint = store_endpoint
        self._parsing = LimitedThreads(_PARSED_AT_ONCE)

    async def load(
        self,
        principal: Principal,
        shared: SharedTable,
        source: CatalogTable,
        request: LoadRequest,
    ) -> dict[str, Any]:
        """A LoadTableResult with metadata that is made from the latest version."""
        view = await self._viewer.latest(principal, shared, source)
        request.dialect.check(view.shape.schema)
        # It usually plans by itself, from manifests, as clients with keys do.
        if request.dialect is Dialect.PYICEBERG or not request.with_signing:
            await anyio.to_thread.run_sync(check_manifests, view)
        [location] = view.paths.of([metadata_name(shared, view.snapshot.version)])
        metadata = await self._metadata.content(view, latest_only=request.referenced_only)
        loaded = {"metadata-location": location, "metadata": orjson.Fragment(metadata)}
        if request.with_signing:
            return loaded | {"config": self._signing_config(shared)}
        return loaded | self._keys.config(principal, shared)

    async def credentials(self, principal: Principal, shared: SharedTable) -> dict[str, Any]:
        """A LoadCredentialsResponse with new keys of the gateway."""
        config = self._keys.config(principal, shared)
        return {"storage-credentials": config["storage-credentials"]}

    def _signing_config(self, shared: SharedTable) -> dict[str, str]:
        return signing_config(
            catalog_uri=self._catalog_uri,
            sign_endpoint=addresses.signing_of(shared),
            store_endpoint=self._store_endpoint,
            server_planning=True,
        )

    async def check(self, principal: Principal, shared: SharedTable, source: CatalogTable) -> None:
        """Check that the table can be loaded; raises as `load` does."""
        await self._viewer.latest(principal, shared, source)

    async def plan(
        self, principal: Principal, shared: SharedTable, body: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[bytes]:
        """A PlanTableScanResult, in parts; raises as `load` and `ScanPlanner.plan` do."""
        request = await self._parsing.run_sized(len(body), PlanRequest.parse, body, Dialect.of(headers))
        return await self._scanned(
            principal, shared, request, lambda view: self._planner.plan(view, request)
        )

    async def planned(
        self, principal: Principal, shared: SharedTable, plan_id: str
    ) -> AsyncIterator[bytes]:
        """A FetchPlanningResult, in parts: plans are made again when they are fetched."""
        # A short token can contain a long filter, because it is compressed.
        pinned = await self._parsing.run(self._tokens.open_plan, principal, shared, plan_id)
        return await self._scanned(
            principal,
            shared,
            pinned.request,
            lambda view: self._planner.plan_again(view, pinned),
            with_index=pinned.with_index,
        )

    async def cancel(self, principal: Principal, shared: SharedTable, plan_id: str) -> None:
        """Verify the id of a plan. It is complete, so there is nothing to stop."""
        self._tokens.cancel(principal, shared, plan_id)

    async def tasks(
        self, principal: Principal, shared: SharedTable, body: bytes
    ) -> AsyncIterator[bytes]:
        """A FetchScanTasksResult, in parts."""
        token = await self._parsing.run_sized(len(body), parse_plan_task, body)
        task = await self._parsing.run(self._tokens.open_task, principal, shared, token)
        return await self._scanned(
            principal,
            shared,
            task.request,
            lambda view: self._planner.tasks(view, task),
            with_index=task.with_index,
        )

    async def sign(
        self, principal: Principal, shared: SharedTable, body: Mapping[str, Any]
    ) -> Response:
        """A RemoteSignResult; raises as `RequestSigner.sign` does."""
        table = await self._resolver.open(principal, shared)
        return (await self._signer.sign(table, body)).response()

    async def fetch(self, request: Request) -> Response:
        """A generated file; see `GeneratedFileEndpoint.fetch`."""
        return await self._generated.fetch(request)

    async def serve_object(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of a client with a key; see `StoreEndpoint`."""
        await self._store(scope, receive, send)

    async def _scanned(
        self,
        principal: Principal,
        shared: SharedTable,
        request: PlanRequest,
        respond: Callable[[TableView], Awaitable[AsyncIterator[bytes]]],
        *,
        with_index: bool = True,
    ) -> AsyncIterator[bytes]:
        """A response from the table's index, or from its log if the index turns out to be unusable."""
        view = await self._view(principal, shared, request, with_index=with_index)
        try:
            return await respond(view)
        except IndexUnusable as error:
            await self._viewer.distrust_index(view.table, error)
        return await respond(await self._view(principal, shared, request, with_index=False))

    async def _view(
        self, principal: Principal, shared: SharedTable, request: PlanRequest, *, with_index: bool
    ) -> TableView:
        if request.snapshot is None:
            return await self._viewer.latest(principal, shared, with_index=with_index)
        return await self._viewer.planned(
            principal, shared, request.snapshot, request.start_version, with_index=with_index
        )


def file_by_file(parts: GatewayParts) -> FileByFile:
    """Assemble the steps."""
    settings, keys, instances, reader = parts.settings, parts.keys, parts.instances, parts.reader
    resolver = parts.resolver
    sharing, public_url = settings.sharing, settings.public_url
    lifetime = sharing.presigned_url_ttl
    endpoint = store_endpoint(public_url)
    paths = FilePaths(keys, sharing.refresh_token_lifetime)
    signer = Signer(instances, parts.vending, DerivedLinks(keys, public_url), lifetime)
    links = GeneratedLinks(keys, public_url, lifetime)
    tokens = PlanTokens(parts.page_tokens("iceberg plans"))

    def paths_of(table: OpenTable, version: int, issued_at: int | None) -> ViewPaths:
        return paths.of_view(table.principal, table.shared, table.source, version, issued_at)

    shapes = Shapes(parts.store)
    versions = ListedVersions(reader, shapes.of, paths_of, sharing.iceberg_snapshots)
    metadata = MetadataFile(versions, FileNames(instances))
    viewer = IcebergViewer(
        resolver, reader, shapes.of, paths_of, PAGE_TOKEN_LIFETIME, indexes=parts.indexes
    )
    positions = PositionFiles()
    puffin = ByFormatVersion(PuffinVectors(), positions)  # which all clients can read
    blobs: dict[Dialect, VectorBlobs] = {
        Dialect.STANDARD: ByFormatVersion(StoredVectors(), positions),
        Dialect.PYICEBERG: puffin,
    }
    vectors = VectorFiles(VectorSources(instances, reader))
    generator = Generator(metadata, ManifestFiles(puffin), vectors)
    generated = GeneratedFileEndpoint(
        keys, parts.grants, resolver, viewer.issued, GeneratedFiles(generator.generate)
    )
    requests = RequestSigner(paths, signer, links, endpoint, files=SignedFiles(signer, reader))
    store_keys = StoreKeys(keys, settings.vending.lifetime)
    files = FileReader(requests, generated, TableFiles(instances))
    store = StoreEndpoint(store_keys, parts.grants, parts.vending, resolver, files, endpoint)
    return FileByFile(
        resolver=resolver,
        viewer=viewer,
        metadata=metadata,
        planner=ScanPlanner(reader, tokens, blobs),
        tokens=tokens,
        signer=requests,
        generated=generated,
        keys=KeyConfig(store_keys, endpoint),
        store=store,
        catalog_uri=public_url.rstrip("/") + ICEBERG_PATH,
        store_endpoint=endpoint,
    )
