"""The tests of released examples run in environments of their own: see `thirdparty.py`."""

collect_ignore = ["released"]
