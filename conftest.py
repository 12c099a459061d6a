"""What holds for the suites of the core and of all plugins."""

pytest_plugins = [
    "runs.night",
    "runs.recorder",
    "runs.shown_failures",
    "support.process.external_files",
]
