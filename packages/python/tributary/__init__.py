"""Tributary: collective file I/O for MPI programs.

| module | holds |
|---|---|
| `tributary.captures` | captures (TRIB_CAPTURE) as lists and arrays |
| `tributary.reports` | reports (TRIB_REPORT=json) as dictionaries and arrays |

`python -m tributary ARGUMENTS` is `trib ARGUMENTS`.
"""

from importlib.metadata import version
from pathlib import Path

__version__ = version("tributary-io")


def root():
    """The installation inside of the wheel, with bin, include and lib: the TRIBUTARY_ROOT of this package."""
    return Path(__file__).resolve().parent / "root"


def library():
    """The library that MPI programs preload. Give it to the ranks as LD_PRELOAD, and not to the launcher."""
    return root() / "lib" / "libtributary_mpiio.so"
