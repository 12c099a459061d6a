"""The conformance kit for plugin authors: test suites, fakes, and a check of a plugin's folder.

    from sluicegate_testing.catalog import CatalogBehaviour
    from sluicegate_testing.storage import StorageBehaviour
    from sluicegate_testing.formats import FormatBehaviour
    from sluicegate_testing.authenticators import AuthenticatorBehaviour
    from sluicegate_testing.policies import PolicyBehaviour
    from sluicegate_testing.token_bindings import TokenBindingBehaviour
    from sluicegate_testing.executors import TaskExecutorBehaviour
    from sluicegate_testing.fakes import FakeContext

The distribution is `sluicegate-testing`. The gateway doesn't import it.
"""

from contextlib import suppress

_SUITES = (
    *("authenticators", "catalog", "executors", "formats", "policies", "storage", "token_bindings"),
    *("checks.behaviour", "checks.blocking", "checks.failures", "vending"),
)

# `shape` also works without pytest.
with suppress(ImportError):
    import pytest

    pytest.register_assert_rewrite(*(f"sluicegate_testing.{suite}" for suite in _SUITES))
