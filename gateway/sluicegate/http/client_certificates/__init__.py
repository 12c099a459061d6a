"""Client certificates: those of TLS connections, and those that proxies forward."""
