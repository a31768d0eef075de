"""Tributary: collective file I/O for MPI programs.

| module | holds |
|---|---|
| `tributary_io.captures` | captures (TRIB_CAPTURE) as lists and arrays |
| `tributary_io.reports` | reports (TRIB_REPORT=json) as dictionaries and arrays |

`enable()` enables the library in a script or notebook. `python -m tributary_io ARGUMENTS` is `trib ARGUMENTS`.
"""

import ctypes
import sys
from importlib.metadata import version
from pathlib import Path

__version__ = version("tributary-io")


def root():
    """The installation inside of the wheel, with bin, include and lib: the TRIBUTARY_ROOT of this package."""
    return Path(__file__).resolve().parent / "root"


def library():
    """The library that MPI programs preload. Give it to the ranks as LD_PRELOAD, and not to the launcher."""
    return root() / "lib" / "libtributary_mpiio.so"


def enable():
    """Enables the library in this process, without `trib run` and LD_PRELOAD: for scripts and notebooks.

    Call it before anything loads MPI (mpi4py.MPI, a parallel h5py or netCDF4), on all ranks. Where the library is in the process
    already, nothing happens.

    Raises RuntimeError if MPI is loaded already: the library would not be seen.
    """
    loaded = _loaded()
    if any(name.startswith("libtributary_mpiio.so") for name in loaded):
        return
    early = sorted(name for name in loaded if name.startswith(_MPI))
    if "mpi4py.MPI" in sys.modules or early:
        what = ", ".join(early) or "mpi4py.MPI"
        raise RuntimeError(f"{what} is loaded already; call tributary_io.enable() before the first import that loads MPI")
    # For all that is loaded later: MPI's functions are found in this library first.
    ctypes.CDLL(str(library()), mode=ctypes.RTLD_GLOBAL)


# How the names of MPI libraries begin.
_MPI = ("libmpi.so", "libmpich.so", "libmpi_abi.so", "libmpi_cray.so", "libmpi_gnu")


def _loaded():
    """The names of the files that this process has mapped."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = [line.split(maxsplit=5)[5].strip() for line in maps if len(line.split(maxsplit=5)) == 6]
    return {path.rpartition("/")[2] for path in paths}
