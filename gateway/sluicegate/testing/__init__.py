"""The conformance kit for plugin authors: behaviour suites, fakes, and the shape of a plugin's folder.

    from sluicegate.testing.catalog import CatalogBehaviour
    from sluicegate.testing.storage import StorageBehaviour
    from sluicegate.testing.executors import TaskExecutorBehaviour
    from sluicegate.testing.fakes import FakeContext

Install it with `pip install 'sluicegate[testing]'`. Nothing of the gateway imports it.
"""

from contextlib import suppress

# `shape` also serves without pytest.
with suppress(ImportError):
    import pytest

    pytest.register_assert_rewrite(
        "sluicegate.testing.catalog", "sluicegate.testing.executors", "sluicegate.testing.storage"
    )
