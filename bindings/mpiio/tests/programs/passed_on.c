/* Opens a file, and another one with the info that MPI_File_get_info has returned for the first: passed_on PATH PATH. */
#include "program.h"

int main(int argc, char **argv)
{
    MPI_File first, second;
    MPI_Info info;
    char bytes[100] = {0};
    start(&argc, &argv);
    MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &first));
    MUST(MPI_File_write_at_all(first, 100 * rank, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE));
    MUST(MPI_File_get_info(first, &info));
    MUST(MPI_File_open(MPI_COMM_SELF, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &second));
    MPI_Info_free(&info);
    MUST(MPI_File_close(&second));
    MUST(MPI_File_close(&first));
    finish();
}
