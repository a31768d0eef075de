/* Rank 0 starts a nonblocking collective write and does something else for a while, in which it makes no call of MPI. The others start
 * the write after rank 0 (otherwise rank 0 could end its part in the start), and wait for it. elsewhere PATH SECONDS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, ranks, data, back = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_File file;
    MPI_Request request;
    data = rank + 1;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (rank != 0)
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_File_iwrite_at_all(file, rank * sizeof data, &data, 1, MPI_INT, &request);
    for (int other = 1; rank == 0 && other < ranks; other++)
        MPI_Send(NULL, 0, MPI_INT, other, 0, MPI_COMM_WORLD);
    if (rank == 0)
        sleep(argc > 2 ? atoi(argv[2]) : 3);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_sync(file), MPI_Barrier(MPI_COMM_WORLD), MPI_File_sync(file);
    MPI_File_read_at_all(file, (rank + 1) % ranks * sizeof data, &back, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    int bad = back != (rank + 1) % ranks + 1, any;
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf(any ? "wrong\n" : "ok\n");
    MPI_Finalize();
    return any;
}
