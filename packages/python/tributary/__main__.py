"""`python -m tributary ARGUMENTS`, and the script `trib`: the program of the wheel takes the place of this one."""

import os
import sys

from tributary import root


def main():
    """Does not return."""
    program = root() / "bin" / "trib"
    os.execv(program, ["trib", *sys.argv[1:]])


if __name__ == "__main__":
    main()
