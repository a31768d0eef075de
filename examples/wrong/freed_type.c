/* Starts a nonblocking collective write of every second int of memory, frees the datatype, and makes another one before it waits. A type that
 * was freed stays usable for calls in flight (MPI 4.1, 5.1.9).   freed_type FILE */
#include <mpi.h>
#include <stdio.h>

enum { INTS = 1000 };

int main(int argc, char **argv)
{
    int rank, ranks, is_wrong = 0;
    static int data[2 * INTS];
    MPI_File file;
    MPI_Datatype every_second, other, turns;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_Type_vector(INTS, 1, ranks, MPI_INT, &turns);
    MPI_Type_commit(&turns);
    MPI_File_set_view(file, rank * sizeof(int), MPI_INT, turns, "native", MPI_INFO_NULL);
    for (int i = 0; i < 2 * INTS; i++)
        data[i] = 100000 * (rank + 1) + i;

    MPI_Type_vector(INTS, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    MPI_File_iwrite_at_all(file, 0, data, 1, every_second, &request);
    MPI_Type_free(&every_second);
    MPI_Type_vector(INTS / 2, 2, 3, MPI_INT, &other);
    MPI_Type_commit(&other);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    MPI_Type_free(&other);
    MPI_Type_free(&turns);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) {
        FILE *stream = fopen(argv[1], "r");
        for (int at = 0; at < INTS * ranks && !is_wrong; at++) {
            int found = -1, expected = 100000 * (at % ranks + 1) + 2 * (at / ranks);
            is_wrong = fread(&found, sizeof found, 1, stream) != 1 || found != expected;
            if (is_wrong)
                printf("wrong: int %d is %d, expected %d\n", at, found, expected);
        }
        fclose(stream);
        if (!is_wrong)
            puts("right");
    }
    MPI_Finalize();
    return is_wrong;
}
