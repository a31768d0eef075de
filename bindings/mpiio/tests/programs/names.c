/* Files whose names have colons, as weather models give them, and a log of Darshan: each is written by all ranks, read back,
 * and deleted. */
#include "program.h"
#include <unistd.h>

static void through(const char *name)
{
    MPI_File file;
    MPI_Status status;
    int data[4], back[4];
    for (int i = 0; i < 4; i++)
        data[i] = value(rank, i), back[i] = -1;
    MUST(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_write_at_all(file, rank * sizeof data, data, 4, MPI_INT, &status));
    settle(file);
    MUST(MPI_File_read_at_all(file, rank * sizeof data, back, 4, MPI_INT, &status));
    MUST(MPI_File_close(&file));
    for (int i = 0; i < 4; i++)
        TRUE(back[i] == data[i]);
    TRUE(access(name, F_OK) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MUST(MPI_File_delete((char *)name, MPI_INFO_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    TRUE(access(name, F_OK) != 0);
    say("%s\n", name);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int i = 1; i < argc; i++)
        through(argv[i]);
    finish();
    return 0;
}
