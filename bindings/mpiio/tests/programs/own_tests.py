"""mpi4py's own tests of files: own_tests.py FOLDER MODULE... prints what became of each test, rank by rank."""

import io
import sys
import unittest


class Outcomes(unittest.TestResult):
    """Each test by name, with what became of it."""

    def __init__(self):
        super().__init__()
        self.all = []

    def addSuccess(self, test):
        self.all.append(f"{test.id()}: ok")

    def addSkip(self, test, reason):
        self.all.append(f"{test.id()}: skipped, {reason}")

    def addError(self, test, error):
        self.all.append(f"{test.id()}: ERROR {self._exc_info_to_string(error, test)}")

    def addFailure(self, test, error):
        self.all.append(f"{test.id()}: FAILED {self._exc_info_to_string(error, test)}")


sys.path.insert(0, sys.argv[1])
from mpi4py import MPI  # noqa: E402

outcomes = Outcomes()
unittest.defaultTestLoader.loadTestsFromNames(sys.argv[2:]).run(outcomes)
text = io.StringIO()
for line in outcomes.all:
    print(f"rank {MPI.COMM_WORLD.Get_rank()}: {line}", file=text)
texts = MPI.COMM_WORLD.gather(text.getvalue())
if texts is not None:
    sys.stdout.write("".join(texts))
