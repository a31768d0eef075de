"""Tributary: collective file I/O for MPI programs.

| module | holds |
|---|---|
| `tributary_io.captures` | captures (TRIB_CAPTURE) as lists and arrays |
| `tributary_io.reports` | reports (TRIB_REPORT=json) as dictionaries and arrays |

`enable()` enables the library in a script or notebook; `report()` is the report of the last file that was closed. `python -m tributary_io
ARGUMENTS` is `trib ARGUMENTS`.
"""

import ctypes
import json
import os
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


def enable(report=None, hints=None, capture=None):
    """Enables the library in this process, without `trib run` and LD_PRELOAD: for scripts and notebooks.

    Call it before anything loads MPI (mpi4py.MPI, a parallel h5py or netCDF4), on all ranks with the same arguments. Where the library
    is in the process already, only the arguments count, for files that are opened later. Without an argument, the variable counts:

    `report` (TRIB_REPORT): True prints a table for each file that is closed, "json" a line; `report()` returns the last one. False: none.
    `hints` (TRIB_HINTS): a dictionary, or text as `cb_nodes=4; cb_buffer_size=4M`; they override those of the variable.
    `capture` (TRIB_CAPTURE): the folder for captures.

    Raises RuntimeError if MPI is loaded already: the library would not be seen. ValueError for another `report`.
    """
    variables = _variables(report, hints, capture)
    loaded = _loaded()
    if any(name.startswith("libtributary_mpiio.so") for name in loaded):
        os.environ.update(variables)
        return
    early = sorted(name for name in loaded if name.startswith(_MPI))
    if "mpi4py.MPI" in sys.modules or early:
        what = ", ".join(early) or "mpi4py.MPI"
        raise RuntimeError(f"{what} is loaded already; call tributary_io.enable() before the first import that loads MPI")
    os.environ.update(variables)
    # For all that is loaded later: MPI's functions are found in this library first.
    ctypes.CDLL(str(library()), mode=ctypes.RTLD_GLOBAL)


def report():
    """The report of the file that this process has closed last, as a dictionary; None if there is none.

    There is one on the file's first rank, if TRIB_REPORT or `enable(report=...)` asks for reports: the dictionary of TRIB_REPORT=json.
    """
    try:
        text = ctypes.CDLL(None).tributary_mpiio_last_report
    except AttributeError:
        return None
    text.argtypes, text.restype = (ctypes.c_char_p, ctypes.c_size_t), ctypes.c_size_t
    place = ctypes.create_string_buffer(text(None, 0) + 1)
    text(place, len(place))
    return json.loads(place.value.decode()) if place.value else None


def _variables(report, hints, capture):
    """The variables of the environment that stand for the arguments of `enable`."""
    variables = {}
    if report is not None:
        if report not in (True, False, "json"):
            raise ValueError(f"report={report!r}; allowed: True, False, 'json'")
        variables["TRIB_REPORT"] = {True: "1", False: "0"}.get(report, report)
    if hints is not None:
        given = hints if isinstance(hints, str) else ";".join(f"{key}={value}" for key, value in hints.items())
        before = os.environ.get("TRIB_HINTS", "")
        variables["TRIB_HINTS"] = f"{before};{given}" if before.strip() else given
    if capture is not None:
        variables["TRIB_CAPTURE"] = os.path.abspath(capture)
    return variables


# How the names of MPI libraries begin.
_MPI = ("libmpi.so", "libmpich.so", "libmpi_abi.so", "libmpi_cray.so", "libmpi_gnu")


def _loaded():
    """The names of the files that this process has mapped."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = [line.split(maxsplit=5)[5].strip() for line in maps if len(line.split(maxsplit=5)) == 6]
    return {path.rpartition("/")[2] for path in paths}
