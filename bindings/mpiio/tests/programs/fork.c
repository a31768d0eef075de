/* Children that are made while a file is open, and that end by _exit or by exit: fork END. The file, the bytes and the report
 * are the parent's. */
#include "program.h"

#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 5000, CALLS = 4 };

static void have_a_child(const char *end)
{
    int status;
    pid_t child = fork();
    TRUE(child >= 0);
    if (child == 0) {
        if (!strcmp(end, "_exit"))
            _exit(7);
        exit(7);
    }
    TRUE(waitpid(child, &status, 0) == child);
    say("a child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

int main(int argc, char **argv)
{
    int written[COUNT], read[COUNT];
    MPI_Datatype view;
    MPI_File file;
    start(&argc, &argv);
    TRUE(argc > 1);
    MUST(MPI_Type_vector(COUNT, 1, ranks, MPI_INT, &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_open(MPI_COMM_WORLD, "fork", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 4 * rank, MPI_INT, view, "native", MPI_INFO_NULL));
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < COUNT; i++)
            written[i] = value(rank, call * COUNT + i);
        MUST(MPI_File_write_all(file, written, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        if (call % ranks == rank)
            have_a_child(argv[1]);
        settle(file);
        MUST(MPI_File_read_at_all(file, (MPI_Offset)call * COUNT, read, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        TRUE(memcmp(read, written, sizeof read) == 0);
    }
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&view));
    finish();
    return 0;
}
