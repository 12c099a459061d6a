"""What holds for all suites."""

import signal

# A test run in the background inherits "ignore Ctrl-C", and so would every command that is tested.
signal.signal(signal.SIGINT, signal.default_int_handler)
