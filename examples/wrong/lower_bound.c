/* Writes by a view whose file type has a lower bound above 0: the ints 2 and 5 of every 8, with the lower bound at int 1. A lower bound moves
 * no data: the typemap says where they are (MPI 4.1, 5.1.7 and 14.1.1).   lower_bound FILE */
#include <mpi.h>
#include <stdio.h>

enum { INTS = 12, TILE = 8, ROOM = 64 };

int main(int argc, char **argv)
{
    int rank, is_wrong = 0, lengths[] = {1, 1}, places[] = {2, 5}, data[INTS], found[ROOM] = {0};
    MPI_File file;
    MPI_Datatype pair, tile;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_Type_indexed(2, lengths, places, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 1 * sizeof(int), TILE * sizeof(int), &tile);
    MPI_Type_commit(&tile);
    /* Each rank has a part of the file of its own. */
    MPI_File_set_view(file, rank * ROOM * sizeof(int), MPI_INT, tile, "native", MPI_INFO_NULL);
    for (int i = 0; i < INTS; i++)
        data[i] = 100 * (rank + 1) + i;
    MPI_File_write_at_all(file, 0, data, INTS, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Type_free(&pair);
    MPI_Type_free(&tile);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) {
        FILE *stream = fopen(argv[1], "r");
        is_wrong = fread(found, sizeof(int), ROOM, stream) == 0;
        fclose(stream);
        for (int i = 0; i < INTS && !is_wrong; i++) {
            int at = i / 2 * TILE + places[i % 2];
            is_wrong = found[at] != data[i];
            if (is_wrong)
                printf("wrong: int %d is %d, expected %d\n", at, found[at], data[i]);
        }
        if (!is_wrong)
            puts("right");
    }
    MPI_Finalize();
    return is_wrong;
}
