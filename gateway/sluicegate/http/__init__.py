"""HTTP as every application of the gateway speaks it: bodies, answers, serving."""
