/* Ranks whose file types hold no data but have an extent, which write and read nothing at their pointers: nothing PATH. */
#include "program.h"

static void write_and_read(MPI_File file, MPI_Datatype view, const char *what, int count)
{
    int written[64], read[64] = {0};
    MPI_Status status;
    for (int i = 0; i < 64; i++)
        written[i] = value(rank, i);
    MUST(MPI_File_set_view(file, 64, MPI_INT, view, "native", MPI_INFO_NULL));
    say("%s, write: %s", what, class_of(MPI_File_write_all(file, written, count, MPI_INT, &status)));
    say(", %lld bytes\n", bytes_of(&status));
    MUST(MPI_File_seek(file, 0, MPI_SEEK_SET));
    say("%s, read: %s", what, class_of(MPI_File_read_all(file, read, count, MPI_INT, &status)));
    say(", %lld bytes, %s\n", bytes_of(&status), memcmp(read, written, count * sizeof *read) ? "others" : "the same");
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Datatype darray, none, resized;
    int blocks, extent;
    start(&argc, &argv);
    /* One block fewer than there are ranks: the last rank has none. */
    int size = 16 * (ranks - 1), distribution = MPI_DISTRIBUTE_BLOCK, argument = 16, grid = ranks;
    MUST(MPI_Type_create_darray(ranks, rank, 1, &size, &distribution, &argument, &grid, MPI_ORDER_C, MPI_INT, &darray));
    MUST(MPI_Type_commit(&darray));
    MUST(MPI_Type_size(darray, &blocks));
    MUST(MPI_Type_contiguous(rank == 0 ? 8 : 0, MPI_INT, &none));
    MUST(MPI_Type_create_resized(none, 0, 128, &resized));
    MUST(MPI_Type_commit(&resized));
    MUST(MPI_Type_size(resized, &extent));
    MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    write_and_read(file, darray, "darray", blocks / 4);
    write_and_read(file, resized, "resized", extent / 4);
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&darray));
    MUST(MPI_Type_free(&none));
    MUST(MPI_Type_free(&resized));
    finish();
    return 0;
}
