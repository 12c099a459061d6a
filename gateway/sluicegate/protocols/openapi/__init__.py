"""The OpenAPI document that the gateway serves: YAML files with paths and schemas.

A test compares the routes with it, and the fuzzer sends requests that it describes.
"""
