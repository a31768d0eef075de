/* Reads that go over the end of the file: what the status tells, which MPI libraries do not agree about. */
#include "program.h"

#define COUNT 1000 /* ints of a rank in a call */

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    int data[COUNT], back[COUNT];
    start(&argc, &argv);
    for (int i = 0; i < COUNT; i++)
        data[i] = value(rank, i);
    MUST(MPI_File_open(MPI_COMM_WORLD, "eof", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_write_at_all(file, rank * sizeof data, data, COUNT, MPI_INT, &status));
    /* Half a block further: the last rank gets half of what it asks for. */
    MUST(MPI_File_read_at_all(file, rank * sizeof data + sizeof data / 2, back, COUNT, MPI_INT, &status));
    say("half behind the end: %lld bytes\n", bytes_of(&status));
    TRUE(memcmp(back, data + COUNT / 2, sizeof data / 2) == 0);
    MUST(MPI_File_read_at_all(file, (ranks + rank) * sizeof data, back, COUNT, MPI_INT, &status));
    say("all behind the end: %lld bytes\n", bytes_of(&status));
    MUST(MPI_File_close(&file));
    finish();
    return 0;
}
