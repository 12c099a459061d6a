"""The OpenAPI document of the Admin API: YAML files with paths and schemas."""
