"""Writes a distributed array with PETSc's binary viewer through MPI-IO, and reads it back."""
import sys

import petsc4py

petsc4py.init()
from petsc4py import PETSc

grid = PETSc.DMDA().create([48, 40, 32], dof=3, stencil_width=1)
vector = grid.createGlobalVec()
first, last = vector.getOwnershipRange()
vector.setValues(range(first, last), [float(index % 1009) for index in range(first, last)])
vector.assemble()
viewer = PETSc.Viewer().createMPIIO(sys.argv[1], "w")
vector.view(viewer)
viewer.destroy()

again = grid.createGlobalVec()
viewer = PETSc.Viewer().createMPIIO(sys.argv[1], "r")
again.load(viewer)
viewer.destroy()
again.axpy(-1.0, vector)
assert again.norm() == 0.0
