/* Ranks that write and read a file collectively, again and again, until there is a file "enough" in the directory of argument 1.
 * There each rank leaves a file HOST-PID when it has written once. Every round has other values, and is read back at once, so that
 * ranks wait for each other in these calls alone: outages DIRECTORY. In between hosts may be stopped or cut off, and their file system
 * may fail: every call ends alike on all ranks, and where both of a round go well no byte may differ. */
#include "program.h"

#include <unistd.h>

enum { COUNT = 20000, MOST_CALLS = 1 << 16 };

static char path[4096];
/* How each call ended. */
static int classes[MOST_CALLS], least[MOST_CALLS], most[MOST_CALLS], calls;

/* Whether a call went well. */
static int well(int code)
{
    TRUE(calls < MOST_CALLS);
    MUST(MPI_Error_class(code, &classes[calls++]));
    if (code != MPI_SUCCESS && (calls == 1 || classes[calls - 2] == MPI_SUCCESS))
        fprintf(stderr, "rank %d, call %d: %s\n", rank, calls, class_of(code));
    return code == MPI_SUCCESS;
}

/* Leaves the file that says where this rank is. */
static void here(const char *directory)
{
    char host[256];
    FILE *file;
    TRUE(gethostname(host, sizeof host) == 0);
    snprintf(path, sizeof path, "%s/%s-%d", directory, host, (int)getpid());
    TRUE((file = fopen(path, "w")) != NULL && fclose(file) == 0);
}

int main(int argc, char **argv)
{
    static int written[COUNT], read[COUNT];
    int enough = 0, last = 0, failed = 0;
    MPI_Datatype view;
    MPI_File file;
    start(&argc, &argv);
    TRUE(argc > 1);
    MUST(MPI_Type_vector(COUNT, 1, ranks, MPI_INT, &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_open(MPI_COMM_WORLD, "outages", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 4 * rank, MPI_INT, view, "native", MPI_INFO_NULL));
    for (int round = 0; !enough; round++) {
        for (int i = 0; i < COUNT; i++)
            written[i] = value(rank, i + round);
        last = well(MPI_File_write_at_all(file, 0, written, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        last &= well(MPI_File_read_at_all(file, 0, read, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        TRUE(!last || memcmp(read, written, sizeof read) == 0);
        if (round == 0)
            here(argv[1]);
        snprintf(path, sizeof path, "%s/enough", argv[1]);
        enough = access(path, F_OK) == 0;
        MUST(MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    /* MPI's own handle may be gone for good. */
    MPI_File_close(&file);
    MUST(MPI_Type_free(&view));
    MUST(MPI_Allreduce(classes, least, calls, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    MUST(MPI_Allreduce(classes, most, calls, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    TRUE(memcmp(least, most, sizeof least) == 0);
    for (int call = 0; call < calls; call++)
        failed += classes[call] != MPI_SUCCESS;
    say("%s\n%s\n", failed ? "some failed" : "none failed", last ? "went on" : "went wrong");
    finish();
    return 0;
}
