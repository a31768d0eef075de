/* Opens a file and writes it, where not all ranks may have the library: mixed FILE LATE, where rank 1 opens the file LATE seconds
 * after the others. Without the library, or with it on all ranks, it prints `ok`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        sleep(atoi(argv[2]));
    int code = MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (code == MPI_SUCCESS)
        code = MPI_File_write_at_all(file, rank * sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS)
        code = MPI_File_close(&file);
    if (rank == 0)
        printf(code == MPI_SUCCESS ? "ok\n" : "wrong\n");
    MPI_Finalize();
    return code != MPI_SUCCESS;
}
