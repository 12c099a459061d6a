"""A Google Cloud Storage emulator that checks signatures and access tokens."""
