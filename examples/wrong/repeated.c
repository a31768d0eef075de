/* Reads by a view that has places twice: the ints 0 to 2 and 2 to 4 of every 8, as the two sides of a cell share a point. Only a file that is
 * opened for writing must have no such view (MPI 4.1, 14.1.1 and 14.3).   repeated FILE */
#include <mpi.h>
#include <stdio.h>

enum { INTS = 24, TILE = 8, ROOM = 64 };

int main(int argc, char **argv)
{
    int rank, error, is_wrong = 0, lengths[] = {3, 3}, places[] = {0, 2}, data[INTS] = {0};
    MPI_File file;
    MPI_Datatype sides, tile;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        FILE *stream = fopen(argv[1], "w");
        for (int i = 0; i < ROOM; i++)
            fwrite(&i, sizeof i, 1, stream);
        fclose(stream);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    MPI_Type_indexed(2, lengths, places, MPI_INT, &sides);
    MPI_Type_create_resized(sides, 0, TILE * sizeof(int), &tile);
    MPI_Type_commit(&tile);
    error = MPI_File_set_view(file, 0, MPI_INT, tile, "native", MPI_INFO_NULL);
    MPI_File_read_at_all(file, 0, data, INTS, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Type_free(&sides);
    MPI_Type_free(&tile);
    MPI_File_close(&file);

    if (rank == 0) {
        is_wrong = error != MPI_SUCCESS;
        if (is_wrong)
            puts("wrong: MPI_File_set_view refuses the view");
        for (int i = 0; i < INTS && !is_wrong; i++) {
            int expected = i / 6 * TILE + places[i % 6 / 3] + i % 3;
            is_wrong = data[i] != expected;
            if (is_wrong)
                printf("wrong: int %d of memory is %d, expected %d\n", i, data[i], expected);
        }
        if (!is_wrong)
            puts("right");
    }
    MPI_Finalize();
    return is_wrong;
}
