"""``python -m torchclusteval``: the command line."""

import sys

from torchclusteval.cli import main

if __name__ == "__main__":
    sys.exit(main())
