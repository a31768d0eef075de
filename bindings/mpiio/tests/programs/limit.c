/* A rank that cannot write on: limit RANK BYTES writes to "limited", of which rank RANK may write no byte behind BYTES;
 * limit -1 BYTES writes to what argument 3 names, where nobody has more space than BYTES. Every rank must get the same
 * class of error, the file must close, and a file with room must still be written. */
#include "program.h"

#include <signal.h>
#include <sys/resource.h>

#define COUNT 1000 /* ints of a rank in a block */
#define BLOCKS 100 /* of a rank, those of other ranks between them */

static int data[COUNT * BLOCKS];

static int heard;

static void hear(MPI_File *file, int *code, ...)
{
    (void)file;
    (void)code;
    heard++;
}

static void set_view(MPI_File file)
{
    MPI_Datatype blocks, view;
    MUST(MPI_Type_contiguous(COUNT, MPI_INT, &blocks));
    MUST(MPI_Type_create_resized(blocks, 0, (MPI_Aint)COUNT * ranks * sizeof(int), &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_set_view(file, (MPI_Offset)COUNT * rank * sizeof(int), MPI_INT, view, "native", MPI_INFO_NULL));
    MUST(MPI_Type_free(&blocks));
    MUST(MPI_Type_free(&view));
}

/* Calls that fail one after the other, in every form, and one that needs no space. */
static void fail(MPI_File file)
{
    MPI_Status status;
    int code;
    code = MPI_File_write_all(file, data, COUNT * BLOCKS, MPI_INT, &status);
    say("write_all: %s, fewer bytes than asked for: %d\n", class_of(code), bytes_of(&status) < (long long)sizeof data);
    code = MPI_File_write_at_all(file, 0, data, COUNT * BLOCKS, MPI_INT, MPI_STATUS_IGNORE);
    say("write_at_all: %s\n", class_of(code));
    code = MPI_File_write_at_all_begin(file, 0, data, COUNT * BLOCKS, MPI_INT);
    say("begin: %s\n", class_of(code));
    code = MPI_File_write_at_all_end(file, data, &status);
    say("end: %s, %lld bytes\n", class_of(code), bytes_of(&status));
    for (int all = 0; all < 2; all++) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status statuses[2];
        code = MPI_File_iwrite_at_all(file, 0, data, COUNT * BLOCKS, MPI_INT, &requests[0]);
        say("iwrite_at_all: %s\n", class_of(code));
        MUST(MPI_File_iwrite_at_all(file, 0, data, COUNT, MPI_INT, &requests[1]));
        if (all) {
            code = MPI_Waitall(2, requests, statuses);
            say("Waitall: %s, %s and %s\n", class_of(code), class_of(statuses[0].MPI_ERROR),
                class_of(statuses[1].MPI_ERROR));
        } else {
            code = MPI_Wait(&requests[0], &statuses[0]);
            say("Wait: %s, %lld bytes\n", class_of(code), bytes_of(&statuses[0]));
            MUST(MPI_Wait(&requests[1], &statuses[1]));
        }
        say("null %d, %lld bytes behind it\n", requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL,
            bytes_of(&statuses[1]));
    }
    code = MPI_File_write_at_all(file, 0, data, COUNT, MPI_INT, MPI_STATUS_IGNORE);
    say("at the beginning: %s\n", class_of(code));
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Errhandler handler;
    start(&argc, &argv);
    TRUE(argc >= 3);
    for (int i = 0; i < COUNT * BLOCKS; i++)
        data[i] = value(rank, i);
    MUST(MPI_File_open(MPI_COMM_WORLD, argc > 3 ? argv[3] : "limited", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_create_errhandler(hear, &handler));
    MUST(MPI_File_set_errhandler(file, handler));
    MUST(MPI_Errhandler_free(&handler));
    set_view(file);
    struct rlimit limit, before;
    TRUE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = before;
    limit.rlim_cur = atol(argv[2]);
    signal(SIGXFSZ, SIG_IGN);
    if (rank == atoi(argv[1]))
        TRUE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    fail(file);
    TRUE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    say("the handler heard of %d\n", heard);
    say("close: %s\n", class_of(MPI_File_close(&file)));

    MUST(MPI_File_open(MPI_COMM_WORLD, "room", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    set_view(file);
    MUST(MPI_File_write_all(file, data, COUNT * BLOCKS, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_close(&file));
    say("with room: done\n");
    finish();
    return 0;
}
