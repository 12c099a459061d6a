"""Assembles what serves tables file by file. Importing this module loads Arrow."""

from __future__ import annotations

from sluicegate.access.recipients.profile import ICEBERG_PATH
from sluicegate.protocols.common.resolver import OpenTable
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
from sluicegate.protocols.parts import GatewayParts
from sluicegate.protocols.presigning.signer import Signer
from sluicegate.signing.opaque_tokens import PAGE_TOKEN_LIFETIME


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
