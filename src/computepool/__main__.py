"""`python -m computepool`: the same as the command `computepool`."""

from computepool.cli import main

main()
