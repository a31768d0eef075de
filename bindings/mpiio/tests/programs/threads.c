/* Two files of all ranks, written and read at the same time by two threads of every rank; with an argument, first the one
 * and then the other. */
#include "program.h"

#include <pthread.h>

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

int main(int argc, char **argv)
{
    int provided;
    pthread_t other;
    struct part parts[2];
    MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    TRUE(provided == MPI_THREAD_MULTIPLE);
    for (int i = 0; i < 2; i++) {
        parts[i].number = i;
        parts[i].bytes = 0;
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &parts[i].comm));
        MUST(MPI_File_open(parts[i].comm, i ? "thread-1" : "thread-0", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                           &parts[i].file));
    }
    if (argc > 1)
        work(&parts[0]);
    TRUE(pthread_create(&other, NULL, work, &parts[1]) == 0);
    if (argc == 1)
        work(&parts[0]);
    TRUE(pthread_join(other, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        say("%lld bytes\n", parts[i].bytes);
        MUST(MPI_File_close(&parts[i].file));
        MUST(MPI_Comm_free(&parts[i].comm));
    }
    finish();
    return 0;
}
