/* A view of another data representation, between two of the machine's own. */
#include "program.h"

#define COUNT 500 /* ints of a rank in a call */

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    int data[COUNT], back[COUNT];
    const char *representations[3] = {"native", "external32", "native"};
    start(&argc, &argv);
    MUST(MPI_File_open(MPI_COMM_WORLD, "external", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    for (int part = 0; part < 3; part++) {
        for (int i = 0; i < COUNT; i++)
            data[i] = value(rank, part * COUNT + i);
        MPI_Offset at = (part * ranks + rank) * sizeof data;
        MUST(MPI_File_set_view(file, at, MPI_INT, MPI_INT, representations[part], MPI_INFO_NULL));
        MUST(MPI_File_write_all(file, data, COUNT, MPI_INT, &status));
        MUST(MPI_File_read_at_all(file, 0, back, COUNT, MPI_INT, &status));
        TRUE(memcmp(back, data, sizeof data) == 0);
        say("%s: done\n", representations[part]);
    }
    MUST(MPI_File_close(&file));
    finish();
    return 0;
}
