"""Snippets for libraries that read tables through the Python client of Delta Sharing."""

from __future__ import annotations

from sluicegate.access.activation.snippets.model import Code, Snippet, Text

_FIRST = Text(
    "List the tables that are shared with you, and read the first rows of the first table. For a "
    "complete table, leave out `limit`."
)
# The end of `first` is the URL of a table: <profile>#<share>.<schema>.<table>.
_LISTING = """\
profile = "{{profile}}"
tables = delta_sharing.SharingClient(profile).list_all_tables()
for table in tables:
    print(f"{table.share}.{table.schema}.{table.name}")

first = f"{profile}#{tables[0].share}.{tables[0].schema}.{tables[0].name}"
"""

PANDAS = Snippet(
    "pandas",
    "pandas",
    "Read tables into data frames with the Python client of Delta Sharing.",
    (
        Text("Install the client:"),
        Code("console", "pip install delta-sharing"),
        _FIRST,
        Code(
            "python",
            f"import delta_sharing\n\n{_LISTING}"
            "print(delta_sharing.load_as_pandas(first, limit=1000))\n",
            output="sales.eu.orders\n   id country\n0   …\n",
        ),
    ),
)
POLARS = Snippet(
    "polars",
    "Polars",
    "Convert what the Python client of Delta Sharing reads into Polars data frames.",
    (
        Text("Install Polars and the client of Delta Sharing:"),
        Code("console", "pip install delta-sharing polars"),
        _FIRST,
        Code(
            "python",
            f"import delta_sharing\nimport polars as pl\n\n{_LISTING}"
            "print(pl.from_pandas(delta_sharing.load_as_pandas(first, limit=1000)))\n",
            output="sales.eu.orders\nshape: (3, 2)\n…",
        ),
    ),
)
_QUERY = """\
rows = delta_sharing.load_as_pandas(first)
print(duckdb.sql("SELECT count(*) AS number FROM rows"))
"""
DUCKDB = Snippet(
    "duckdb",
    "DuckDB",
    "Query tables with SQL, after the Python client of Delta Sharing has read them.",
    (
        Text("Install DuckDB and the client of Delta Sharing:"),
        Code("console", "pip install delta-sharing duckdb"),
        Text("DuckDB queries data frames by the names of their variables, here `rows`."),
        Code(
            "python",
            f"import delta_sharing\nimport duckdb\n\n{_LISTING}{_QUERY}",
            output="sales.eu.orders\n…\n│      3 │\n…",
        ),
    ),
)
R = Snippet(
    "r",
    "R",
    "Read tables into data frames of R with the package reticulate.",
    (
        Text(
            "The R package `reticulate` calls the Python client of Delta Sharing. Version 1.41 or "
            "later installs Python and the client when you use them for the first time."
        ),
        Code("r", 'install.packages("reticulate")', not_run="the tests do not include R"),
        _FIRST,
        Code(
            "r",
            """\
library(reticulate)
py_require("delta-sharing")
delta_sharing <- import("delta_sharing")

profile <- "{{profile}}"
tables <- delta_sharing$SharingClient(profile)$list_all_tables()
names <- sapply(tables, function(table) paste(table$share, table$schema, table$name, sep = "."))
print(names)

print(delta_sharing$load_as_pandas(paste0(profile, "#", names[1]), limit = 1000L))
""",
            not_run="the tests do not include R",
        ),
    ),
)
