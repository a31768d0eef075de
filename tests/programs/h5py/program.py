"""Writes and reads a file of HDF5 with h5py, collectively: contiguous, in chunks, compressed, and with rows in turns."""
import sys

import h5py
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rows, columns = 64 * world.size, 96
blocks = numpy.s_[64 * world.rank : 64 * (world.rank + 1)]
turns = numpy.s_[world.rank :: world.size]
datasets = {
    "plain": (blocks, {}),
    "chunked": (blocks, {"chunks": (48, 32)}),
    "packed": (blocks, {"chunks": (64, 96), "compression": "gzip"}),
    "turns": (turns, {}),
}
mine = (numpy.arange(64 * columns, dtype="f8") + 1e6 * world.rank).reshape(64, columns)
with h5py.File(sys.argv[1], "w", driver="mpio", comm=world) as file:
    for name, (own, options) in datasets.items():
        data = file.create_dataset(name, (rows, columns), "f8", **options)
        with data.collective:
            data[own] = mine
again = numpy.empty_like(mine)
with h5py.File(sys.argv[1], "r", driver="mpio", comm=world) as file:
    for name, (own, _) in datasets.items():
        data = file[name]
        # h5py 3.7 reads `data[...]` independently, also here; read_direct reads as asked.
        with data.collective:
            data.read_direct(again, source_sel=own)
        assert (again == mine).all(), name
