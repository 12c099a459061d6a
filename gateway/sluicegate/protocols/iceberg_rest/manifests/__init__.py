"""Manifest lists and manifests of views, generated for clients that plan their scans."""
