"""Looks at what a run of writes.py left, with the modules of the wheel: looks.py RANKS CAPTURE STANDARD-ERROR DATA."""

import subprocess
import sys

import numpy
import tributary_io
from tributary_io import captures, reports

ROWS, COLUMNS = 50, 4
ranks = int(sys.argv[1])

(report,) = reports.read(sys.argv[3])
assert report["version"] == tributary_io.__version__ and report["file"].endswith(sys.argv[4]), report
table = reports.table([report])
calls = {row["function"]: (row["calls"], row["bytes"], row["passed"]) for row in table}
size = 8 * ROWS * COLUMNS * ranks
assert calls == {name: (1, size, 0) for name in ("write_all", "write_at_all", "read_at_all")}, calls

capture = captures.Capture(sys.argv[2])
table = capture.table()
assert len(table) == 3 * ranks and table["bytes"].sum() == 3 * size and not table["failed"].any(), table
assert (table["read"] == (table["call"] == 2)).all() and (table["took_ns"] > 0).all(), table
width = 8 * COLUMNS
for rank in range(ranks):
    for call, base in enumerate([0, size, 0]):
        expected = [(base + row * width * ranks + rank * width, width) for row in range(ROWS)]
        found = capture.extents(rank, call)
        assert found.shape == (ROWS, 2) and (found == numpy.array(expected)).all(), (rank, call, found)

assert repr(capture) == f"<Capture of {capture.header['file']}: {ranks} ranks, 3 calls>", repr(capture)
for rank, call, said in [(ranks, 0, f"rank {ranks}; allowed: 0 to {ranks - 1}"), (0, 3, "call 3; allowed: 0 to 2")]:
    try:
        capture.extents(rank, call)
    except IndexError as error:
        assert str(error) == said, error
    else:
        raise SystemExit(f"no error: {said}")

# The command line of the wheel says the same of the capture, and has the wheel's version.
trib = [sys.executable, "-m", "tributary_io"]
said = subprocess.run([*trib, "capture", "export", sys.argv[2], "--call", "1"], stdout=subprocess.PIPE, check=True)
rows = [line for line in said.stdout.decode().splitlines() if not line.startswith(("#", "rank"))]
assert len(rows) == ROWS * ranks, said.stdout
said = subprocess.run([*trib, "--version"], stdout=subprocess.PIPE, check=True)
assert said.stdout.decode() == f"trib {tributary_io.__version__}\n", said.stdout
assert subprocess.run([*trib, "no-such-command"], stderr=subprocess.DEVNULL).returncode == 2
print(f"a report and a capture of {ranks} ranks are as written")
