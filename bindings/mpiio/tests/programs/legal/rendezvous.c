/* rendezvous FILE ROUNDS: rank 0 posts a receive of a long message and enters a collective call; rank 1 enters after its send of that message has ended. A
 * blocking call lets messages of its rank progress while it waits for others (MPI 4.1, section 3.7.4), so all ends. Three ranks or more. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONG = 3000000 };

int main(int argc, char **argv)
{
    int rank, rounds = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *text = calloc(1, LONG), own = (char)rank;
    MPI_File file;
    MPI_Status status;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, rank, &own, 1, MPI_BYTE, &status);
    for (int round = 0; round < rounds; round++) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (rank == 0) MPI_Irecv(text, LONG, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        if (rank == 1) MPI_Send(text, LONG, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        switch (round % 3) {
        case 0: MPI_File_write_at_all(file, rank, &own, 1, MPI_BYTE, &status); break;
        case 1: MPI_File_sync(file); break;
        case 2:
            MPI_File_close(&file);
            MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
            MPI_File_write_at_all(file, rank, &own, 1, MPI_BYTE, &status);
        }
        MPI_Wait(&request, &status);
    }
    MPI_File_close(&file);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
