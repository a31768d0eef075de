/* Four ranks write two matrices of 8 x 3 ints in Fortran's order, one after the other. Each rank has a part by MPI_Type_create_darray:
 * block-cyclic in both dimensions, in blocks of 2, on 2 x 2 ranks (MPI 4.1, 5.1.4).   darray FILE */
#include <mpi.h>
#include <stdio.h>

enum { ROWS = 8, COLUMNS = 3, MATRIX = ROWS * COLUMNS, INTS = 2 * MATRIX };

int main(int argc, char **argv)
{
    int rank, ranks, size, mine = 0, is_wrong = 0, data[INTS];
    int sizes[] = {ROWS, COLUMNS}, blocks[] = {2, 2}, grid[] = {2, 2}, ways[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
    MPI_File file;
    MPI_Datatype part;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 4) {
        puts("wrong: run it on 4 ranks");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Type_create_darray(ranks, rank, 2, sizes, ways, blocks, grid, MPI_ORDER_FORTRAN, MPI_INT, &part);
    MPI_Type_commit(&part);
    MPI_Type_size(part, &size);
    /* The value of each int is its place in the file, plus 1. The ranks of the grid are in C's order. */
    for (int at = 0; at < INTS; at++)
        if (at % ROWS / 2 % 2 == rank / 2 && at % MATRIX / ROWS / 2 % 2 == rank % 2)
            data[mine++] = at + 1;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INT, part, "native", MPI_INFO_NULL);
    MPI_File_write_at_all(file, 0, data, 2 * size / (int)sizeof(int), MPI_INT, MPI_STATUS_IGNORE);
    MPI_Type_free(&part);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) {
        FILE *stream = fopen(argv[1], "r");
        for (int at = 0; at < INTS && !is_wrong; at++) {
            int found = -1;
            is_wrong = fread(&found, sizeof found, 1, stream) != 1 || found != at + 1;
            if (is_wrong)
                printf("wrong: int %d is %d, expected %d\n", at, found, at + 1);
        }
        fclose(stream);
        if (!is_wrong)
            puts("right");
    }
    MPI_Finalize();
    return is_wrong;
}
