/* Calls that must fail: the class of the error, which handler hears of it, and that the file works on. */
#include "program.h"

#define COUNT 100 /* ints of a rank in a call */

static int data[COUNT];
static MPI_Status status;
static int heard;

static void hear(MPI_File *file, int *code, ...)
{
    (void)file;
    heard++;
    say("handler: %s\n", class_of(*code));
}

static void tell(const char *what, int code)
{
    say("%s: %s\n", what, class_of(code));
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Errhandler handler;
    MPI_Offset at;
    start(&argc, &argv);
    at = rank * sizeof data;

    tell("no such file", MPI_File_open(MPI_COMM_WORLD, "missing", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    tell("two modes", MPI_File_open(MPI_COMM_WORLD, "modes", MPI_MODE_RDONLY | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));

    MUST(MPI_File_open(MPI_COMM_WORLD, "misuse", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    for (int i = 0; i < COUNT; i++)
        data[i] = value(rank, i);
    tell("write", MPI_File_write_at_all(file, at, data, COUNT, MPI_INT, &status));
    tell("read where only writes are allowed", MPI_File_read_at_all(file, at, data, COUNT, MPI_INT, &status));
    tell("count of -1", MPI_File_write_at_all(file, at, data, -1, MPI_INT, &status));
    tell("write again", MPI_File_write_at_all(file, at, data, COUNT, MPI_INT, &status));
    MUST(MPI_File_close(&file));

    MUST(MPI_File_open(MPI_COMM_WORLD, "misuse", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    MUST(MPI_File_create_errhandler(hear, &handler));
    MUST(MPI_File_set_errhandler(file, handler));
    MUST(MPI_Errhandler_free(&handler));
    tell("write where only reads are allowed", MPI_File_write_at_all(file, at, data, COUNT, MPI_INT, &status));
    tell("read", MPI_File_read_at_all(file, at, data, COUNT, MPI_INT, &status));
    for (int i = 0; i < COUNT; i++)
        TRUE(data[i] == value(rank, i));
    say("heard of %d\n", heard);
    MUST(MPI_File_close(&file));
    tell("exists", MPI_File_open(MPI_COMM_WORLD, "misuse", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, MPI_INFO_NULL,
                                 &file));
    finish();
    return 0;
}
