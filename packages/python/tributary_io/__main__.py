"""`python -m tributary_io ARGUMENTS`, and the script `trib`: the program of the wheel takes the place of this one."""

import os
import sys

from tributary_io import root


def main():
    """Does not return."""
    program = root() / "bin" / "trib"
    os.execv(program, ["trib", *sys.argv[1:]])


if __name__ == "__main__":
    main()
