"""A range of versions as one recipient sees it, in the form that was agreed for the answer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sluicegate.api import Principal, UnsupportedOperation
from sluicegate.doors.resolve import OpenTable
from sluicegate.sharing import delta_lines, parquet_lines
from sluicegate.sharing.change_question import ChangesRequest
from sluicegate.sharing.limits import shared_partitions
from sluicegate.sharing.negotiation import Agreement, negotiate
from sluicegate.sharing.question import Form
from sluicegate.tables.changes import Changes, Commit, TableState
from sluicegate.tables.features import FeatureNeeds, declared_features
from sluicegate.tables.partitions import PartitionValues
from sluicegate.tables.snapshot import TableProtocol
from sluicegate.tables.spanning import extends, spanning_needs, spanning_protocol

_FEED = "delta.enableChangeDataFeed"


@dataclass(frozen=True, slots=True)
class ChangeView:
    """What the steps behind negotiation work on.

    Attributes:
        shown: Whose metadata, with which version, comes first in the answer.
        states: What is in force at the start, and from each version on that changes it.
        partitions: For each state the condition on partitions that are shared; `None` for all of them.
        hash_name: Makes file ids.
    """

    table: OpenTable
    request: ChangesRequest
    changes: Changes
    shown: TableState
    states: Sequence[TableState]
    partitions: Sequence[Callable[[PartitionValues], bool] | None]
    needs: FeatureNeeds
    agreement: Agreement
    hash_name: str

    @property
    def partitioned(self) -> bool:
        """Some version of the range has partition columns."""
        return any(state.metadata.partition_columns for state in self.states)

    def head(self) -> bytes:
        """The protocol and the metadata line; the same bytes on each page.

        The one protocol line of an answer without historical ones covers all of its files: a client
        that writes it into a log of its own would otherwise read deleted rows.
        """
        if self._historical_protocol:
            protocol = self._protocol(self.changes.start.protocol, self.changes.start.version)
        else:
            protocols = [state.protocol for state in (*self.states, self.shown)]
            protocol = self._protocol(spanning_protocol(protocols))
        return protocol + self._metadata(self.shown)

    def lines_of(self, commit: Commit) -> bytes:
        """The historical lines that come before a commit's files."""
        lines = b""
        if commit.version == self.changes.start.version:
            return lines
        if commit.protocol is not None and self._historical_protocol:
            lines += self._protocol(commit.protocol, commit.version)
        if commit.metadata is not None and self.request.historical_metadata:
            lines += self._metadata(self.changes.start.after(commit))
        return lines

    def shared_in(self, version: int) -> Callable[[PartitionValues], bool] | None:
        """The condition on partitions for the files of a version."""
        state = bisect_right(self.states, version, key=lambda state: state.version) - 1
        return self.partitions[state]

    @property
    def _historical_protocol(self) -> bool:
        return self.request.historical_protocol and self.agreement.response_format == "delta"

    def _protocol(self, protocol: TableProtocol, version: int | None = None) -> bytes:
        if self.agreement.response_format == "parquet":
            return parquet_lines.protocol()
        declared = declared_features(protocol)
        features = [name for name in self.agreement.reader_features if name in declared]
        return delta_lines.protocol(protocol, self.needs, features, version=version)

    def _metadata(self, state: TableState) -> bytes:
        if self.agreement.response_format == "parquet":
            return parquet_lines.metadata(state.metadata, version=state.version)
        return delta_lines.metadata(state.metadata, version=state.version)


def view_changes(
    principal: Principal,
    table: OpenTable,
    request: ChangesRequest,
    form: Form,
    changes: Changes,
    latest: TableState,
) -> ChangeView:
    """Check that a range can be told to a recipient, and agree on the form.

    Args:
        principal: Who asks.
        table: The table.
        request: What is asked for.
        form: The form that the client can take.
        changes: The range.
        latest: Protocol and metadata of the newest version when the first page was asked for.

    Raises:
        UnsupportedOperation: The feed was off, nothing that the client can take fits, or the share's
            filter does not fit the table.
        PermissionDenied: The share's filter asks for a property that the recipient does not have.
    """
    states = list(changes.states())
    if request.what == "feed":
        _check_recorded(states)
    shown, needs = _shown(request, changes, states, latest)
    shared = table.shared
    agreement = negotiate(form.capabilities, needs, offered=shared.access_modes)
    return ChangeView(
        table=table,
        request=request,
        changes=changes,
        shown=shown,
        states=states,
        partitions=[shared_partitions(shared, principal, state.metadata) for state in states],
        needs=needs,
        agreement=agreement,
        hash_name=form.hash_name(agreement.response_format),
    )


def _shown(
    request: ChangesRequest, changes: Changes, states: Sequence[TableState], latest: TableState
) -> tuple[TableState, FeatureNeeds]:
    """Whose metadata stands for a range, and what reading its files by that metadata takes.

    Clients read all files by this one schema. Columns that were added within the range must be in it,
    or their values are lost. The Spark client also takes the latest schema for granted, so that is
    answered as long as it only adds columns and takes nothing more to read (docs/adr/0011).
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


def _check_recorded(states: Sequence[TableState]) -> None:
    for state in states:
        if state.metadata.configuration.get(_FEED, "").lower() != "true":
            raise UnsupportedOperation(
                f"the change data feed of the table was off in version {state.version}: ask for a "
                "range in which it was on throughout"
            )
