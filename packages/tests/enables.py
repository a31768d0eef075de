"""Runs writes.py on the library, which this script enables itself: enables.py WRITES FILE, under mpiexec."""

import runpy
import sys

import tributary_io

tributary_io.enable()
tributary_io.enable()
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
# Too late in a process without the library.
del sys.modules["tributary_io"]
import tributary_io as again  # noqa: E402

again._loaded = lambda: {"libmpi.so.12"}
try:
    again.enable()
except RuntimeError as error:
    assert "libmpi.so.12 is loaded already; call tributary_io.enable() before" in str(error), error
else:
    raise SystemExit("no error where MPI is loaded already")
