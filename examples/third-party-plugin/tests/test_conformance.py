from collections.abc import Mapping
from pathlib import Path

import pytest
from sluicegate_manifest.catalog import ManifestCatalog
from sluicegate_manifest.config import ManifestConfig

from sluicegate.api import Catalog
from sluicegate_testing.catalog import CatalogBehaviour, Expected
from sluicegate_testing.fakes import FakeContext

TABLES = {
    "eu": {"größe": "s3://lake/eu/größe", "two words": "s3://lake/eu/two words"},
    "us": {"orders.v2": "s3://lake/us/orders"},
}


class TestManifest(CatalogBehaviour):
    page_size = None

    @pytest.fixture
    def catalog(self, tmp_path: Path) -> Catalog:
        file = tmp_path / "tables.csv"
        rows = [
            f"{schema},{name},{at}/" for schema, tables in TABLES.items() for name, at in tables.items()
        ]
        file.write_text("\n".join(["schema,table,location", *rows]), encoding="utf-8")
        return ManifestCatalog(ManifestConfig(file=file), FakeContext())

    @pytest.fixture
    def expected(self) -> Expected:
        return TABLES

    @pytest.fixture
    def failing(self, tmp_path: Path) -> Mapping[str, Catalog]:
        broken = tmp_path / "broken.csv"
        broken.write_text("no manifest", encoding="utf-8")
        files = {"the file is missing": tmp_path / "missing.csv", "the file is broken": broken}
        return {
            how: ManifestCatalog(ManifestConfig(file=file), FakeContext())
            for how, file in files.items()
        }
