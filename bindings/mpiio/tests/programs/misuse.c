/* Calls that must fail: the class of the error, which handler hears of it, and that the file works on. With the argument "one",
 * a datatype of the last rank alone is bad, over which MPI libraries wait for ever. */
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

/* COUNT ints, one element of a type that is not committed. */
static MPI_Datatype uncommitted(void)
{
    MPI_Datatype type;
    MUST(MPI_Type_vector(COUNT / 2, 2, 2, MPI_INT, &type));
    return type;
}

/* Calls of every form, which all ranks hear of; then the type is committed. */
static void one_rank(void)
{
    MPI_File file;
    MPI_Request request;
    MPI_Datatype type = uncommitted();
    MPI_Offset at = rank * sizeof data;
    if (rank != ranks - 1)
        MUST(MPI_Type_commit(&type));
    MUST(MPI_File_open(MPI_COMM_WORLD, "one", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    for (int i = 0; i < COUNT; i++)
        data[i] = value(rank, i);
    tell("write_at_all", MPI_File_write_at_all(file, at, data, 1, type, &status));
    tell("write_at_all of nothing", MPI_File_write_at_all(file, at, data, 0, type, &status));
    MUST(MPI_File_iwrite_at_all(file, at, data, 1, type, &request));
    tell("iwrite_at_all, at its end", MPI_Wait(&request, &status));
    MUST(MPI_File_write_at_all_begin(file, at, data, 1, type));
    tell("write_at_all_end", MPI_File_write_at_all_end(file, data, &status));
    MUST(MPI_Type_commit(&type));
    tell("write_at_all, committed", MPI_File_write_at_all(file, at, data, 1, type, &status));
    memset(data, 0, sizeof data);
    tell("read_at_all, committed", MPI_File_read_at_all(file, at, data, 1, type, &status));
    for (int i = 0; i < COUNT; i++)
        TRUE(data[i] == value(rank, i));
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Errhandler handler;
    MPI_Datatype type;
    MPI_Offset at;
    start(&argc, &argv);
    if (argc > 1) {
        one_rank();
        finish();
        return 0;
    }
    at = rank * sizeof data;
    type = uncommitted();

    tell("no such file", MPI_File_open(MPI_COMM_WORLD, "missing", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    tell("two modes", MPI_File_open(MPI_COMM_WORLD, "modes", MPI_MODE_RDONLY | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));

    MUST(MPI_File_open(MPI_COMM_WORLD, "misuse", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    for (int i = 0; i < COUNT; i++)
        data[i] = value(rank, i);
    tell("write", MPI_File_write_at_all(file, at, data, COUNT, MPI_INT, &status));
    tell("read where only writes are allowed", MPI_File_read_at_all(file, at, data, COUNT, MPI_INT, &status));
    tell("count of -1", MPI_File_write_at_all(file, at, data, -1, MPI_INT, &status));
    tell("write of a type that is not committed", MPI_File_write_at_all(file, at, data, 1, type, &status));
    tell("write again", MPI_File_write_at_all(file, at, data, COUNT, MPI_INT, &status));
    MUST(MPI_File_close(&file));

    MUST(MPI_File_open(MPI_COMM_WORLD, "misuse", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    MUST(MPI_File_create_errhandler(hear, &handler));
    MUST(MPI_File_set_errhandler(file, handler));
    MUST(MPI_Errhandler_free(&handler));
    tell("write where only reads are allowed", MPI_File_write_at_all(file, at, data, COUNT, MPI_INT, &status));
    tell("read of a type that is not committed", MPI_File_read_at_all(file, at, data, 1, type, &status));
    MUST(MPI_Type_commit(&type));
    tell("read", MPI_File_read_at_all(file, at, data, 1, type, &status));
    for (int i = 0; i < COUNT; i++)
        TRUE(data[i] == value(rank, i));
    say("heard of %d\n", heard);
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&type));
    tell("exists", MPI_File_open(MPI_COMM_WORLD, "misuse", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, MPI_INFO_NULL,
                                 &file));
    finish();
    return 0;
}
