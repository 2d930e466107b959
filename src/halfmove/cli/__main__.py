"""`python -m halfmove.cli`."""

import sys

from halfmove.cli import main

if __name__ == "__main__":
    sys.exit(main())
