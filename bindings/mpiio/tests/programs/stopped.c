/* The last rank is stopped for a second, or killed, while the others are in a collective write: stopped stop|kill. */
#include "program.h"

#include <signal.h>
#include <unistd.h>

enum { COUNT = 5000 };

static void stop_for_a_second(void)
{
    pid_t child = fork();
    TRUE(child >= 0);
    if (child == 0) {
        sleep(1);
        kill(getppid(), SIGCONT);
        _exit(0);
    }
    raise(SIGSTOP);
}

int main(int argc, char **argv)
{
    int written[COUNT], read[COUNT];
    MPI_Datatype view;
    MPI_File file;
    start(&argc, &argv);
    TRUE(argc > 1);
    for (int i = 0; i < COUNT; i++)
        written[i] = value(rank, i);
    MUST(MPI_Type_vector(COUNT, 1, ranks, MPI_INT, &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_open(MPI_COMM_WORLD, "stopped", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 4 * rank, MPI_INT, view, "native", MPI_INFO_NULL));
    MUST(MPI_File_write_all(file, written, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    if (rank == ranks - 1 && !strcmp(argv[1], "kill"))
        raise(SIGKILL);
    if (rank == ranks - 1)
        stop_for_a_second();
    MUST(MPI_File_write_all(file, written, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    settle(file);
    MUST(MPI_File_read_at_all(file, COUNT, read, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    TRUE(memcmp(read, written, sizeof read) == 0);
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&view));
    say("went on\n");
    finish();
    return 0;
}
