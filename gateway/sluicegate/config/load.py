"""Reads a configuration file."""

from __future__ import annotations

from pathlib import Path

from sluicegate.config.references import resolve_references
from sluicegate.config.secrets import exposed_secrets
from sluicegate.config.settings import Settings
from sluicegate.errors import ConfigurationError
from sluicegate.yamlfile import read_document, validate


def load_settings(path: Path) -> Settings:
    """Read `gateway.yaml`: resolve references, check every key, refuse exposed secrets.

    The sections of plugins are checked by `sluicegate.registry.configure`, once those are loaded.

    Raises:
        ConfigurationError: One line `file:line:column: message` for each problem.
    """
    source = resolve_references(read_document(path))
    settings = validate(Settings, source.document)
    exposed = exposed_secrets(settings, source)
    if exposed:
        raise ConfigurationError("\n".join(exposed))
    return settings.read_from(source)
