"""Writes a mesh and a function as XDMF with dolfinx (HDF5), reads the mesh back, and prints a digest of what the file says.

The order of points depends on how the mesh is divided, which differs from run to run: cells are compared by the coordinates and
values of their corners."""
import hashlib
import sys

import h5py
import numpy
from dolfinx import fem, io, mesh
from mpi4py import MPI

world = MPI.COMM_WORLD
cube = mesh.create_unit_cube(world, 12, 12, 12)
function = fem.Function(fem.FunctionSpace(cube, ("CG", 1)))
function.name = "f"
function.interpolate(lambda x: x[0] + 10 * x[1] + 100 * x[2])
with io.XDMFFile(world, sys.argv[1] + ".xdmf", "w") as file:
    file.write_mesh(cube)
    file.write_function(function)
with io.XDMFFile(world, sys.argv[1] + ".xdmf", "r") as file:
    again = file.read_mesh()
assert again.topology.index_map(3).size_global == 6 * 12**3
if world.rank == 0:
    with h5py.File(sys.argv[1] + ".h5", "r") as file:
        points, cells = file["Mesh/mesh/geometry"][:], file["Mesh/mesh/topology"][:]
        corners = numpy.hstack([points, file["Function/f/0"][:]]).round(12)
        cells = sorted(sorted(map(tuple, corners[cell].tolist())) for cell in cells)
        print(len(cells), hashlib.sha256(repr(cells).encode()).hexdigest())
