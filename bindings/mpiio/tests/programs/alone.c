/* Ranks that write by themselves, and rank 0 that does not: alone PATH. Without PATH no file is opened. */
#include "program.h"

int main(int argc, char **argv)
{
    MPI_File file;
    start(&argc, &argv);
    if (argc > 1) {
        int number = value(rank, 0);
        MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
        for (int i = 0; i < rank; i++)
            MUST(MPI_File_write_at(file, 4 * (ranks * i + rank), &number, 1, MPI_INT, MPI_STATUS_IGNORE));
        MUST(MPI_File_close(&file));
    }
    finish();
}
