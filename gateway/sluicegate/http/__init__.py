"""HTTP infrastructure that every application of the gateway shares: bodies, responses, serving."""
