/* Two files of all ranks, each on a communicator of its own, that the first thread opens. threads HOW:
 *
 *   multiple     written and read at the same time, the one by the first thread, the other by a second, which closes it too
 *   in turn      the same, first the one and then the other
 *   serialized   both by a second thread, and closed by a third, one call at a time
 *   funneled     both by the first thread, while a second one computes */
#include "program.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define COUNT 2000 /* ints of a rank in a call */
#define CALLS 12

struct part {
    MPI_File file;
    MPI_Comm comm;
    int number;
    long long bytes;
};

static void *work(void *argument)
{
    struct part *part = argument;
    MPI_Status status;
    int data[COUNT], back[COUNT];
    for (int call = 0; call < CALLS; call++) {
        MPI_Offset at = (MPI_Offset)(call * ranks + rank) * sizeof data;
        for (int i = 0; i < COUNT; i++)
            data[i] = value(rank + 100 * part->number, call * COUNT + i);
        MUST(MPI_File_write_at_all(part->file, at, data, COUNT, MPI_INT, &status));
        part->bytes += bytes_of(&status);
        MUST(MPI_Barrier(part->comm));
        MUST(MPI_File_read_at_all(part->file, at, back, COUNT, MPI_INT, &status));
        TRUE(memcmp(data, back, sizeof data) == 0);
    }
    return NULL;
}

static void *close_it(void *argument)
{
    struct part *part = argument;
    say("%lld bytes\n", part->bytes);
    MUST(MPI_File_close(&part->file));
    MUST(MPI_Comm_free(&part->comm));
    return NULL;
}

static void in_another_thread(void *(*what)(void *), void *argument)
{
    pthread_t other;
    TRUE(pthread_create(&other, NULL, what, argument) == 0);
    TRUE(pthread_join(other, NULL) == 0);
}

static atomic_int goes_on = 1;

static void *compute(void *argument)
{
    for (long *turns = argument; goes_on; ++*turns)
        sched_yield();
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, asked = MPI_THREAD_MULTIPLE;
    long turns = 0;
    pthread_t other;
    struct part parts[2];
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "serialized"))
        asked = MPI_THREAD_SERIALIZED;
    if (!strcmp(how, "funneled"))
        asked = MPI_THREAD_FUNNELED;
    MUST(MPI_Init_thread(&argc, &argv, asked, &provided));
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    TRUE(provided >= asked);
    for (int i = 0; i < 2; i++) {
        parts[i].number = i;
        parts[i].bytes = 0;
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &parts[i].comm));
        MUST(MPI_File_open(parts[i].comm, i ? "thread-1" : "thread-0", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                           &parts[i].file));
    }
    if (!strcmp(how, "serialized")) {
        for (int i = 0; i < 2; i++)
            in_another_thread(work, &parts[i]);
        for (int i = 0; i < 2; i++)
            in_another_thread(close_it, &parts[i]);
    } else if (!strcmp(how, "funneled")) {
        TRUE(pthread_create(&other, NULL, compute, &turns) == 0);
        for (int i = 0; i < 2; i++)
            work(&parts[i]);
        for (int i = 0; i < 2; i++)
            close_it(&parts[i]);
        goes_on = 0;
        TRUE(pthread_join(other, NULL) == 0);
    } else {
        if (!strcmp(how, "in turn"))
            work(&parts[0]);
        TRUE(pthread_create(&other, NULL, work, &parts[1]) == 0);
        if (!strcmp(how, "multiple"))
            work(&parts[0]);
        TRUE(pthread_join(other, NULL) == 0);
        close_it(&parts[0]);
        in_another_thread(close_it, &parts[1]);
    }
    finish();
    return 0;
}
