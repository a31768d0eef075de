"""h5py: each rank writes a block of columns of a dataset; independent, or with dataset.collective."""
import sys
from mpi4py import MPI
import h5py
import numpy as np
world = MPI.COMM_WORLD
name, how, rows, columns = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
own = np.s_[:, world.rank * columns:(world.rank + 1) * columns]
block = np.full((rows, columns), world.rank, dtype="f8")
with h5py.File(name, "w", driver="mpio", comm=world) as f:
    d = f.create_dataset("d", (rows, columns * world.size), dtype="f8")
    world.Barrier()
    start = MPI.Wtime()
    if how == "collective":
        with d.collective:
            d[own] = block
    else:
        d[own] = block
    took = world.reduce(MPI.Wtime() - start, op=MPI.MAX)
    if world.rank == 0:
        print(f"write time: {took:.6f} s")
