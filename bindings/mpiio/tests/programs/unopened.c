/* A file that cannot be opened: unopened PATH. With a second argument it may be created. */
#include "program.h"

int main(int argc, char **argv)
{
    MPI_File file;
    int creates = argc > 2, mode = creates ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;
    start(&argc, &argv);
    int code = MPI_File_open(MPI_COMM_WORLD, argv[1], mode, MPI_INFO_NULL, &file);
    TRUE(creates || code != MPI_SUCCESS);
    if (code == MPI_SUCCESS) MPI_File_close(&file);
    finish();
}
