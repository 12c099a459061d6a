"""Selects the files of the log that make up a version."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sluicegate.api.models import CatalogTable
from sluicegate.tables.delta.log_files.names import LogFile, staged_commit


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint: one file, or all parts of a multi-part one in order."""

    version: int
    files: tuple[LogFile, ...]


@dataclass(frozen=True, slots=True)
class LogSegment:
    """The files to read for one version: an optional checkpoint, and the files after it."""

    version: int
    checkpoint: Checkpoint | None
    deltas: tuple[LogFile, ...]
    newest: LogFile

    @property
    def since(self) -> int | None:
        """The version of the checkpoint."""
        return None if self.checkpoint is None else self.checkpoint.version


@dataclass(frozen=True, slots=True)
class LogListing:
    """The files that a listing of the log found, by kind."""

    commits: Mapping[int, LogFile]
    compactions: Mapping[int, tuple[LogFile, ...]]
    checkpoints: tuple[Checkpoint, ...]

    @classmethod
    def of(cls, files: Iterable[LogFile], table: CatalogTable) -> LogListing:
        """Sort files by kind. Versions after the catalog's latest version do not count."""
        limit = table.latest_version
        counting = [file for file in files if limit is None or file.last <= limit]
        commits = {file.version: file for file in counting if file.kind == "commit"}
        for commit in table.commits:
            if limit is None or commit.version <= limit:
                commits[commit.version] = staged_commit(commit)
        compactions: dict[int, list[LogFile]] = defaultdict(list)
        for file in counting:
            if file.kind == "compaction":
                compactions[file.version].append(file)
        return cls(
            commits=dict(sorted(commits.items())),
            compactions={
                first: tuple(sorted(found, key=lambda file: -file.last))
                for first, found in compactions.items()
            },
            checkpoints=tuple(_complete(file for file in counting if file.kind == "checkpoint")),
        )

    @property
    def size(self) -> int:
        """The approximate number of files."""
        return len(self.commits) + len(self.compactions) + len(self.checkpoints)

    @property
    def latest(self) -> int | None:
        """The newest version for which there is a file."""
        return max(
            [*self.commits, *(checkpoint.version for checkpoint in self.checkpoints)], default=None
        )

    @property
    def earliest(self) -> int | None:
        """The oldest version that can be rebuilt from these files."""
        if 0 in self.commits:
            return 0
        return min((checkpoint.version for checkpoint in self.checkpoints), default=None)

    def unbroken(self, last: int) -> int:
        """The first version up to `last` from which each one can be rebuilt without a gap.

        After a cleanup, commits can remain that no earlier checkpoint leads to.
        """
        first = last
        while first - 1 in self.commits:
            first -= 1
        if next(self.segments(first), None) is not None:
            return first
        bases = (base.version for base in self.checkpoints if first <= base.version <= last)
        return min(bases, default=last)

    def segments(self, version: int) -> Iterator[LogSegment]:
        """The ways to rebuild a version, the cheapest first. Empty if files are missing for each."""
        bases = [checkpoint for checkpoint in self.checkpoints if checkpoint.version <= version]
        broken: set[int] = set()
        for base in [*bases, None]:
            deltas = self.cover(0 if base is None else base.version + 1, version, broken)
            if deltas is None:
                continue
            files = (*(base.files if base else ()), *deltas)
            yield LogSegment(version, base, deltas, self.commits.get(version, files[-1]))

    def missing(self, version: int) -> int:
        """The first commit whose absence prevents a version from being rebuilt."""
        bases = (checkpoint.version for checkpoint in self.checkpoints if checkpoint.version <= version)
        start = max(bases, default=-1) + 1
        return next(number for number in range(start, version + 1) if number not in self.commits)

    def commits_of(self, compaction: LogFile) -> tuple[LogFile, ...] | None:
        """The commits that a compaction replaces, or `None` if one is missing."""
        versions = range(compaction.version, compaction.last + 1)
        if len(versions) > len(self.commits) or any(each not in self.commits for each in versions):
            return None
        return tuple(self.commits[version] for version in versions)

    def cover(
        self, first: int, last: int, broken: set[int] | None = None
    ) -> tuple[LogFile, ...] | None:
        """Commits and compactions from one version to another, or `None` if one is missing.

        Args:
            broken: Versions from which an earlier call did not reach `last`. Those of this call are
                added, so that many checkpoints before one gap do not repeat the same steps.
        """
        files: list[LogFile] = []
        broken = set() if broken is None else broken
        while first <= last:
            file = None if first in broken else self._longest(first, last)
            if file is None:
                broken.update(file.version for file in files)
                return None
            files.append(file)
            first = file.last + 1
        return tuple(files)

    def _longest(self, first: int, last: int) -> LogFile | None:
        """The file that covers the most versions from the first one on, and none after the last."""
        compacted = (file for file in self.compactions.get(first, ()) if file.last <= last)
        return next(compacted, self.commits.get(first))


def _complete(files: Iterable[LogFile]) -> Iterator[Checkpoint]:
    """Checkpoints without missing parts, the newest first. Of one version, single files come first."""
    sets: dict[tuple[int, int, str], dict[int, LogFile]] = defaultdict(dict)
    for file in files:
        unique = file.name if file.parts == 1 else ""
        sets[(file.version, file.parts, unique)][file.part] = file
    for (version, parts, _), found in sorted(sets.items(), key=lambda item: (-item[0][0], item[0][1])):
        # Counted: a name can claim ten billion parts.
        if len(found) == parts and min(found) == 1 and max(found) == parts:
            yield Checkpoint(version, tuple(found[part] for part in sorted(found)))
