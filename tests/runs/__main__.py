"""Print what the last run of each environment took, by area: `tox -e durations`."""

from __future__ import annotations

import sys
from pathlib import Path

from runs.records import read
from runs.report import report


def main(folder: Path) -> int:
    """Print the tables of each environment whose records are in a folder of that name."""
    environments = sorted(path for path in folder.glob("*") if any(path.glob("*.jsonl")))
    for environment in environments:
        print("\n".join(report(environment.name, read(environment))))
    if not environments:
        print(f"no environment has run yet: {folder} is empty", file=sys.stderr)
    return 0 if environments else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
