/* Ranks that have nothing to write or to read: each in turn, all but one in turn, and all at once; with and without a view. */
#include "program.h"

enum { COUNT = 900 };

static int data[COUNT], back[COUNT];
static MPI_Offset block; /* of the file, in ints */

/* Writes and reads what only those ranks have for which `has` is 1: they say how much came of it. */
static void move(MPI_File file, int has, int at_pointer)
{
    MPI_Status status;
    int count = has ? COUNT : 0;
    for (int i = 0; i < COUNT; i++)
        data[i] = value(rank, block + i), back[i] = -1;
    void *none = count ? data : NULL;
    if (at_pointer) {
        MUST(MPI_File_seek(file, block, MPI_SEEK_SET));
        MUST(MPI_File_write_all(file, none, count, MPI_INT, &status));
    } else {
        MUST(MPI_File_write_at_all(file, block, none, count, MPI_INT, &status));
    }
    say(" %lld", bytes_of(&status));
    settle(file);
    if (at_pointer) {
        MUST(MPI_File_seek(file, block, MPI_SEEK_SET));
        MUST(MPI_File_read_all(file, back, count, MPI_INT, &status));
    } else {
        MUST(MPI_File_read_at_all(file, block, back, count, MPI_INT, &status));
    }
    say(" %lld", bytes_of(&status));
    for (int i = 0; i < COUNT; i++)
        TRUE(back[i] == (i < count ? data[i] : -1));
    block += COUNT;
}

static void through(MPI_File file, const char *what)
{
    say("%s:", what);
    for (int at_pointer = 0; at_pointer < 2; at_pointer++) {
        move(file, 0, at_pointer);
        for (int of = 0; of < ranks; of++) {
            move(file, rank != of, at_pointer);
            move(file, rank == of, at_pointer);
        }
        move(file, 0, at_pointer);
        move(file, 1, at_pointer);
    }
    say("\n");
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Datatype blocks, view;
    start(&argc, &argv);
    MUST(MPI_Type_contiguous(30, MPI_INT, &blocks));
    MUST(MPI_Type_create_resized(blocks, 0, 30L * ranks * sizeof(int), &view));
    MUST(MPI_Type_commit(&view));
    fill_file("empty", 18L * COUNT * ranks * sizeof(int));
    MUST(MPI_File_open(MPI_COMM_WORLD, "empty", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 30L * rank * sizeof(int), MPI_INT, view, "native", MPI_INFO_NULL));
    through(file, "view");
    MUST(MPI_File_close(&file));
    block = 0;
    fill_file("plain", 100000L * ranks * sizeof(int));
    MUST(MPI_File_open(MPI_COMM_WORLD, "plain", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 100000L * rank * sizeof(int), MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    through(file, "plain");
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&blocks));
    MUST(MPI_Type_free(&view));
    finish();
    return 0;
}
