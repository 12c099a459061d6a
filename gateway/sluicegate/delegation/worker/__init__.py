"""Workers lease tasks and run each attempt on an executor."""
