"""What the Spark connector demands of lines in delta format, of which it makes a Delta log.

Written after `DeltaSharingLogFileSystem` of delta-sharing-spark 4.4.0, and the checks that Delta Lake
4.4 makes of the log that it then reads. The connector itself is in no registry.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from support.tables.delta_features import BY_NAME, active

Line = Mapping[str, Any]
# The reader features that Delta Lake 4.4 reads, which are more than the connector lists.
READABLE = frozenset(name for name, feature in BY_NAME.items() if feature.reader)
_LISTS_READERS, _LISTS_WRITERS = 3, 7


@dataclass
class ConnectorLog:
    """The log that the connector makes of an answer."""

    commits: dict[int, list[Line]] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)

    def add_file(self, version: int, value: Mapping[str, Any]) -> None:
        """One line of a file, in a version of the log."""
        ((kind, action),) = value["deltaSingleAction"].items()
        assert kind in ("add", "remove", "cdc"), f"unexpected action {kind}"
        assert isinstance(action["size"], int), "size is missing"
        assert isinstance(value["expirationTimestamp"], int), "the URL's expiry is missing"
        self.urls[value["id"]] = action["path"]
        vector = action.get("deletionVector")
        if vector is not None:
            assert kind != "cdc", "a cdc file has a deletion vector"
            assert vector["storageType"] in ("p", "i"), f"unexpected vector in {value}"
            # Without it the connector dies of a NullPointerException, of an inline vector, too.
            assert value.get("deletionVectorFileId"), f"the vector has no id in {value}"
            if vector["storageType"] == "p":
                self.urls[value["deletionVectorFileId"]] = vector["pathOrInlineDv"]
        path = {"path": value["id"]}
        self.commits.setdefault(version, []).append({kind: {**action, **path}})

    def check(self) -> None:
        """Delta's own checks of each version's protocol and metadata."""
        protocol: Line | None = None
        metadata: Line | None = None
        for version in sorted(self.commits):
            for action in self.commits[version]:
                protocol = action.get("protocol", protocol)
                metadata = action.get("metaData", metadata)
            assert protocol is not None, f"version {version} has no protocol"
            assert metadata is not None, f"version {version} has no metadata"
            check_protocol(protocol)
            check_agreement(protocol, metadata)


def snapshot_log(lines: Sequence[str]) -> ConnectorLog:
    """The log of one version, which becomes version 0."""
    log = ConnectorLog()
    commit = log.commits.setdefault(0, [])
    for text in lines:
        ((kind, value),) = json.loads(text).items()
        match kind:
            case "protocol":
                commit.append({"protocol": value["deltaProtocol"]})
            case "metaData":
                commit.append({"metaData": value["deltaMetadata"]})
            case "file":
                log.add_file(0, value)
            case _:
                raise AssertionError(f"unknown action in {text}")
    log.check()
    return log


def range_log(lines: Sequence[str], start: int | None = None) -> ConnectorLog:
    """The log of a range of versions; `start` is what a stream asks from on."""
    log = ConnectorLog()
    first: dict[str, Line] = {}
    later: list[tuple[int, Line]] = []
    versions = [] if start is None else [start]
    for text in lines:
        ((kind, value),) = json.loads(text).items()
        if kind == "file":
            assert isinstance(value["timestamp"], int)
            versions.append(value["version"])
            log.add_file(value["version"], value)
        elif kind in ("protocol", "metaData"):
            described = {kind: value["deltaProtocol" if kind == "protocol" else "deltaMetadata"]}
            version = value.get("version")
            if version is not None:
                versions.append(version)
                later.append((version, described))
            if version is None or version == min(versions):
                first[kind] = described
    least = min(versions, default=0)
    log.commits.setdefault(least, [])[:0] = [first["metaData"], first["protocol"]]
    for version, line in later:
        if version != least:
            log.commits.setdefault(version, []).insert(0, line)
    log.check()
    return log


def check_protocol(protocol: Line) -> None:
    """What `Protocol` of Delta demands of itself, and of what it can read."""
    readers, writers = protocol.get("readerFeatures"), protocol.get("writerFeatures")
    assert (protocol["minReaderVersion"] >= _LISTS_READERS) == (readers is not None)
    assert (protocol["minWriterVersion"] >= _LISTS_WRITERS) == (writers is not None)
    assert readers is None or writers is not None
    assert READABLE.issuperset(readers or ()), f"unsupported: {readers}"
    assert set(writers or ()).issuperset(readers or ())


def check_agreement(protocol: Line, metadata: Line) -> None:
    """`DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH`: what metadata enable, the protocol has to name."""
    names = set(protocol.get("writerFeatures") or ())
    needed = {name for feature in names for name in BY_NAME[feature].requires}
    for feature in active(metadata):
        if feature.instead_of not in names:
            needed |= {feature.name, *feature.requires}
    if "writerFeatures" in protocol:
        assert names >= needed, f"enabled, but not named: {needed - names}"
        return
    for name in needed:
        legacy = BY_NAME[name].legacy
        version = protocol["minWriterVersion"]
        assert (legacy or _LISTS_WRITERS) <= version, f"enabled, but not named: {name}"


def check_timestamps(log: ConnectorLog) -> None:
    """In-commit timestamps may not be on: no line of an answer becomes a commit's own information."""
    for actions in log.commits.values():
        for action in actions:
            properties = action.get("metaData", {}).get("configuration", {})
            assert properties.get("delta.enableInCommitTimestamps") != "true", "no commit has any"
