"""How a script ends whose Arrow may still have threads."""

LEAVE = "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n"
"""Ends a script that has succeeded.

Torn down at a process' end, Arrow aborts it now and then behind all its work: "terminate called
without an active exception" (apache/arrow#34314).
"""
