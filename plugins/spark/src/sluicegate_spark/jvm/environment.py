"""Selects environment variables for the JVM and the Python workers that it starts.

The worker's environment contains secrets: the database's password, signing keys, and client secrets.
Code that runs on Spark needs none of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from sluicegate_spark.jvm.redaction import SECRET_NAMES

_NAMED = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"),
        *("JAVA_HOME", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"),
        *("YARN_CONF_DIR", "KRB5_CONFIG", "KRB5CCNAME"),
        *("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
    }
)
_PREFIXES = ("LC_", "SPARK_", "PYSPARK_", "HADOOP_")
_PROXIES = frozenset({"http_proxy", "https_proxy", "no_proxy", "all_proxy"})
# Set by PySpark: how a process joins a running JVM, and the arguments of a start.
_PYSPARKS = frozenset({"PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "PYSPARK_SUBMIT_ARGS"})


def jvm_environment(environment: Mapping[str, str], further: Collection[str] = ()) -> dict[str, str]:
    """Return the variables for the JVM.

    Args:
        further: Names from the executor's configuration. These can be secrets. Variables that are
            included only because of a prefix (`SPARK_…`) are left out if their name is that of a
            secret.
    """
    return {name: value for name, value in environment.items() if name in further or _is_admitted(name)}


def _is_admitted(name: str) -> bool:
    if name in _NAMED or name.lower() in _PROXIES:
        return True
    is_secret = re.search(SECRET_NAMES, name) is not None or name in _PYSPARKS
    return name.startswith(_PREFIXES) and not is_secret
