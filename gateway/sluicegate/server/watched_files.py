"""The files that a configuration consists of."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from sluicegate.api.errors import ConfigurationError
from sluicegate.config import Settings
from sluicegate.signing.load import signing_key_path


def watched_files(settings: Settings) -> frozenset[Path]:
    """Return the configuration file, and the files of its secrets, keys and certificates.

    Files that only a plugin knows are not included.
    """
    source = settings.source
    files = {reference.file for reference in source.references.values()} - {None}
    files.add(source.document.path)
    if settings.signing_key is None:
        with suppress(ConfigurationError):  # the start of the gateway reports it
            files.add(signing_key_path(settings))
    if settings.server.tls is not None:
        files |= {Path(settings.server.tls.certificate), Path(settings.server.tls.key)}
    return frozenset(file for file in files if file is not None)
