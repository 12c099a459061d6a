"""What several benchmarks use: tables, gateways, clients, counters and reports."""
