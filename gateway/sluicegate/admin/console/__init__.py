"""The web console for administrators: server-rendered pages over the services of the Admin API."""
