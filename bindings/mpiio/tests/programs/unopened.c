/* A file that cannot be opened: unopened PATH. */
#include "program.h"

int main(int argc, char **argv)
{
    MPI_File file;
    start(&argc, &argv);
    TRUE(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS);
    finish();
}
