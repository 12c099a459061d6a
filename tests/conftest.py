"""What holds for all suites."""

import signal

from sluicegate.testing.leaks import no_secret_leaks

__all__ = ["no_secret_leaks"]

# A test run in the background inherits "ignore Ctrl-C", and so would every command that is tested.
signal.signal(signal.SIGINT, signal.default_int_handler)
