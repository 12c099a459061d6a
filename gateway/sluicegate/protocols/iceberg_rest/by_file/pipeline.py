"""Assembles what serves tables file by file. Importing this module loads Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluicegate._util.lazy import Lazy
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.profile import ICEBERG_PATH
from sluicegate.config import Settings
from sluicegate.database import Store
from sluicegate.plugins import Instances
from sluicegate.protocols.common.resolver import OpenTable, Resolver
from sluicegate.protocols.derived_files.links import DerivedLinks
from sluicegate.protocols.iceberg_rest.by_file.field_ids import Shapes
from sluicegate.protocols.iceberg_rest.by_file.file_names import FileNames
from sluicegate.protocols.iceberg_rest.by_file.generation import Generator
from sluicegate.protocols.iceberg_rest.by_file.listed_versions import ListedVersions
from sluicegate.protocols.iceberg_rest.by_file.metadata_file import MetadataFile
from sluicegate.protocols.iceberg_rest.by_file.service import FileByFile
from sluicegate.protocols.iceberg_rest.by_file.viewer import IcebergViewer
from sluicegate.protocols.iceberg_rest.deletion_vectors.generation import VectorFiles
from sluicegate.protocols.iceberg_rest.deletion_vectors.planned import PuffinVectors, StoredVectors
from sluicegate.protocols.iceberg_rest.deletion_vectors.position_files import (
    ByFormatVersion,
    PositionFiles,
)
from sluicegate.protocols.iceberg_rest.deletion_vectors.sources import VectorSources
from sluicegate.protocols.iceberg_rest.file_access.file_paths import FilePaths
from sluicegate.protocols.iceberg_rest.file_access.generated_endpoint import GeneratedFileEndpoint
from sluicegate.protocols.iceberg_rest.file_access.generated_files import GeneratedFiles
from sluicegate.protocols.iceberg_rest.file_access.generated_links import GeneratedLinks
from sluicegate.protocols.iceberg_rest.file_access.sign_request import store_endpoint
from sluicegate.protocols.iceberg_rest.file_access.signed_files import SignedFiles
from sluicegate.protocols.iceberg_rest.file_access.signing import RequestSigner
from sluicegate.protocols.iceberg_rest.manifests.files import ManifestFiles
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.planner import ScanPlanner
from sluicegate.protocols.iceberg_rest.planning.tokens import PlanTokens
from sluicegate.protocols.iceberg_rest.planning.vectors import VectorBlobs
from sluicegate.protocols.iceberg_rest.view import ViewPaths
from sluicegate.protocols.presigning.signer import Signer
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.reader import TableReader
from sluicegate.vending import Vending

if TYPE_CHECKING:
    from sluicegate.tables.snapshot_index.tables import IndexedTables


def file_by_file(
    settings: Settings,
    keys: KeyRing,
    *,
    instances: Instances,
    grants: Grants,
    resolver: Resolver,
    reader: TableReader,
    vending: Vending,
    store: Store,
    indexes: Lazy[IndexedTables] | None = None,
) -> FileByFile:
    """Assemble the steps.

    Args:
        settings: The gateway's settings. The `sharing` section contains lifetimes.
        keys: The gateway's keys, from which those of paths, links and tokens are derived.
        instances: Catalogs and storage.
        grants: Looks up recipients.
        resolver: Opens shared tables.
        reader: Reads tables.
        vending: Records issued URLs.
        store: The database, which keeps field ids.
        indexes: Reads tables that have snapshot indexes.
    """
    sharing, public_url = settings.sharing, settings.public_url
    lifetime = sharing.presigned_url_ttl
    endpoint = store_endpoint(public_url)
    paths = FilePaths(keys, sharing.refresh_token_lifetime)
    signer = Signer(instances, vending, DerivedLinks(keys, public_url), lifetime)
    links = GeneratedLinks(keys, public_url, lifetime)
    tokens = PlanTokens(TokenSigner(keys.derive("iceberg plans"), sharing.page_token_lifetime))

    def paths_of(table: OpenTable, version: int, issued_at: int | None) -> ViewPaths:
        return paths.of_view(table.principal, table.shared, table.source, version, issued_at)

    shapes = Shapes(store)
    versions = ListedVersions(reader, shapes.of, paths_of, sharing.iceberg_snapshots)
    metadata = MetadataFile(versions, FileNames(instances))
    viewer = IcebergViewer(
        resolver, reader, shapes.of, paths_of, sharing.page_token_lifetime, indexes=indexes
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
        keys, grants, resolver, viewer.issued, GeneratedFiles(generator.generate)
    )
    return FileByFile(
        resolver=resolver,
        viewer=viewer,
        metadata=metadata,
        planner=ScanPlanner(reader, tokens, blobs),
        tokens=tokens,
        signer=RequestSigner(paths, signer, links, endpoint, files=SignedFiles(signer, reader)),
        generated=generated,
        catalog_uri=public_url.rstrip("/") + ICEBERG_PATH,
        store_endpoint=endpoint,
    )
