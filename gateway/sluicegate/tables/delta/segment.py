"""Which files of the log make up a version."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sluicegate.nouns import CatalogTable
from sluicegate.tables.delta.names import LogFile, staged_commit


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint: one file, or all parts of a multi-part one in order."""

    version: int
    files: tuple[LogFile, ...]


@dataclass(frozen=True, slots=True)
class LogSegment:
    """What has to be read for one version: a checkpoint, or nothing, and what follows it.

    Attributes:
        deltas: Commits and compactions, ascending, without gaps and overlaps.
        newest: The file that stands for the version itself: its commit, where it still is there.
    """

    version: int
    checkpoint: Checkpoint | None
    deltas: tuple[LogFile, ...]
    newest: LogFile


@dataclass(frozen=True, slots=True)
class LogListing:
    """The files that a listing of the log found, by what they are.

    Attributes:
        commits: By version, ascending; those that a catalog has ratified come from its staging area.
        compactions: By first version, the longest first.
        checkpoints: Complete ones, the newest first.
    """

    commits: Mapping[int, LogFile]
    compactions: Mapping[int, tuple[LogFile, ...]]
    checkpoints: tuple[Checkpoint, ...]

    @classmethod
    def of(cls, files: Iterable[LogFile], table: CatalogTable) -> LogListing:
        """Sort files by what they are; nothing above the catalog's latest version counts."""
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
        """How many files there are, about."""
        return len(self.commits) + len(self.compactions) + len(self.checkpoints)

    @property
    def latest(self) -> int | None:
        """The newest version that a file stands for."""
        return max(
            [*self.commits, *(checkpoint.version for checkpoint in self.checkpoints)], default=None
        )

    @property
    def earliest(self) -> int | None:
        """The oldest version that can be rebuilt from these files."""
        if 0 in self.commits:
            return 0
        return min((checkpoint.version for checkpoint in self.checkpoints), default=None)

    def segments(self, version: int) -> Iterator[LogSegment]:
        """The ways to rebuild a version, the cheapest first; none if files are missing for each."""
        bases = [checkpoint for checkpoint in self.checkpoints if checkpoint.version <= version]
        broken: set[int] = set()
        for base in [*bases, None]:
            deltas = self.cover(0 if base is None else base.version + 1, version, broken)
            if deltas is None:
                continue
            files = (*(base.files if base else ()), *deltas)
            yield LogSegment(version, base, deltas, self.commits.get(version, files[-1]))

    def missing(self, version: int) -> int:
        """The first commit whose absence keeps a version from being rebuilt."""
        bases = (checkpoint.version for checkpoint in self.checkpoints if checkpoint.version <= version)
        start = max(bases, default=-1) + 1
        return next(number for number in range(start, version + 1) if number not in self.commits)

    def cover(
        self, first: int, last: int, broken: set[int] | None = None
    ) -> tuple[LogFile, ...] | None:
        """Commits and compactions from one version to another, or `None` where one is missing.

        Args:
            first: The first version.
            last: The last version.
            broken: Versions from which an earlier call did not reach `last`; those of this call are
                added, so that many checkpoints before one gap do not take the same steps again.
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
        """What covers the most versions from the first one on, and none after the last."""
        compacted = (file for file in self.compactions.get(first, ()) if file.last <= last)
        return next(compacted, self.commits.get(first))


def _complete(files: Iterable[LogFile]) -> Iterator[Checkpoint]:
    """Checkpoints without missing parts, the newest first; of one version those of one file first."""
    sets: dict[tuple[int, int, str], dict[int, LogFile]] = defaultdict(dict)
    for file in files:
        unique = file.name if file.parts == 1 else ""
        sets[(file.version, file.parts, unique)][file.part] = file
    for (version, parts, _), found in sorted(sets.items(), key=lambda item: (-item[0][0], item[0][1])):
        # Counted: a name can promise ten billion parts.
        if len(found) == parts and min(found) == 1 and max(found) == parts:
            yield Checkpoint(version, tuple(found[part] for part in sorted(found)))
