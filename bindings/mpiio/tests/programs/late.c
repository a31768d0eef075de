/* Ranks that come late to collective calls: late SECONDS. In the first write, the second one and the close of a file another rank
 * each comes so much later than the others. The calls succeed all the same. */
#include "program.h"

#include <unistd.h>

static int seconds;

static void late(int who)
{
    if (rank == who)
        sleep(seconds);
}

int main(int argc, char **argv)
{
    int number, back;
    MPI_File file;
    start(&argc, &argv);
    TRUE(argc > 1 && ranks > 2);
    seconds = atoi(argv[1]);
    number = value(rank, 0);
    MUST(MPI_File_open(MPI_COMM_WORLD, "late", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    late(1);
    MUST(MPI_File_write_at_all(file, 4 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_set_view(file, 4 * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    late(2);
    MUST(MPI_File_write_all(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    settle(file);
    MUST(MPI_File_read_at_all(file, 0, &back, 1, MPI_INT, MPI_STATUS_IGNORE));
    TRUE(back == number);
    late(0);
    MUST(MPI_File_close(&file));
    finish();
    return 0;
}
