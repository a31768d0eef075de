"""Checks for ReFrame: a program with and without Tributary. Its bytes are verified, and its speed is a figure of performance.

    reframe --checkpath tributary_checks.py --config-file SITE.py --system SYSTEM:PARTITION --run

`trib` must be found (`module load tributary`), or `-S trib=PATH` names it. `-S num_tasks=64` sets the number of ranks, `-S folder=PATH`
the folder of the files. The launcher of the partition starts MPI programs; `trib run` knows those of its manual.
"""
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, performance_function, run_after, run_before, sanity_function, variable


class WithAndWithout(rfm.RegressionTestPlugin):
    """A program as it is (`mpi`), and through the library (`tributary`)."""

    through = parameter(["mpi", "tributary"])
    trib = variable(str, value="trib")
    folder = variable(str, value=".")

    @run_after("init")
    def valid_everywhere(self):
        self.valid_systems = ["*"]
        self.valid_prog_environs = ["*"]
        self.num_tasks = self.num_tasks or 4
        self.time_limit = "10m"
        self.tags = {"io", "tributary"}

    @run_after("setup")
    def run_through_the_library(self):
        if self.through == "tributary":
            self.job.launcher.modifier = self.trib
            self.job.launcher.modifier_options = ["run", "--report", "--"]

    def is_accelerated(self):
        """True without the library, or if its report has collective writes of the program."""
        if self.through == "mpi":
            return True
        return sn.assert_found(r"accelerated\s+\d+ write\w*_all", self.stderr, "the report has no collective write")

    @performance_function("MiB/s")
    def write_speed(self):
        return sn.extractsingle(self.write_pattern, self.stdout, 1, float)


@rfm.simple_test
class IorCheck(rfm.RunOnlyRegressionTest, WithAndWithout):
    """IOR: every rank writes each sixteenth piece of 64 KiB with collective calls, and reads them back and compares them."""

    ior = variable(str, value="ior")
    descr = "IOR, 64 KiB pieces in turns, collective"
    write_pattern = r"^write\s+(\S+)"

    @run_before("run")
    def pieces_in_turns(self):
        self.executable = self.ior
        self.executable_opts = f"-a MPIIO -c -w -W -r -R -t 64k -b 64k -s 64 -o {self.folder}/ior".split()

    @sanity_function
    def bytes_are_right(self):
        return sn.all([
            sn.assert_found(r"^read\s", self.stdout),
            sn.assert_not_found(r"(?i)incorrect data|data check error", self.stdout),
            self.is_accelerated(),
        ])


@rfm.simple_test
class PnetcdfCheck(rfm.RegressionTest, WithAndWithout):
    """A program of PnetCDF: ranks write columns of records with collective calls, and read and compare them."""

    descr = "PnetCDF, columns of records, collective"
    sourcepath = "columns.c"
    build_system = "SingleSource"
    cc = variable(str, value="mpicc")
    libraries = variable(str, value="-lpnetcdf")
    write_pattern = r"^write (\S+) MiB/s"

    @run_before("compile")
    def with_pnetcdf(self):
        self.build_system.cc = self.cc
        self.build_system.ldflags = self.libraries.split()

    @run_before("run")
    def into_folder(self):
        self.executable_opts = [f"{self.folder}/columns.nc"]

    @sanity_function
    def bytes_are_right(self):
        return sn.all([sn.assert_found(r"^verified$", self.stdout), self.is_accelerated()])
