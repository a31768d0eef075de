/* How a datatype was made, in numbers that are the same with every MPI library. */
#include <mpi.h>
