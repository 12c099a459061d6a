"""The snippets, in the order of the page."""

from __future__ import annotations

from sluicegate.access.activation.snippets.dashboards import EXCEL, POWER_BI, TABLEAU
from sluicegate.access.activation.snippets.dataframes import DUCKDB, PANDAS, POLARS, R
from sluicegate.access.activation.snippets.engines import CURL, PYICEBERG, SPARK

SNIPPETS = (PANDAS, POLARS, DUCKDB, SPARK, PYICEBERG, POWER_BI, TABLEAU, R, EXCEL, CURL)
