/* A collective write through a view, and the same read back. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define RECORDS 500
#define INTS 8

static void check(int code, const char *call) {
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "%s: code %d\n", call, code);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

int main(int argc, char **argv) {
    int rank, ranks, count, *data = malloc(RECORDS * INTS * sizeof(int));
    MPI_Datatype record;
    MPI_File file;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
    MPI_Type_vector(RECORDS, INTS, INTS * ranks, MPI_INT, &record);
    MPI_Type_commit(&record);
    check(MPI_File_set_view(file, (MPI_Offset)rank * INTS * sizeof(int), MPI_INT, record, "native", MPI_INFO_NULL), "set_view");
    for (int i = 0; i < RECORDS * INTS; i++)
        data[i] = rank * 1000000 + i;
    check(MPI_File_write_all(file, data, RECORDS * INTS, MPI_INT, &status), "write_all");
    MPI_Get_count(&status, MPI_INT, &count);
    if (count != RECORDS * INTS)
        printf("rank %d: %d\n", rank, count);
    for (int i = 0; i < RECORDS * INTS; i++)
        data[i] = -1;
    check(MPI_File_read_at_all(file, 0, data, RECORDS * INTS, MPI_INT, &status), "read_at_all");
    MPI_Get_count(&status, MPI_INT, &count);
    for (int i = 0; i < RECORDS * INTS; i++)
        if (data[i] != rank * 1000000 + i) { printf("rank %d: int %d is %d\n", rank, i, data[i]); break; }
    printf("rank %d of %d: %d ints\n", rank, ranks, count);
    MPI_File_close(&file);
    MPI_Type_free(&record);
    MPI_Finalize();
    return 0;
}
