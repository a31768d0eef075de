/* What is macros in the mpi.h of one MPI library or the other. */
#include <mpi.h>
#include <stddef.h>

/* Why `comm` cannot open a file; NULL when nothing is to be said against it. */
const char *tributary_gio_objection(MPI_Comm comm) {
    int flag = 0;
    if (MPI_Initialized(&flag) != MPI_SUCCESS || !flag)
        return "MPI is not initialised";
    if (MPI_Finalized(&flag) != MPI_SUCCESS || flag)
        return "MPI is finalised";
    if (comm == MPI_COMM_NULL)
        return "MPI_COMM_NULL";
    if (MPI_Comm_test_inter(comm, &flag) != MPI_SUCCESS)
        return "not a communicator";
    return flag ? "an intercommunicator" : NULL;
}

/* This process and no other. */
MPI_Comm tributary_gio_self(void) {
    return MPI_COMM_SELF;
}

/* How many processes the program has. */
int tributary_gio_processes(void) {
    int count = 1;
    return MPI_Comm_size(MPI_COMM_WORLD, &count) == MPI_SUCCESS ? count : 1;
}
