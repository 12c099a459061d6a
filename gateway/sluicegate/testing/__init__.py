"""The conformance kit for plugin authors: test suites, fakes, and a check of a plugin's folder.

    from sluicegate.testing.catalog import CatalogBehaviour
    from sluicegate.testing.storage import StorageBehaviour
    from sluicegate.testing.formats import FormatBehaviour
    from sluicegate.testing.authenticators import AuthenticatorBehaviour
    from sluicegate.testing.policies import PolicyBehaviour
    from sluicegate.testing.token_bindings import TokenBindingBehaviour
    from sluicegate.testing.executors import TaskExecutorBehaviour
    from sluicegate.testing.fakes import FakeContext

Install it with `pip install 'sluicegate[testing]'`. The gateway doesn't import it.
"""

from contextlib import suppress

_SUITES = (
    *("authenticators", "catalog", "executors", "formats", "policies", "storage", "token_bindings"),
    *("checks.behaviour", "checks.blocking", "checks.failures", "vending"),
)

# `shape` also works without pytest.
with suppress(ImportError):
    import pytest

    pytest.register_assert_rewrite(*(f"sluicegate.testing.{suite}" for suite in _SUITES))
