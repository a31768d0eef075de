/* A signal every 200 microseconds, which interrupts what it comes into, while a file is written and read: as many rounds as it
 * takes until every rank has had 200 of them. */
#include "program.h"

#include <signal.h>
#include <sys/time.h>

enum { COUNT = 20000 };

static volatile sig_atomic_t heard;

static void hear(int signal)
{
    (void)signal;
    heard++;
}

static void every(long microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    TRUE(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

int main(int argc, char **argv)
{
    static int written[COUNT], read[COUNT];
    struct sigaction action = {.sa_handler = hear}; /* without SA_RESTART */
    MPI_Datatype blocks, view;
    MPI_File file;
    MPI_Request request;
    int least;
    start(&argc, &argv);
    TRUE(sigaction(SIGALRM, &action, NULL) == 0);
    every(200);
    MUST(MPI_Type_contiguous(100, MPI_INT, &blocks));
    MUST(MPI_Type_create_resized(blocks, 0, 100L * ranks * sizeof(int), &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_open(MPI_COMM_WORLD, "signals", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 100L * rank * sizeof(int), MPI_INT, view, "native", MPI_INFO_NULL));
    do {
        for (int i = 0; i < COUNT; i++)
            written[i] = value(rank, i);
        MUST(MPI_File_seek(file, 0, MPI_SEEK_SET));
        MUST(MPI_File_write_all(file, written, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        settle(file);
        memset(read, 0, sizeof read);
        MUST(MPI_File_read_at_all(file, 0, read, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        TRUE(memcmp(read, written, sizeof read) == 0);
        MUST(MPI_File_iwrite_at_all(file, COUNT, written, COUNT, MPI_INT, &request));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        int own = heard;
        MUST(MPI_Allreduce(&own, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    } while (least < 200);
    MUST(MPI_File_sync(file));
    MUST(MPI_File_close(&file));
    every(0);
    MUST(MPI_Type_free(&blocks));
    MUST(MPI_Type_free(&view));
    say("the same\n");
    finish();
    return 0;
}
