"""Messages of commits are imperatives, short, and say why."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from releasing.messages import MOST_UNEXPLAINED, Message, main, messages

Commit = Callable[..., str]


@pytest.mark.parametrize(
    "subject",
    [
        "Add the list of issuers",
        "Address what clients send",
        "Pass secrets on",
        "Embed the picture",
        "Show, follow and cancel tasks",
        "Don't wait for the end",
        "x".replace("x", "Add ") + "y" * 68,
    ],
)
def test_imperatives_are_accepted(subject: str) -> None:
    assert list(Message("c", subject, "", MOST_UNEXPLAINED).problems()) == []


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        ("Add " + "y" * 69, "the subject has 73 characters; the maximum is 72"),
        ("Added the list", "the subject begins with 'Added', which is no imperative"),
        ("Adding the list", "the subject begins with 'Adding', which is no imperative"),
        ("Adds the list", "the subject begins with 'Adds', which is no imperative"),
        ("The list has issuers", "the subject begins with 'The', which is no imperative"),
        ("add the list", "the subject begins with 'add'; begin with an imperative, such as Add"),
        (
            "Purge: keep the list",
            "the subject begins with 'Purge:'; begin with an imperative, such as Add",
        ),
        ("fixup! Add the list", "the commit is meant to be squashed into another one"),
        ("Add the list.", "the subject ends with a period"),
    ],
)
def test_other_subjects_are_refused(subject: str, problem: str) -> None:
    assert list(Message("c", subject, "", 0).problems()) == [problem]


def test_a_change_of_much_code_says_why() -> None:
    large = MOST_UNEXPLAINED + 1
    assert list(Message("c", "Add a list", "Because.", large).problems()) == []
    (problem,) = Message("c", "Add a list", "", large).problems()
    assert problem == f"it changes {large} lines of code; say why in the body"


@pytest.fixture
def commit(tmp_path: Path) -> Commit:
    """Commits files of 60 lines to a repository in `tmp_path`, and returns the hash."""

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(tmp_path), *identity, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def commit(*paragraphs: str, file: str) -> str:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("pass\n" * 60)
        git("add", ".")
        git("commit", "-q", *(f"--message={each}" for each in paragraphs))
        return git("rev-parse", "HEAD")

    git("init", "-q")
    return commit


def test_only_later_commits_are_checked(
    commit: Commit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = commit("added something long ago.", file="gateway/a.py")
    assert main(tmp_path, first) == 0
    commit("Add tests", file="gateway/tests.md")
    commit("Add b", "It was missing.\n\nReally.", file="plugins/x/src/b.py")
    assert main(tmp_path, first) == 0
    last = commit("Add c", file="plugins/x/src/c.py")
    assert main(tmp_path, first) == 1
    assert f"{last[:7]} 'Add c': it changes 60 lines of code" in capsys.readouterr().err
    newest, second, _ = messages(tmp_path, first) or []
    assert (newest.body, newest.changed) == ("", 60)
    assert (second.body, second.changed) == ("It was missing.\n\nReally.", 60)


def test_a_clone_without_the_history_is_not_checked(
    commit: Commit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(tmp_path, "0" * 40) == 0
    commit("wrong.", file="a.py")
    assert main(tmp_path, "0" * 40) == 0
    line = "messages of commits are not checked: this clone has no history since 00000000\n"
    assert capsys.readouterr().out == 2 * line
