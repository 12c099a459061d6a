"""The OpenAPI document that the gateway serves, assembled from small pieces.

It describes the routes: a test compares both, and the fuzzer sends requests that it describes.
"""
