"""`python -m sluicegate.cli`: the command, where its script is not on the path."""

from sluicegate.cli import main

main()
