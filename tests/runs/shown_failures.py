"""A pytest plugin that shows a failure when it happens, and not only at the end of the run."""

from __future__ import annotations

import pytest


class ShownFailures:
    """Writes each failure: the first one in full, others in a line."""

    def __init__(self, reporter: pytest.TerminalReporter) -> None:
        self._reporter = reporter
        self._has_shown = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.failed:
            return
        self._reporter.write_line("")
        if not self._has_shown:
            self._has_shown = True
            self._reporter.write_line(report.longreprtext)
        self._reporter.write_line(f"failed ({report.when}): {report.nodeid}", red=True)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Show failures where the terminal is written: not in the workers of a run."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        config.pluginmanager.register(ShownFailures(reporter), "shown-failures")
