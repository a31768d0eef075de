/* Many small independent writes, and a few large ones. independent SMALL: each rank writes SMALL pieces of 4096 bytes. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_File file;
    int rank, ranks, i, small = atoi(argv[1]);
    char *bytes = calloc(2 << 20, 1);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (i = 0; i < small; i++)
        MPI_File_write_at(file, 4096L * (rank + (long)ranks * i), bytes, 4096, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 0, bytes, 2 << 20, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
    free(bytes);
    return 0;
}
