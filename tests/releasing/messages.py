"""The messages of commits: `python tests/releasing/messages.py`, which is part of `tox -e type`.

A subject is an imperative of at most 72 characters. A commit that changes much of what is released says
why in its body.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[2]
# The last commit before these rules.
SINCE: Final = "112d566c5d662dff17d93a8795285a8ddac65469"
LONGEST_SUBJECT: Final = 72
# Lines of code that a commit can add and remove without saying why.
MOST_UNEXPLAINED: Final = 50
_CODE: Final = re.compile(r"(gateway|plugins/[^/]+/src|catalog_adapters/[^/]+/src)/.*\.py")
# Words that end like other forms of verbs, and imperatives that do.
_NOT_IMPERATIVE: Final = re.compile(r"\w+(ed|ing|[^su]s)|An?|The|This|It|Its|Also|New|Some|More|No")
_IMPERATIVE: Final = {
    *(
        "Bring",
        "Embed",
        "Exceed",
        "Feed",
        "Need",
        "Proceed",
        "Seed",
        "Shed",
        "Speed",
        "Spring",
        "String",
    ),
    *("Alias", "Bias", "Canvas"),
}
# Messages that only help until the commits are merged.
_TEMPORARY: Final = re.compile(r"(fixup|squash|amend)!|wip\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Message:
    """The message of a commit.

    Attributes:
        body: The other lines, without empty ones around them.
    """

    commit: str
    subject: str
    body: str
    changed: int

    def problems(self) -> Iterator[str]:
        """What is wrong, and what to do."""
        subject, first = self.subject, self.subject.partition(" ")[0].rstrip(",")
        if len(subject) > LONGEST_SUBJECT:
            yield f"the subject has {len(subject)} characters; the maximum is {LONGEST_SUBJECT}"
        if _TEMPORARY.match(subject):
            yield "the commit is meant to be squashed into another one"
        elif not first[:1].isupper() or not first.replace("'", "").isalpha():
            yield f"the subject begins with {first!r}; begin with an imperative, such as Add"
        elif _NOT_IMPERATIVE.fullmatch(first) and first not in _IMPERATIVE:
            yield f"the subject begins with {first!r}, which is no imperative"
        if subject.endswith("."):
            yield "the subject ends with a period"
        if not self.body and self.changed > MOST_UNEXPLAINED:
            yield f"it changes {self.changed} lines of code; say why in the body"


def messages(root: Path, since: str) -> list[Message] | None:
    """The messages of commits after `since`, except merges; `None` if that commit is not available."""
    known = _git(root, "merge-base", "--is-ancestor", since, "HEAD")
    if known is None:
        return None
    text = _git(
        root, "log", "--no-merges", "--numstat", "--format=%x00%h%n%s%n%b%x01", f"{since}..HEAD"
    )
    return [_message(each) for each in (text or "").split("\0")[1:]]


def _message(text: str) -> Message:
    message, _, files = text.partition("\1")
    commit, subject, body = message.split("\n", 2)
    changes = (line.split("\t") for line in files.split("\n") if line)
    changed = (int(added) + int(removed) for added, removed, path in changes if _CODE.fullmatch(path))
    return Message(commit, subject, body.strip(), sum(changed))


def _git(root: Path, *arguments: str) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode else done.stdout


def main(root: Path = _ROOT, since: str = SINCE) -> int:
    """Print a line for each problem."""
    found = messages(root, since)
    if found is None:
        print(f"messages of commits are not checked: this clone has no history since {since[:8]}")
        return 0
    lines = [f"{each.commit} {each.subject!r}: {why}" for each in found for why in each.problems()]
    for line in lines:
        print(line, file=sys.stderr)
    if lines:
        print("change messages with: git rebase --interactive", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
