"""Training speed on this machine: python scripts/bench.py [OPTIONS OF nmt bench]."""

import sys

from nmt.cli.app import app

if __name__ == "__main__":
    app(["bench", *sys.argv[1:]], prog_name="bench.py")
