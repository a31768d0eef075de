/* Writes 8 bytes a rank in each of CALLS collective calls, and prints the seconds that they took: moving CALLS FILE. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments)
{
    int calls = count > 2 ? atoi(arguments[1]) : 0, rank, ranks;
    double value = 1, begin;
    MPI_File file;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    begin = MPI_Wtime();
    if (MPI_File_open(MPI_COMM_WORLD, arguments[2], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file))
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int call = 0; call < calls; call++) {
        MPI_Offset offset = 8 * ((MPI_Offset)call * ranks + rank);
        if (MPI_File_write_at_all(file, offset, &value, 8, MPI_BYTE, MPI_STATUS_IGNORE))
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_File_close(&file);
    if (rank == 0)
        printf("wall: %.9f s\n", MPI_Wtime() - begin);
    MPI_Finalize();
    return 0;
}
