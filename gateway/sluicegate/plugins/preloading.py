"""Imports what the first request to each configured instance needs."""

from __future__ import annotations

from collections.abc import Iterator

from sluicegate.api import Authenticator, Catalog, Policy, Storage, TableFormat
from sluicegate.api.errors import ConfigurationError, SluicegateError
from sluicegate.plugins.failures import failure_reason
from sluicegate.plugins.instances import Instances

_Preloadable = Catalog | Storage | TableFormat | Authenticator | Policy


def preload(instances: Instances) -> None:
    """Call `preload` of every instance. This blocks, so call it in a thread."""
    for what, instance in _named(instances):
        try:
            instance.preload()
        except SluicegateError as error:
            raise ConfigurationError(f"{what}: {error.message}", detail=error.detail) from error
        except Exception as error:
            raise ConfigurationError(
                f"{what} cannot load what its requests need: {failure_reason(error)}"
            ) from error


def _named(instances: Instances) -> Iterator[tuple[str, _Preloadable]]:
    for name, catalog in instances.catalogs.items():
        yield f"catalog '{name}'", catalog
    for name, storage in instances.storages.items():
        yield f"storage '{name}'", storage
    for name, table_format in instances.formats.items():
        yield f"table format '{name}'", table_format
    for number, authenticator in enumerate(instances.authenticators, start=1):
        yield f"authenticator {number}", authenticator
    for name, policy in instances.policies.items():
        yield f"policy '{name}'", policy
