"""`python -m sluicegate.cli`: runs the command if its script is not on the path."""

from sluicegate.cli import main

main()
