"""Snippets for programs with a graphical interface."""

from __future__ import annotations

from sluicegate.access.activation.snippets.model import Code, Snippet, Steps, Text

_WITHOUT_OAUTH = (
    "The profile must contain a token, not an OAuth client. If yours contains `clientId`, ask the "
    "provider for a profile with a token."
)

POWER_BI = Snippet(
    "power-bi",
    "Power BI",
    "Import tables with the Delta Sharing connector of Power BI Desktop.",
    (
        Steps(
            (
                "In Power BI Desktop, select *Get Data*, and search for *Delta Sharing*. In newer "
                "versions, the connector is called *OpenSharing*. Select it, and then *Connect*.",
                "As the server URL, enter `{{endpoint}}`. It is the `endpoint` in `{{profile}}`.",
                "Optional: under *Advanced Options*, change the *Row Limit*. The default is one "
                "million rows.",
                "Select *OK*.",
                "Under *Authentication*, enter the value of `bearerToken` in `{{profile}}`, without "
                "quotation marks, and select *Connect*.",
            ),
            source="the documentation of Microsoft and Databricks",
        ),
        Text(
            "The rows must fit into the memory of your machine. The connector supports only tables in "
            "Parquet format, so it cannot read tables with deletion vectors. "
            f"{_WITHOUT_OAUTH}"
        ),
    ),
)
TABLEAU = Snippet(
    "tableau",
    "Tableau",
    "Import tables with the connector of Databricks from Tableau Exchange.",
    (
        Text("You need Tableau Desktop or Tableau Server 2024.1 or later."),
        Steps(
            (
                "From Tableau Exchange, install the *OpenSharing* connector of Databricks, which was "
                "called *Delta Sharing* before.",
                "Open Tableau Desktop. On the *Connectors* page, search for *OpenSharing by "
                "Databricks*.",
                "Select *Upload Share file*, and choose `{{profile}}`.",
                "Select *Get Data*, and then a table.",
                "Optional: add a filter or a row limit.",
                "Select *Get Table Data*.",
            ),
            source="the documentation of Databricks",
        ),
        Text(
            "The rows must fit into the memory of your machine. The connector returns all columns as "
            "text: change their types in Tableau. It cannot read tables with deletion vectors or "
            f"column mapping. {_WITHOUT_OAUTH}"
        ),
    ),
)
EXCEL = Snippet(
    "excel",
    "Excel",
    "Import a table from a CSV file that the Python client of Delta Sharing writes.",
    (
        Text(
            "Microsoft offers the Delta Sharing connector for Power BI and Fabric, but not for Excel. "
            "Install the Python client of Delta Sharing, and write the first rows of a table to a CSV "
            "file:"
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
        ),
        Text(
            "If your organization has Power BI, you can also import the tables there, and use "
            "*Analyze in Excel* for the semantic model."
        ),
    ),
)
