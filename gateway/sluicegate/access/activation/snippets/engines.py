"""Snippets for engines and clients with connectors for Delta Sharing, Iceberg, or HTTP."""

from __future__ import annotations

from sluicegate.access.activation.snippets.model import Code, Snippet, Text

_ICEBERG_JARS = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0,"
    "org.apache.iceberg:iceberg-aws-bundle:1.12.0"
)

SPARK = Snippet(
    "spark",
    "Spark",
    "Read tables with the Spark connector of Delta Sharing, or as an Iceberg catalog.",
    (
        Text(
            "The connector is the package `io.delta:delta-sharing-spark_2.13` for Spark 4, and "
            "`io.delta:delta-sharing-spark_2.12` for Spark 3.5. Replace VERSION with its latest "
            "version. The driver of Spark must be able to read `{{profile}}`."
        ),
        Code(
            "console",
            "pyspark --packages io.delta:delta-sharing-spark_2.13:VERSION",
            not_run="the connector is in no registry that the tests use",
        ),
        Code(
            "python",
            'table = "{{profile}}#{{share}}.{{schema}}.{{table}}"\n'
            'spark.read.format("deltaSharing").load(table).show()\n',
            not_run="it needs a Spark session with the connector",
        ),
        Text(
            "Spark with Iceberg reads the tables without the connector. The token is `bearerToken` in "
            "`{{profile}}`. Do not write it into files that others can read."
        ),
        Code(
            "text",
            f"""\
spark.jars.packages                  {_ICEBERG_JARS}
spark.sql.catalog.shared             org.apache.iceberg.spark.SparkCatalog
spark.sql.catalog.shared.type        rest
spark.sql.catalog.shared.uri         {{{{iceberg_endpoint}}}}
spark.sql.catalog.shared.warehouse   {{{{share}}}}
spark.sql.catalog.shared.token       TOKEN
""",
        ),
        Code(
            "python",
            'spark.table("shared.{{schema}}.{{table}}").show()\n',
            not_run="it needs a Spark session with Iceberg; tests/spark has one",
        ),
    ),
)
PYICEBERG = Snippet(
    "pyiceberg",
    "PyIceberg",
    "Read a share as an Iceberg catalog, without a client of Delta Sharing.",
    (
        Text(
            "Install PyIceberg with `s3fs`. The versions 2026.2 to 2026.5 of `s3fs` do not work, "
            "because they do not send the first request to be signed."
        ),
        Code("console", 'pip install "pyiceberg[pyarrow]" s3fs'),
        Text(
            "Each share is a catalog. The profile must contain a token, not an OAuth client. List the "
            "tables of a share, and read the first rows of the first table:"
        ),
        Code(
            "python",
            """\
import json

from pyiceberg.catalog import load_catalog

profile = json.load(open("{{profile}}"))
catalog = load_catalog(
    "shared",
    type="rest",
    uri=profile["icebergEndpoint"],
    token=profile["bearerToken"],
    warehouse="{{share}}",
)
tables = [table for schema in catalog.list_namespaces() for table in catalog.list_tables(schema)]
print(tables)
print(catalog.load_table(tables[0]).scan(limit=1000).to_arrow())
""",
            output="[('eu', 'orders')]\npyarrow.Table\n…",
        ),
    ),
)
_PRINT_HEADER = (
    'import json; print("Authorization: Bearer", json.load(open("{{profile}}"))["bearerToken"])'
)
_AUTHORIZED = f"""\
python3 -c '{_PRINT_HEADER}' | \\
  curl --silent --show-error --fail --header @- """
CURL = Snippet(
    "curl",
    "curl",
    "Send the requests of the Delta Sharing protocol yourself.",
    (
        Text(
            "The profile must contain a token, not an OAuth client. Each command passes the token "
            "to curl on standard input, so that it is not on a command line, where other users of "
            "the machine can see it. List your shares, and the tables of one share:"
        ),
        Code(
            "console",
            _AUTHORIZED + "{{endpoint}}/shares",
            output='{"items":[{"name":"sales",…}]}',
        ),
        Code(
            "console",
            _AUTHORIZED + "{{endpoint}}/shares/{{share}}/all-tables",
            output='{"items":[{"name":"orders",…}]}',
        ),
        Text(
            "Query a table. Each line of the response is a JSON object: the protocol, the "
            "metadata, and the Parquet files, with URLs that are valid for a limited time."
        ),
        Code(
            "console",
            _AUTHORIZED + '--json "{}" '
            "{{endpoint}}/shares/{{share}}/schemas/{{schema}}/tables/{{table}}/query",
            output='{"protocol":…}\n{"metaData":…}\n{"file":…}',
        ),
    ),
)
