"""Reads a configuration file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sluicegate.api.errors import ConfigurationError
from sluicegate.config.deprecated_keys import with_current_keys
from sluicegate.config.plugin_sections import with_plugin_sections
from sluicegate.config.references import resolve_references
from sluicegate.config.removed_keys import without_removed_keys
from sluicegate.config.secrets import exposed_secrets
from sluicegate.config.settings import Settings
from sluicegate.config.yaml import read_document, validate


def load_settings(path: Path) -> Settings:
    """Read `gateway.yaml`: resolve references, check every key, reject exposed secrets.

    `sluicegate.plugins.configure` checks the sections of plugins after it has loaded them.

    Raises:
        ConfigurationError: One line `file:line:column: message` for each problem.
    """
    document, renamed = with_current_keys(with_plugin_sections(read_document(path)))
    document, removed = without_removed_keys(Settings, document)
    source = replace(resolve_references(document), warnings=(*renamed, *removed))
    settings = validate(Settings, source.document)
    exposed = exposed_secrets(settings, source)
    if exposed:
        raise ConfigurationError("\n".join(exposed))
    return settings.read_from(source)
