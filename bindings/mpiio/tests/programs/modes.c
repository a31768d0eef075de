/* Ways to open a file, and calls that this library leaves to MPI, between collective calls that it does not. */
#include "program.h"

#define COUNT 1000 /* ints of a rank in a call */

static int data[COUNT], back[COUNT];
static MPI_Status status;

static MPI_File open_file(const char *path, int mode)
{
    MPI_File file;
    MUST(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file));
    return file;
}

static void tell(MPI_File file, const char *what)
{
    MPI_Offset size, position;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_get_size(file, &size));
    MUST(MPI_File_get_position(file, &position));
    say("%s: size %lld, pointer %lld\n", what, (long long)size, (long long)position);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

static void fill(int part)
{
    for (int i = 0; i < COUNT; i++)
        data[i] = value(rank, part * COUNT + i);
}

static void check(int of, int part)
{
    for (int i = 0; i < COUNT; i++)
        TRUE(back[i] == value(of, part * COUNT + i));
}

static void appending(void)
{
    MPI_File file = open_file("append", MPI_MODE_CREATE | MPI_MODE_WRONLY);
    fill(0);
    MUST(MPI_File_write_at_all(file, rank * sizeof data, data, COUNT, MPI_INT, &status));
    MUST(MPI_File_close(&file));
    file = open_file("append", MPI_MODE_WRONLY | MPI_MODE_APPEND);
    tell(file, "append");
    MUST(MPI_File_seek(file, rank * sizeof data, MPI_SEEK_CUR));
    fill(1);
    MUST(MPI_File_write_all(file, data, COUNT, MPI_INT, &status));
    tell(file, "appended");
    MUST(MPI_File_close(&file));
}

/* Collective and independent calls take turns at the same pointer. */
static void pointers(void)
{
    MPI_File file = open_file("pointers", MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Offset at = 10L * rank * sizeof data, byte;
    MUST(MPI_File_set_view(file, at, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int part = 0; part < 6; part++) {
        fill(part);
        if (part % 2)
            MUST(MPI_File_write(file, data, COUNT, MPI_INT, &status));
        else
            MUST(MPI_File_write_all(file, data, COUNT, MPI_INT, &status));
    }
    MUST(MPI_File_write_at(file, 6 * COUNT, data, COUNT, MPI_INT, &status));
    tell(file, "in turns");
    MUST(MPI_File_sync(file));
    MUST(MPI_File_seek(file, -6 * COUNT, MPI_SEEK_CUR));
    for (int part = 0; part < 6; part++) {
        if (part % 2)
            MUST(MPI_File_read_all(file, back, COUNT, MPI_INT, &status));
        else
            MUST(MPI_File_read(file, back, COUNT, MPI_INT, &status));
        check(rank, part);
    }
    MUST(MPI_File_get_byte_offset(file, 7, &byte));
    say("byte of etype 7: %lld\n", (long long)byte);
    MUST(MPI_File_seek(file, 0, MPI_SEEK_END));
    tell(file, "end");
    MUST(MPI_File_close(&file));
}

static void shared(void)
{
    MPI_Offset position;
    MPI_File file = open_file("shared", MPI_MODE_CREATE | MPI_MODE_RDWR);
    fill(0);
    MUST(MPI_File_write_ordered(file, data, COUNT, MPI_INT, &status));
    say("ordered: %lld bytes\n", bytes_of(&status));
    fill(1);
    MUST(MPI_File_write_at_all(file, (ranks + rank) * sizeof data, data, COUNT, MPI_INT, &status));
    MUST(MPI_File_seek_shared(file, ranks * sizeof data, MPI_SEEK_SET));
    MUST(MPI_File_read_ordered(file, back, COUNT, MPI_INT, &status));
    check(rank, 1);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_get_position_shared(file, &position));
    say("shared pointer %lld\n", (long long)position);
    MUST(MPI_File_close(&file));
}

static void atomically(void)
{
    int flag;
    MPI_File file = open_file("atomic", MPI_MODE_CREATE | MPI_MODE_RDWR);
    MUST(MPI_File_set_atomicity(file, 1));
    MUST(MPI_File_get_atomicity(file, &flag));
    fill(0);
    MUST(MPI_File_write_at_all(file, rank * sizeof data, data, COUNT, MPI_INT, &status));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_read_at_all(file, (ranks - 1 - rank) * sizeof data, back, COUNT, MPI_INT, &status));
    check(ranks - 1 - rank, 0);
    say("atomic: %d, %lld bytes\n", flag, bytes_of(&status));
    MUST(MPI_File_set_atomicity(file, 0));
    fill(1);
    MUST(MPI_File_write_at_all(file, (ranks + rank) * sizeof data, data, COUNT, MPI_INT, &status));
    tell(file, "not atomic");
    MUST(MPI_File_close(&file));
}

static void sizes(void)
{
    MPI_Aint extent;
    int amode;
    MPI_File file = open_file("sizes", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_UNIQUE_OPEN);
    MUST(MPI_File_set_size(file, 100));
    tell(file, "set_size");
    fill(0);
    MUST(MPI_File_write_at_all(file, 1000 + rank * sizeof data, data, COUNT, MPI_INT, &status));
    tell(file, "written");
    MUST(MPI_File_set_size(file, 1000 + sizeof data));
    tell(file, "cut");
    MUST(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
    MUST(MPI_File_get_amode(file, &amode));
    say("extent %ld, mode as opened %d\n", (long)extent, amode == (MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_UNIQUE_OPEN));
    /* Nothing at all, from some ranks and then from all. */
    MUST(MPI_File_write_at_all(file, 40 * rank, data, rank % 2 ? 0 : 10, MPI_INT, &status));
    say("some: %lld bytes\n", bytes_of(&status));
    MUST(MPI_File_write_at_all(file, 0, NULL, 0, MPI_INT, &status));
    say("none: %lld bytes\n", bytes_of(&status));
    MUST(MPI_File_close(&file));
}

static void gone(void)
{
    MPI_File file = open_file("gone", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    fill(0);
    MUST(MPI_File_write_at_all(file, rank * sizeof data, data, COUNT, MPI_INT, &status));
    tell(file, "delete on close");
    MUST(MPI_File_close(&file));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    int code = MPI_File_open(MPI_COMM_WORLD, "gone", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    say("after close: %s\n", class_of(code));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    appending();
    pointers();
    shared();
    atomically();
    sizes();
    gone();
    finish();
    return 0;
}
