/* Files of fewer ranks than all: of each half, in reversed order, of a rank alone, and several open at the same time. */
#include "program.h"

#define COUNT 1500 /* ints of a rank in a call */

static int data[COUNT], back[COUNT];

/* Opens a file whose ranks take turns, a block of 50 ints each. */
static MPI_File open_in_turns(MPI_Comm comm, const char *path)
{
    int of, all;
    MPI_Datatype blocks, view;
    MPI_File file;
    MUST(MPI_Comm_rank(comm, &of));
    MUST(MPI_Comm_size(comm, &all));
    MUST(MPI_Type_contiguous(50, MPI_INT, &blocks));
    MUST(MPI_Type_create_resized(blocks, 0, 50L * all * sizeof(int), &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 50L * of * sizeof(int), MPI_INT, view, "native", MPI_INFO_NULL));
    MUST(MPI_Type_free(&blocks));
    MUST(MPI_Type_free(&view));
    return file;
}

static void write_part(MPI_File file, int part)
{
    MPI_Status status;
    for (int i = 0; i < COUNT; i++)
        data[i] = value(rank, part * COUNT + i);
    MUST(MPI_File_write_all(file, data, COUNT, MPI_INT, &status));
    say(" %lld", bytes_of(&status));
}

static void read_part(MPI_File file, int part)
{
    MUST(MPI_File_read_at_all(file, (MPI_Offset)part * COUNT, back, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < COUNT; i++)
        TRUE(back[i] == value(rank, part * COUNT + i));
}

static void through(MPI_Comm comm, const char *path)
{
    MPI_Group group;
    int size;
    MPI_File file = open_in_turns(comm, path);
    say("%s:", path);
    write_part(file, 0);
    write_part(file, 1);
    MUST(MPI_File_sync(file));
    read_part(file, 1);
    read_part(file, 0);
    MUST(MPI_File_get_group(file, &group));
    MUST(MPI_Group_size(group, &size));
    MUST(MPI_Group_free(&group));
    say(" bytes, %d ranks\n", size);
    MUST(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    char path[50];
    MPI_Comm half, reversed;
    MPI_File files[5];
    start(&argc, &argv);

    MUST(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    snprintf(path, sizeof path, "half-%d", rank % 2);
    through(half, path);
    MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed));
    through(reversed, "reversed");
    snprintf(path, sizeof path, "alone-%d", rank);
    through(MPI_COMM_SELF, path);

    /* The halves' files and one of all are open at once; calls go round, and they close in another order. */
    say("together:");
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, i < 4 ? "together-%d-%d" : "together-%d", i, rank % 2);
        files[i] = open_in_turns(i < 4 ? half : MPI_COMM_WORLD, path);
    }
    /* A communicator may go before its files. */
    MUST(MPI_Comm_free(&half));
    MUST(MPI_Comm_free(&reversed));
    for (int part = 0; part < 3; part++)
        for (int i = 4; i >= 0; i--)
            write_part(files[i], part);
    for (int i = 0; i < 5; i++) {
        MUST(MPI_File_sync(files[i]));
        read_part(files[i], 2);
    }
    say("\n");
    for (int i = 0; i < 5; i++)
        MUST(MPI_File_close(&files[(i * 2 + 1) % 5]));
    finish();
    return 0;
}
