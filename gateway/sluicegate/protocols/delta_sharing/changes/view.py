"""A range of versions as one recipient sees it, in the negotiated format."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sluicegate.api import Principal, UnsupportedOperation
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.common.shared_scope import shared_partitions
from sluicegate.protocols.delta_sharing.changes.request import ChangesRequest
from sluicegate.protocols.delta_sharing.encoding import delta as delta_lines
from sluicegate.protocols.delta_sharing.encoding import parquet as parquet_lines
from sluicegate.protocols.delta_sharing.encoding.delta_features import AnsweredFeatures
from sluicegate.protocols.delta_sharing.negotiation import HEADER, Agreement, negotiate
from sluicegate.protocols.delta_sharing.request import ResponseOptions
from sluicegate.tables.canonical_partitions import CanonicalPartitions, canonical_partitions
from sluicegate.tables.changes import Changes, Commit, TableState
from sluicegate.tables.features import (
    FeatureNeeds,
    declaring,
    extends,
    spanning_needs,
    spanning_protocol,
)
from sluicegate.tables.partitions import PartitionValues
from sluicegate.tables.snapshot import TableProtocol

# Numbers of a range that are not versions. The official clients take one second for this many.
_MOST_MISSING = 10_000
_FEED = "delta.enableChangeDataFeed"


@dataclass(frozen=True, slots=True)
class ChangeView:
    """Input of the steps after negotiation.

    Attributes:
        partitions: For each state, the condition on shared partitions. `None` for all of them.
    """

    table: OpenTable
    request: ChangesRequest
    changes: Changes
    shown: TableState
    states: Sequence[TableState]
    partitions: Sequence[Callable[[PartitionValues], bool] | None]
    agreement: Agreement
    features: AnsweredFeatures
    spanning: TableProtocol
    hash_name: str

    @property
    def partitioned(self) -> bool:
        """Whether any version of the range has partition columns."""
        return any(state.metadata.partition_columns for state in self.states)

    def head(self) -> bytes:
        """The protocol and the metadata line, which are the same bytes on each page.

        In a response without historical protocol lines, the single protocol line covers all files.
        Otherwise, a client that writes it into its own log would read deleted rows.
        """
        if self.agreement.response_format == "parquet":
            return parquet_lines.protocol() + self._metadata(self.shown)
        if self._historical_protocol:
            start = self.changes.start
            head = self._protocol_from(start.version)
        else:
            head = delta_lines.protocol(self.spanning)
        return head + self._metadata(self.shown)

    def lines_of(self, commit: Commit) -> bytes:
        """The historical lines that come before a commit's files."""
        lines = b""
        if commit.version == self.changes.start.version:
            return lines
        if commit.protocol is not None and self._historical_protocol:
            lines += self._protocol_from(commit.version)
        if commit.metadata is not None and self.request.historical_metadata:
            lines += self._metadata(self.states[self._state_of(commit.version)])
        return lines

    def shared_in(self, version: int) -> Callable[[PartitionValues], bool] | None:
        """The condition on partitions for the files of a version."""
        return self.partitions[self._state_of(version)]

    def canonical_in(self, version: int) -> CanonicalPartitions:
        """What rewrites partition values of a version's files, by the metadata that clients use."""
        historical = self.request.historical_metadata
        state = self.states[self._state_of(version)] if historical else self.shown
        return canonical_partitions(state.metadata)

    def _state_of(self, version: int) -> int:
        """Index of the state that is in force at a version."""
        return bisect_right(self.states, version, key=lambda state: state.version) - 1

    @property
    def _historical_protocol(self) -> bool:
        return self.request.historical_protocol and self.agreement.response_format == "delta"

    def _protocol_from(self, version: int) -> bytes:
        """The line of the protocol that is in force from a version until the next change."""
        return delta_lines.protocol(self._in_force(version), version=version)

    def _in_force(self, version: int) -> TableProtocol:
        """The protocol from a version until the next one, which declares what these versions need."""
        commits = self.changes.commits
        changed = [commit.version for commit in commits[1:] if commit.protocol is not None]
        bounds = [self.changes.start.version, *changed, commits[-1].version + 1]
        place = bisect_right(bounds, min(version, commits[-1].version))
        first, end = bounds[place - 1], bounds[place]
        states = [state for state in self.states if first <= state.version < end]
        files = [commit for commit in commits if first <= commit.version < end]
        vectors = any(self.request.what in commit.vectors for commit in files)
        needs = spanning_needs(states, deletion_vectors=vectors)
        return self.features.protocol(declaring(states[0].protocol, needs.required))

    def _metadata(self, state: TableState) -> bytes:
        if self.agreement.response_format == "parquet":
            return parquet_lines.metadata(state.metadata, version=state.version)
        return delta_lines.metadata(state.metadata, self._protocol(state), version=state.version)

    def _protocol(self, state: TableState) -> TableProtocol:
        """The protocol in the response under which a client reads the files of a state."""
        if not self._historical_protocol:
            return self.spanning
        return self._in_force(state.version)


