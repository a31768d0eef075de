/* A library that agrees in MPI_File_open as versions of this library before 0.2 did: by one MPI_Allreduce of 24 bytes, without
 * its version. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>

int MPI_File_open(MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *file)
{
    uint64_t own[3] = {0xffff, 0, 1 | 4 | 8 | 16}, all[3];
    int (*next)(MPI_Comm, const char *, int, MPI_Info, MPI_File *) =
        (int (*)(MPI_Comm, const char *, int, MPI_Info, MPI_File *))dlsym(RTLD_NEXT, "MPI_File_open");
    MPI_Comm copy;
    MPI_Allreduce(own, all, 3, MPI_UINT64_T, MPI_BAND, comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    own[0] = own[1] = 0, own[2] = MPI_Comm_dup(comm, &copy) == MPI_SUCCESS;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Allreduce(own, all, 3, MPI_UINT64_T, MPI_BAND, comm);
    return next(comm, name, amode, info, file);
}
