"""Lets `python3 -m tally` run the command line."""

import sys

from tally.cli import main

sys.exit(main(sys.argv[1:]))
