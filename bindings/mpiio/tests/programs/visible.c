/* Files that one host makes and others see: visible ROUNDS. In each round all ranks look for a file that is not there, one makes it,
 * and all find it at once, with its bytes; then each writes by itself, and after sync, barrier, sync all read all of it collectively.
 * Rank by rank in turns makes the file, longer each time, and removes it. Each rank prints in how many rounds bytes were wrong, and in
 * how many it saw by other calls what had been before: these are the system's and MPI's own. */
#include "program.h"

#include <unistd.h>

enum { COUNT = 100 };

int main(int argc, char **argv)
{
    static int own[COUNT];
    int wrong = 0, late = 0;
    start(&argc, &argv);
    TRUE(argc > 1);
    int *all = malloc(sizeof own * ranks);
    TRUE(all);
    for (int round = 0; round < atoi(argv[1]); round++) {
        int is_late = access("visible", F_OK) == 0, is_wrong = 0, maker = round % ranks, first = 0, entries = 1 + round;
        MPI_Offset size;
        MPI_File file;
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == maker) {
            MUST(MPI_File_open(MPI_COMM_SELF, "visible", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
            for (int i = 0; i < entries; i++) {
                int number = value(maker, i);
                MUST(MPI_File_write_at(file, 4 * i, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
            }
            MUST(MPI_File_close(&file));
        }
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        MUST(MPI_File_open(MPI_COMM_WORLD, "visible", MPI_MODE_RDWR, MPI_INFO_NULL, &file));
        MUST(MPI_File_get_size(file, &size));
        is_late |= size != 4 * entries;
        MUST(MPI_File_read_at_all(file, 4 * (entries - 1), &first, 1, MPI_INT, MPI_STATUS_IGNORE));
        is_wrong |= first != value(maker, entries - 1);
        for (int i = 0; i < COUNT; i++)
            own[i] = value(rank, i + round);
        settle(file);
        MUST(MPI_File_write_at(file, rank * sizeof own, own, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        settle(file);
        memset(all, 0, sizeof own * ranks);
        MUST(MPI_File_read_at_all(file, 0, all, COUNT * ranks, MPI_INT, MPI_STATUS_IGNORE));
        for (int i = 0; i < COUNT * ranks; i++)
            is_wrong |= all[i] != value(i / COUNT, i % COUNT + round);
        MUST(MPI_File_close(&file));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        TRUE(rank != maker || unlink("visible") == 0);
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        wrong += is_wrong;
        late += is_late;
    }
    free(all);
    say("%d wrong\n%d late\n", wrong, late);
    finish();
    return 0;
}