def view_changes(
    principal: Principal,
    table: OpenTable,
    request: ChangesRequest,
    form: ResponseOptions,
    changes: Changes,
    latest: TableState,
) -> ChangeView:
    """Check that a range can be served to a recipient, and negotiate the format."""
    states = list(changes.states())
    if request.what == "feed":
        _check_recorded(states)
    _check_complete(changes, request)
    shown, needs = _shown(request, changes, states, latest)
    shared = table.shared
    agreement = negotiate(
        form.capabilities,
        needs,
        offered=shared.access_modes,
        iceberg=table.source.format == "iceberg",
    )
    if agreement.response_format == "delta":
        _check_dense(changes)
    features, spanning = _features([*states, shown], agreement, needs)
    return ChangeView(
        table=table,
        request=request,
        changes=changes,
        shown=shown,
        states=states,
        partitions=[shared_partitions(shared, principal, state.metadata) for state in states],
        agreement=agreement,
        features=features,
        spanning=spanning,
        hash_name=form.hash_name(agreement.response_format),
    )


def _features(
    states: Sequence[TableState], agreement: Agreement, needs: FeatureNeeds
) -> tuple[AnsweredFeatures, TableProtocol]:
    """The features of the response, and the protocol under which a reader supports all states."""
    features = AnsweredFeatures.of(
        agreement.reader_features, needs.required, [state.metadata for state in states]
    )
    spanning = spanning_protocol([state.protocol for state in states])
    return features, features.protocol(declaring(spanning, needs.required))


def _shown(
    request: ChangesRequest, changes: Changes, states: Sequence[TableState], latest: TableState
) -> tuple[TableState, FeatureNeeds]:
    """The state whose metadata represents a range, and what reading its files with it requires.

    Clients read all files with this one schema. It must contain columns that were added within the
    range, or their values are lost. The Spark client also assumes the latest schema. That schema is
    returned if it only adds columns and requires no further features (docs/adr/0011).
    """
    vectors = changes.vectors(request.what)
    needs = spanning_needs(states, deletion_vectors=vectors)
    if request.historical_metadata:
        return states[0], needs
    last = states[-1]
    if extends(latest.metadata, last.metadata):
        wider = spanning_needs([*states, latest], deletion_vectors=vectors)
        if (wider.required, wider.beyond_parquet) == (needs.required, needs.beyond_parquet):
            return latest, wider
    return TableState(changes.commits[-1].version, last.protocol, last.metadata), needs


def _check_complete(changes: Changes, request: ChangesRequest) -> None:
    """Reject lines that lack what the protocol requires: one of them fails a client's entire read."""
    version = changes.incomplete(request.what)
    if version is not None:
        raise UnsupportedOperation(
            f"version {version} of the table removes files without their size and partition "
            "values, and the table's log no longer contains the versions that added them: request "
            f"a range that starts after version {version}, or a snapshot"
        )


def _check_dense(changes: Changes) -> None:
    """Reject a range that clients could not write as a Delta log, where each number has a file."""
    start, end = changes.start.version, changes.commits[-1].version
    if end - start + 1 - len(changes.commits) > _MOST_MISSING:
        raise UnsupportedOperation(
            f"in delta format, clients write a file for each number from {start} to {end}, of which "
            f"{len(changes.commits)} are versions of the table: send the header {HEADER}: "
            "responseformat=parquet, or request fewer versions. Versions of Iceberg tables in format "
            "version 1 are times; their owner can upgrade them to format version 2"
        )


def _check_recorded(states: Sequence[TableState]) -> None:
    for state in states:
        if state.metadata.configuration.get(_FEED, "").lower() != "true":
            raise UnsupportedOperation(
                f"the change data feed of the table was off in version {state.version}: request a "
                "range in which it was on throughout"
            )
