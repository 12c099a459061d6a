"""Several gateway processes on one port: a supervisor, and the workers that it starts."""
