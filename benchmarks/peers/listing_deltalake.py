"""Lists the files of tables with `deltalake`: `python -m benchmarks.peers.listing_deltalake URL…`.

Standard input contains the storage options as JSON. Prints the CPU seconds of each table.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from deltalake import DeltaTable


def listed_in_fresh_process(urls: Sequence[str], options: Mapping[str, str]) -> list[float]:
    """CPU seconds for each of the tables, in a process that has imported the library before."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers.listing_deltalake", *urls],
        input=json.dumps(dict(options)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds: list[float] = json.loads(done.stdout)
    return seconds


def _listed(url: str, options: dict[str, str]) -> float:
    began = time.process_time()
    assert DeltaTable(url, storage_options=options).file_uris()
    return time.process_time() - began


if __name__ == "__main__":
    given = json.load(sys.stdin)
    print(json.dumps([_listed(url, given) for url in sys.argv[1:]]))
