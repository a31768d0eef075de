/* Plain MPI-IO, and nothing of Tributary: every rank writes its columns of a matrix, 64 bytes in each of 10,000 rows. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 10000, COLUMNS = 8 };

/* MPI returns errors of files, and ends the program only if it is told to. */
static void check(int error) {
    char words[MPI_MAX_ERROR_STRING];
    int length;
    if (error == MPI_SUCCESS)
        return;
    MPI_Error_string(error, words, &length);
    fprintf(stderr, "columns: %s\n", words);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    static double mine[ROWS][COLUMNS];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            mine[row][column] = row + (rank * COLUMNS + column) / 1000.0;

    int matrix[] = {ROWS, COLUMNS * ranks}, block[] = {ROWS, COLUMNS}, begin[] = {0, COLUMNS * rank};
    MPI_Datatype columns;
    MPI_Type_create_subarray(2, matrix, block, begin, MPI_ORDER_C, MPI_DOUBLE, &columns);
    MPI_Type_commit(&columns);
    MPI_File file;
    const char *path = argc > 1 ? argv[1] : "./columns.bin";
    check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    check(MPI_File_set_view(file, 0, MPI_DOUBLE, columns, "native", MPI_INFO_NULL));
    check(MPI_File_write_all(file, mine, ROWS * COLUMNS, MPI_DOUBLE, MPI_STATUS_IGNORE));
    check(MPI_File_close(&file));
    MPI_Type_free(&columns);
    if (rank == 0)
        printf("%s: %d x %d\n", path, ROWS, COLUMNS * ranks);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
