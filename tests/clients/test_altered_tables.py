"""Tables as other writers and clean-ups leave them: each way returns their rows, or refuses.

Protocols lack what files need, partition values have other spellings, and logs and files are cleaned.
Readers that rely on the protocol return null or deleted rows without an error.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache, partial

import delta_kernel_rust_sharing_wrapper as kernel
import pytest
from clients.test_iceberg_by_file import INEXPRESSIBLE, NOT_PLANNED, PLANNING, UNMERGED, expected, read
from clients.test_reader_tables import BEYOND_PARQUET, MODES, PLAIN
from pyiceberg.exceptions import NoSuchTableError
from support.clients.recipient import refusal_of
from support.gateways.reader_gateway import ReaderGateway, reader_gateway
from support.process.random_cases import times
from support.tables.reader_tables.altered import AlteredTables
from support.tables.rows import assert_same_rows

from sluicegate.cli.demo.reading import difference

pytestmark = [
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Iceberg does not yet support 'ns'"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def _cases(names: Sequence[str], number: int) -> list[tuple[int, str]]:
    """Tables in random order, and the seed of how each is altered. Each seed has a gateway."""
    chosen = random.Random(0).sample(sorted(names), len(names))
    return [(place // len(chosen), chosen[place % len(chosen)]) for place in range(number)]


NUMBER = 2_000 if times() > 1 else 24  # at night, and for each change
CASES = [*_cases(list(BEYOND_PARQUET), NUMBER // 2), *_cases(PLAIN, NUMBER // 2)]


@pytest.fixture(scope="module")
def gateways(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[int], ReaderGateway]]:
    """Starts a gateway with the tables of a seed, each once."""
    with ExitStack() as stack:

        @cache
        def started(seed: int) -> ReaderGateway:
            names = [name for of, name in CASES if of == seed]
            needed = {name: BEYOND_PARQUET.get(name, ()) for name in names}
            written = partial(AlteredTables, seed=seed, features=needed)
            folder = tmp_path_factory.mktemp("altered")
            return stack.enter_context(reader_gateway(folder, names, written))

        yield started


@pytest.mark.parametrize(("seed", "name"), CASES)
def test_delta_kernel_reads_the_rows_of_cleaned_tables(
    gateways: Callable[[int], ReaderGateway], seed: int, name: str
) -> None:
    """Where the tables' own protocols and spellings are left: what is compared below is no mistake."""
    readers = gateways(seed)
    table = readers.tables.table(name)
    assert isinstance(readers.tables, AlteredTables)
    if set(readers.tables.alterations[name]) - {"vacuumed", "cleaned"}:
        return
    interface = kernel.PythonInterface(f"file://{table.location}/")
    snapshot = kernel.Table(f"file://{table.location}/").snapshot(interface)
    read = kernel.ScanBuilder(snapshot).build().execute(interface).read_all()
    assert difference(readers.expected(name), read.to_pandas(date_as_object=True)) is None


@pytest.mark.parametrize(("seed", "name"), CASES)
def test_each_way_returns_the_rows_or_refuses(
    gateways: Callable[[int], ReaderGateway], seed: int, name: str
) -> None:
    readers = gateways(seed)
    rows, features = readers.expected(name), BEYOND_PARQUET.get(name, ())
    for mode, use_delta_format in MODES.items():
        ask = partial(readers.recipient.read, name, use_delta_format=use_delta_format)
        if mode == "parquet" and features:
            refusal = refusal_of(ask)
            assert (refusal.status, refusal.code) == (400, "UNSUPPORTED_OPERATION")
            listed = refusal.message.partition("readerfeatures=")[2].partition(" ")[0]
            assert sorted(listed.split(",")) == sorted(map(str.lower, features))
        else:
            assert_same_rows(rows, ask())
    if name in UNMERGED:
        return
    for planning in PLANNING:
        if name in INEXPRESSIBLE:
            with pytest.raises(NoSuchTableError, match=INEXPRESSIBLE[name]):
                read(readers, name, planning)
        elif planning == "by itself" or name not in NOT_PLANNED:
            found = difference(expected(readers, name), read(readers, name, planning))
            assert found is None, found
