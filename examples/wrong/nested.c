/* Writes by a nested view: a struct of three lists of subarrays, each the middle int of three. The last list is empty, which a program has
 * where one of several variables has no elements. A block of length 0 adds nothing to a type (MPI 4.1, 5.1.2).   nested FILE */
#include <mpi.h>
#include <stdio.h>

enum { INTS = 12, ELEMENT = 3, TILE = 3 * ELEMENT, ROOM = 64 };

int main(int argc, char **argv)
{
    int rank, is_wrong = 0, of = ELEMENT, one = 1, start = 1, lengths[] = {1, 2, 0}, data[INTS], found[ROOM] = {0};
    MPI_Aint places[] = {0, ELEMENT * sizeof(int), TILE * sizeof(int)};
    MPI_File file;
    MPI_Datatype middle, all, tile;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_create_subarray(1, &of, &one, &start, MPI_ORDER_C, MPI_INT, &middle);
    MPI_Type_create_struct(3, lengths, places, (MPI_Datatype[]){middle, middle, middle}, &all);
    MPI_Type_create_resized(all, 0, TILE * sizeof(int), &tile);
    MPI_Type_commit(&tile);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    /* Each rank has a part of the file of its own. */
    MPI_File_set_view(file, rank * ROOM * sizeof(int), MPI_INT, tile, "native", MPI_INFO_NULL);
    for (int i = 0; i < INTS; i++)
        data[i] = 100 * (rank + 1) + i;
    MPI_File_write_at_all(file, 0, data, INTS, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Type_free(&middle);
    MPI_Type_free(&all);
    MPI_Type_free(&tile);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) {
        FILE *stream = fopen(argv[1], "r");
        is_wrong = fread(found, sizeof(int), ROOM, stream) == 0;
        fclose(stream);
        for (int i = 0; i < INTS && !is_wrong; i++) {
            int at = i * ELEMENT + start;
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
