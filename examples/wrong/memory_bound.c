/* Reads into the ints 1 and 3 of every 4 of memory. The memory type has its lower bound at int 1. A lower bound moves no data (MPI 4.1,
 * 5.1.7), so the call changes 8 ints of the buffer, and none past its end.   memory_bound FILE */
#include <mpi.h>
#include <stdio.h>

enum { TILES = 4, TILE = 4, ROOM = TILES * TILE, GUARD = 4, SOURCE = 2 * TILES };

int main(int argc, char **argv)
{
    int rank, is_wrong = 0, lengths[] = {1, 1}, places[] = {1, 3}, source[SOURCE], memory[ROOM + GUARD];
    MPI_File file;
    MPI_Datatype pair, tile, view;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    /* The ranks have the ints of the file in turn. */
    MPI_Type_vector(SOURCE, 1, 2, MPI_INT, &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(file, rank * sizeof(int), MPI_INT, view, "native", MPI_INFO_NULL);
    for (int i = 0; i < SOURCE; i++)
        source[i] = 100 * (rank + 1) + i;
    MPI_File_write_at_all(file, 0, source, SOURCE, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);

    MPI_Type_indexed(2, lengths, places, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 1 * sizeof(int), TILE * sizeof(int), &tile);
    MPI_Type_commit(&tile);
    for (int i = 0; i < ROOM + GUARD; i++)
        memory[i] = -1;
    MPI_File_read_at_all(file, 0, memory, TILES, tile, MPI_STATUS_IGNORE);
    MPI_Type_free(&pair);
    MPI_Type_free(&tile);
    MPI_Type_free(&view);
    MPI_File_close(&file);

    if (rank == 0) {
        /* From the last to the first, to name an int past the end of the buffer if there is one. */
        for (int i = ROOM + GUARD - 1; i >= 0 && !is_wrong; i--) {
            int expected = i < ROOM && i % 2 ? source[i / 2] : -1;
            is_wrong = memory[i] != expected;
            if (is_wrong)
                printf("wrong: int %d of a buffer of %d ints is %d, expected %d\n", i, ROOM, memory[i], expected);
        }
        if (!is_wrong)
            puts("right");
    }
    MPI_Finalize();
    return is_wrong;
}
