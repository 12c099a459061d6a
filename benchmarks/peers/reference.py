"""What the reference Delta Sharing server (Scala) needs for the same requests.

It cannot run beside the gateway, so these figures are from other runs on two busy cores of a like
machine, each with the lowest and the highest that was seen.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.support.report import Figures

LOWEST, HIGHEST = "reference_lowest_measured_elsewhere", "reference_highest_measured_elsewhere"

QUERY_10K_FILES: Mapping[str, Figures] = {
    LOWEST: {"cpu_seconds_per_request": 1.0, "total_seconds": 1.4, "first_byte_share_of_total": 0.85},
    HIGHEST: {"cpu_seconds_per_request": 1.3, "total_seconds": 2.3, "first_byte_share_of_total": 0.95},
}
PREDICATE: Mapping[str, Figures] = {
    LOWEST: {"cpu_seconds_per_request": 0.25},
    HIGHEST: {"cpu_seconds_per_request": 0.38},
}
METADATA: Mapping[str, Figures] = {
    LOWEST: {"cpu_seconds_per_request": 0.087, "store_requests_per_request": 12},
    HIGHEST: {"cpu_seconds_per_request": 0.177, "store_requests_per_request": 14},
}
LIST: Mapping[str, Figures] = {
    LOWEST: {"cpu_seconds_per_request": 0.00029},
    HIGHEST: {"cpu_seconds_per_request": 0.00035},
}
# Its change feeds were not measured: this is what it needs for the metadata in front of one.
CHANGES: Mapping[str, Figures] = {
    f"metadata_alone_{LOWEST}": {"cpu_seconds_per_request": 0.087},
    f"metadata_alone_{HIGHEST}": {"cpu_seconds_per_request": 0.177},
}
START: Mapping[str, Figures] = {HIGHEST: {"ready_seconds": 6.0, "rss_mb": 200.0}}
