"""Every rank writes columns of a matrix in two collective calls and reads them back: writes.py FILE, under mpiexec."""

import sys

import numpy
from mpi4py import MPI

ROWS, COLUMNS = 50, 4

world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
columns = MPI.DOUBLE.Create_vector(ROWS, COLUMNS, COLUMNS * ranks)
columns = columns.Create_resized(0, 8 * ROWS * COLUMNS * ranks).Commit()
file = MPI.File.Open(world, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Set_view(rank * COLUMNS * 8, MPI.DOUBLE, columns)
own = numpy.arange(ROWS * COLUMNS, dtype="d") + 1000 * rank
file.Write_all(own)
file.Write_at_all(ROWS * COLUMNS, own + 0.5)
found = numpy.empty_like(own)
file.Read_at_all(0, found)
file.Close()
assert (found == own).all()
