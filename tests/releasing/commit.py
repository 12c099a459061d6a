"""What is built is what is committed: the tag of a release names a commit."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from releasing.build import BuildFailed


def problems(folder: Path) -> list[str]:
    """Changes of a repository that are not committed, a line for each file.

    Builders pack every file that a package's folder has, also those that Git does not know.
    """
    git = shutil.which("git")
    if git is None:
        raise BuildFailed("building a release needs git, to compare the files with the commit")
    command = [git, "-C", str(folder), "status", "--porcelain", "--untracked-files=all"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildFailed(f"the state of the repository is unknown:\n{done.stderr}")
    return [f"{line[3:]} is not committed" for line in done.stdout.splitlines()]
