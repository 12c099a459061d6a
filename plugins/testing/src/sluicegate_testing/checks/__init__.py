"""Common tests of all suites of the conformance kit. Each suite inherits them."""
