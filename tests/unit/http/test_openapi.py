"""OpenAPI documents are loaded from YAML files, and have the URLs of their servers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sluicegate import __version__
from sluicegate.http.openapi import load_document, served_at

SOURCES = Path(__file__).resolve().parents[3] / "gateway"
FILES = [
    *SOURCES.glob("sluicegate/*/openapi/**/*.yaml"),
    SOURCES / "sluicegate" / "delegation" / "rest" / "openapi.yaml",
]
SKELETON = """\
info: {title: A, version: ''}
servers: [{url: /api}]
paths: {}
components:
  securitySchemes: {a: {flows: {clientCredentials: {tokenUrl: /api/token}}}, b: {type: http}}
"""
PATHS = """\
x-shared:
  errors: &errors {'400': a, '500': b}
  all_errors: &all_errors {<<: *errors, '404': c}
paths:
  /a: {get: {responses: {'200': d, <<: *all_errors, '413': e}}}
"""


@pytest.fixture
def loaded(tmp_path: Path) -> dict[str, Any]:
    files = [tmp_path / "skeleton.yaml", tmp_path / "paths.yaml"]
    for file, text in zip(files, (SKELETON, PATHS), strict=True):
        file.write_text(text, encoding="utf-8")
    return load_document(files)


def test_parts_are_one_document_without_what_they_share(loaded: dict[str, Any]) -> None:
    assert list(loaded) == ["info", "servers", "paths", "components"]
    assert list(loaded["paths"]) == ["/a"]
    assert loaded["info"] == {"title": "A", "version": __version__}


def test_merged_keys_are_where_they_were_merged(loaded: dict[str, Any]) -> None:
    assert list(loaded["paths"]["/a"]["get"]["responses"]) == ["200", "400", "500", "404", "413"]


def test_urls_are_those_of_the_server(loaded: dict[str, Any]) -> None:
    for url in ("https://one.example", "https://two.example"):
        served = served_at(url, loaded)
        assert served["servers"] == [{"url": f"{url}/api"}]
        schemes = served["components"]["securitySchemes"]
        assert schemes["a"]["flows"]["clientCredentials"]["tokenUrl"] == f"{url}/api/token"
        assert schemes["b"] == {"type": "http"}
    assert loaded["servers"] == [{"url": "/api"}]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCES)))
def test_files_are_short_and_share_only_what_they_repeat(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count("\n") < 500
    shared = re.findall(r"(?<=[\s])&(\w+)", text)
    assert len(shared) == len(set(shared))
    for name in shared:
        assert len(re.findall(rf"\*{name}\b", text)) > 0, name
