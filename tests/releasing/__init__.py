"""Builds and checks the distributions of a release: `tox -e release`."""
