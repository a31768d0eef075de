/* What a rank has written through a file handle, it must read through it at once, and a later write of its own must win: own_bytes
 * CASE ROUNDS. Ranks write ints in turns; nobody touches another's. The calls after the collective write are independent, so that no
 * rank waits for another in them. Each rank prints in how many rounds its bytes were not those that it wrote last. */
#include "program.h"

enum { COUNT = 100 };

static int written[COUNT], read_back[COUNT];

static void fill(int round, int sign)
{
    for (int i = 0; i < COUNT; i++)
        written[i] = sign * (round * 1000 + rank * 100 + i);
}

static int differs(MPI_File file)
{
    MUST(MPI_File_read_at(file, 0, read_back, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    return memcmp(read_back, written, sizeof written) != 0;
}

/* Reads at once what a collective call has written. */
static int read_after_write(MPI_File file, int round)
{
    fill(round, 1);
    MUST(MPI_File_write_at_all(file, 0, written, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    return differs(file);
}

/* Writes other bytes to the same place, which are there when every rank has synchronised. */
static int write_after_write(MPI_File file, int round)
{
    fill(round, -1);
    MUST(MPI_File_write_at_all(file, 0, written, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    fill(round, 1);
    MUST(MPI_File_write_at(file, 0, written, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    settle(file);
    return differs(file);
}

int main(int argc, char **argv)
{
    int wrong = 0;
    MPI_File file;
    MPI_Datatype view;
    start(&argc, &argv);
    TRUE(argc > 2);
    int (*test)(MPI_File, int) = strcmp(argv[1], "write") ? read_after_write : write_after_write;
    MUST(MPI_Type_vector(COUNT, 1, ranks, MPI_INT, &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_open(MPI_COMM_WORLD, "own_bytes", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 4 * rank, MPI_INT, view, "native", MPI_INFO_NULL));
    for (int round = 1; round <= atoi(argv[2]); round++) {
        wrong += test(file, round);
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&view));
    say("%d wrong\n", wrong);
    finish();
    return 0;
}
