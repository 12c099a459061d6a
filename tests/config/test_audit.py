"""The section `audit`, or only its mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluicegate.api.errors import ConfigurationError
from sluicegate.config import Settings
from sluicegate.config.load import load_settings


def _load(folder: Path, text: str) -> Settings:
    file = folder / "gateway.yaml"
    file.write_text(text)
    return load_settings(file)


@pytest.mark.parametrize("mode", ["required", "best_effort", "off"])
def test_the_mode_can_stand_alone(tmp_path: Path, mode: str) -> None:
    audit = _load(tmp_path, f"audit: {mode}").audit
    assert audit.mode == mode
    assert [sink.type for sink in audit.sinks] == ["database"]
    assert audit == _load(tmp_path, f"audit: {{mode: {mode}}}").audit


def test_the_log_is_required_by_default(tmp_path: Path) -> None:
    audit = _load(tmp_path, "database: sqlite:///x.db").audit
    assert (audit.mode, audit.retention) == ("required", 400 * 86_400)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("audit: requird", "required"),
        ("audit: {retentoin: 30d}", "did you mean 'retention'?"),
        ("audit: {sinks: [{type: file, path: x, max_sise: 1MB}]}", "did you mean 'max_size'?"),
        ("audit: {sinks: [{type: fiel, path: x}]}", "file"),
        ("audit: {sinks: [{type: file}]}", "path"),
        ("audit: {sinks: [{type: database}, {type: database}]}", "only once"),
        ("audit: {sinks: [{type: file, path: x}, {type: file, path: x}]}", "its own path"),
        ("audit: {sinks: [{type: events}]}", "database or file"),
        ("audit: {sinks: []}", "database or file"),
        ("audit: {retention: 1h}", "86400"),
        ("audit: {former_keys: [short]}", "32 characters"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _load(tmp_path, text)
    assert "gateway.yaml:1:" in refused.value.message
    assert problem in refused.value.message
