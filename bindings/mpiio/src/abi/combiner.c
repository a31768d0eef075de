/* How a datatype was made, in numbers that are the same with every MPI library: those of the enumeration Combiner in
 * types/combiner.rs. */
#include <stddef.h>

#include <mpi.h>

const MPI_Datatype trib_short_int = MPI_SHORT_INT;
const int trib_order_fortran = MPI_ORDER_FORTRAN;
const int trib_distribute_block = MPI_DISTRIBUTE_BLOCK;
const int trib_distribute_cyclic = MPI_DISTRIBUTE_CYCLIC;
const int trib_distribute_default = MPI_DISTRIBUTE_DFLT_DARG;

/* Where the int of an MPI_SHORT_INT lies. */
struct short_int {
    short value;
    int index;
};
const long trib_short_int_gap[2] = {sizeof(short), offsetof(struct short_int, index)};

int trib_combiner(int combiner) {
    switch (combiner) {
    case MPI_COMBINER_NAMED:
        return 0;
    case MPI_COMBINER_DUP:
        return 1;
    case MPI_COMBINER_CONTIGUOUS:
        return 2;
    case MPI_COMBINER_VECTOR:
        return 3;
    case MPI_COMBINER_HVECTOR:
        return 4;
    case MPI_COMBINER_INDEXED:
        return 5;
    case MPI_COMBINER_HINDEXED:
        return 6;
    case MPI_COMBINER_INDEXED_BLOCK:
        return 7;
    case MPI_COMBINER_HINDEXED_BLOCK:
        return 8;
    case MPI_COMBINER_STRUCT:
        return 9;
    case MPI_COMBINER_SUBARRAY:
        return 10;
    case MPI_COMBINER_DARRAY:
        return 11;
    case MPI_COMBINER_RESIZED:
        return 12;
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
        return 13;
    default:
        return -1;
    }
}
