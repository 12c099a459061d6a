"""Object names that are difficult to sign. Compare URLs for them with those of a cloud's library."""

from __future__ import annotations

NAMES_TO_SIGN = (
    "plain.parquet",
    "sales/date=2024-01-01/part-00000-c000.snappy.parquet",
    "sales/date%3D2024-01-01/already encoded",
    "a b/c+d",
    "%",
    "%25%2F",
    "100%/#fragment?query=1&x=2;y",
    "a//b",
    "/leading",
    "trailing/",
    "./a/../b/.",
    "..",
    "-._~",
    "!*'()",
    "$&,:;=@",
    '[]{}|\\^`"<>',
    "ünïcode/日本語/😀",
    "e\u0301 is not \u00e9",
    "line\nbreak\ttab\rreturn",
    "nul\0inside",
    "\x7f\x01",
    "\u2028\ufeff\uffff",
    "x" * 1024,
)
"""Some stores don't support all of them."""
