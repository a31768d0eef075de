/* A library to preload that counts calls, as Darshan does: it has both names of each function, and finds the next one by
 * dlsym(RTLD_NEXT). Compiled with -shared. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int opens, writes, reads, rank = -1;

#define WRAP(count, name, parameters, arguments)                                        \
    int MPI_##name parameters                                                           \
    {                                                                                   \
        static int(*next) parameters;                                                   \
        if (!next && !(next = (int(*) parameters)dlsym(RTLD_NEXT, "MPI_" #name)))       \
            abort();                                                                    \
        int code = next arguments;                                                      \
        count += code == MPI_SUCCESS;                                                   \
        return code;                                                                    \
    }                                                                                   \
    int PMPI_##name parameters __attribute__((alias("MPI_" #name)));

WRAP(opens, File_open, (MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *file), (comm, name, amode, info, file))
WRAP(writes, File_write_at_all, (MPI_File file, MPI_Offset at, const void *data, int n, MPI_Datatype type, MPI_Status *status),
    (file, at, data, n, type, status))
WRAP(reads, File_read_at_all, (MPI_File file, MPI_Offset at, void *data, int n, MPI_Datatype type, MPI_Status *status),
    (file, at, data, n, type, status))

int MPI_Finalize(void)
{
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    dprintf(2, "counting: rank %d: %d opens, %d writes, %d reads\n", rank, opens, writes, reads);
    return PMPI_Finalize();
}
