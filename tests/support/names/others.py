"""Names in pages that the repository can't contain, by what they belong to."""

from __future__ import annotations

OTHERS = {
    "AWS": """
        AWS_ROLE_ARN AWS_WEB_IDENTITY_TOKEN_FILE DeleteObjects GetRole GetRolePolicy PutRolePolicy
        SetSourceIdentity TagSession use_ssl
    """,
    "Azure": "DataLakeServiceClient azcopy",
    "Delta Lake and its sharing server": """
        cdfEnabled maxDate oauth_jwt_bearer_private_key_jwt
        spark.delta.logStore.s3a.impl
    """,
    "Hadoop and the JVM": """
        DelegationTokenIOException NoAuthWithAWSException core-site.xml
    """,
    "Iceberg": "deleted_manifest_files dropTable",
    "Linux": "--bind RESOLVE_BENEATH RESOLVE_NO_SYMLINKS fs.protected_hardlinks",
    "OpenTelemetry and Prometheus": """
        OTEL_EXPORTER_OTLP_CERTIFICATE OTEL_METRIC_EXPORT_INTERVAL OTEL_PROPAGATORS OTEL_SERVICE_NAME
        OTEL_TRACES_SAMPLER_ARG parentbased_traceidratio target_info
    """,
    "Polaris": """
        NAMESPACE_LIST TABLE_LIST TABLE_READ_DATA TABLE_READ_PROPERTIES VIEW_READ_PROPERTIES
    """,
    "proxies": """
        SANITIZE_SET optional_no_ca passTLSClientCert proxy_set_header ssl_c_der
        ssl_client_escaped_cert ssl_verify_client
    """,
    "skills of agents": "SKILL.md",
    "Spark": "spark.blockManager.port",
    "settings of 0.1.0": "delegation.issuers.0.recipients",
    "other tools": "--build-arg UV_COMPILE_BYTECODE compinit destroy nodejs",
    "files that readers create": """
        deploy/compose/secrets delta-sharing-server.yaml dist/sluicegate-0.2.0.cdx.json
        gateway/shares.yaml
    """,
    "the plugin in the guide": """
        sluicegate_inventory sluicegate_inventory.plugin src/sluicegate_inventory/__init__.py
        src/sluicegate_inventory/config.py src/sluicegate_inventory/plugin.py
    """,
    "examples": "order_items table2 test_refresh_keeps_the_pinned_version",
    "endings of files": ".change.md .fix.md",
    "figures whose names are composed": "acquired_beside_full_realm_per_second",
}
NAMES = frozenset(name for names in OTHERS.values() for name in names.split())
