"""Snippets for programs with a graphical interface."""

from __future__ import annotations

from sluicegate.access.activation.snippets.model import Code, Snippet, Steps, Text

_DATABRICKS = "the documentation of Databricks, which maintains the connector"
_PARQUET_ONLY = (
    "The connector cannot read tables with deletion vectors or column mapping. If the provider shares "
    "such a table, read it with another program."
)

POWER_BI = Snippet(
    "power-bi",
    "Power BI",
    "Import tables with the Delta Sharing connector of Power BI Desktop.",
    (
        Steps(
            (
                "In Power BI Desktop, select *Get data*, search for *Delta Sharing*, and select "
                "*Connect*.",
                "In *Delta Sharing Server URL*, enter `{{endpoint}}`. It is the `endpoint` in "
                "`{{profile}}`.",
                "Optional: under *Advanced options*, change the row limit. The default is one "
                "million rows for each table.",
                "For *Authentication*, enter the value of `bearerToken` in `{{profile}}`, without "
                "quotation marks, and select *Connect*.",
                "In the navigator, select the tables, and then *Load*.",
            ),
            source=_DATABRICKS,
        ),
        Text(
            "The profile must contain a token, not an OAuth client. If yours contains "
            f"`clientId`, ask the provider for a profile with a token. {_PARQUET_ONLY}"
        ),
    ),
)
TABLEAU = Snippet(
    "tableau",
    "Tableau",
    "Import tables with the Delta Sharing connector from Tableau Exchange.",
    (
        Steps(
            (
                "From Tableau Exchange, install the connector *Delta Sharing* by Databricks, and start "
                "Tableau Desktop.",
                "Under *Connect*, *To a Server*, select the connector.",
                "Upload `{{profile}}`. Versions of the connector that have no upload ask for the "
                "endpoint, `{{endpoint}}`, and for the value of `bearerToken` in `{{profile}}`.",
                "Select *Get Data*, and then a table.",
                "Optional: enter a filter and a row limit. Data of a table must fit into memory.",
                "Select *Get Table Data*.",
            ),
            source=_DATABRICKS,
        ),
        Text(
            "The profile must contain a token, not an OAuth client. The connector returns all "
            f"columns as text: change their types in Tableau. {_PARQUET_ONLY}"
        ),
    ),
)
EXCEL = Snippet(
    "excel",
    "Excel",
    "Import a table from a CSV file that the Python client of Delta Sharing writes.",
    (
        Text(
            "Excel has no connector for Delta Sharing. Install the Python client of Delta Sharing, and "
            "write the first rows of a table to a CSV file:"
        ),
        Code("console", "pip install delta-sharing"),
        Code(
            "python",
            """\
import delta_sharing

table = "{{profile}}#{{share}}.{{schema}}.{{table}}"
rows = delta_sharing.load_as_pandas(table, limit=1_000_000)
rows.to_csv("{{table}}.csv", index=False, encoding="utf-8-sig")
print(f"{len(rows)} rows in {{table}}.csv")
""",
            output="3 rows in orders.csv",
        ),
        Steps(
            (
                "In Excel, select *Data*, *From Text/CSV*, and the file `{{table}}.csv`. Do not "
                "open the file by a double click: Excel then runs values that look like formulas.",
                "Select *Load*.",
                "For newer rows, run the code again. Then select *Data*, *Refresh All*.",
            ),
            source="the documentation of Excel",
        ),
        Text(
            "If your organization has Power BI, you can also import the tables there, and use "
            "*Analyze in Excel* for the semantic model."
        ),
    ),
)
