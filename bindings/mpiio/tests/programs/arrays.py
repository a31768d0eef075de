"""A user's program in mpi4py and NumPy: a global array in blocks of columns, written and read through subarray views."""

import numpy as np
from mpi4py import MPI

ROWS, COLUMNS = 120, 50  # of a rank

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
view = MPI.DOUBLE.Create_subarray([ROWS, COLUMNS * ranks], [ROWS, COLUMNS], [0, COLUMNS * rank])
view.Commit()


def block(step):
    rows, columns = np.meshgrid(np.arange(ROWS), np.arange(COLUMNS), indexing="ij")
    return (1 + step + 10.0 * rank + 100.0 * columns + rows / 1024.0).astype("d")


file = MPI.File.Open(comm, "arrays", MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Set_view(0, MPI.DOUBLE, view)
status = MPI.Status()
for step in range(2):
    file.Write_all(block(step), status)
    assert status.Get_count(MPI.DOUBLE) == ROWS * COLUMNS
request = file.Iwrite_all(block(2))
request.Wait(status)
assert status.Get_count(MPI.DOUBLE) == ROWS * COLUMNS
assert file.Get_position() == 3 * ROWS * COLUMNS
file.Write_at_all_begin(3 * ROWS * COLUMNS, block(3))
file.Write_at_all_end(block(3))

# Every second row of an array in memory, as its user sees it.
strided = np.zeros((2 * ROWS, COLUMNS), dtype="d")
rows = MPI.DOUBLE.Create_vector(ROWS, COLUMNS, 2 * COLUMNS).Commit()
file.Sync()
file.Seek(0)
for step in range(4):
    file.Read_all([strided, 1, rows], status)
    assert np.array_equal(strided[::2], block(step))
    assert not strided[1::2].any()
file.Close()
rows.Free()
view.Free()
sums = comm.gather(float(block(3).sum()))
if rank == 0:
    print("sums", sums)
