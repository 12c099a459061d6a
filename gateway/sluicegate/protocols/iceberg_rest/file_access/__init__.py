"""Access file by file: paths that carry a proof, and signing of requests for them."""
