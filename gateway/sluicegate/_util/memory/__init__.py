"""Garbage and the heap of the process."""
