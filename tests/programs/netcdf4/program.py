"""Writes and reads a file of NetCDF-4 with netCDF4, collectively: contiguous, in chunks, compressed, and records."""
import sys

import netCDF4
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rows, columns = 64, 96
own = numpy.s_[rows * world.rank : rows * (world.rank + 1)]
mine = (numpy.arange(rows * columns, dtype="f8") + 1e6 * world.rank).reshape(rows, columns)
variables = {
    "plain": {"contiguous": True},
    "chunked": {"chunksizes": (48, 32)},
    "packed": {"chunksizes": (64, 96), "zlib": True},
}
with netCDF4.Dataset(sys.argv[1], "w", parallel=True, comm=world, info=MPI.Info()) as file:
    file.createDimension("row", rows * world.size)
    file.createDimension("column", columns)
    file.createDimension("time", None)
    for name, options in variables.items():
        variable = file.createVariable(name, "f8", ("row", "column"), **options)
        variable.set_collective(True)
        variable[own] = mine
    records = file.createVariable("records", "f8", ("time", "row", "column"))
    records.set_collective(True)
    for time in range(2):
        records[time, own] = mine + time
with netCDF4.Dataset(sys.argv[1], "r", parallel=True, comm=world, info=MPI.Info()) as file:
    for name in [*variables, "records"]:
        file[name].set_collective(True)
    for name in variables:
        assert (file[name][own] == mine).all(), name
    for time in range(2):
        assert (file["records"][time, own] == mine + time).all(), f"record {time}"
