/* Every rank's late bytes of a call fail once: later calls return each error, one after the other, or the close returns one and
 * lists the others. Prints how many calls have failed.
 *   behind_errors PATH sync|close */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 100000 };

int main(int argc, char **argv)
{
    static char block[BLOCK];
    int rank, failed = 0;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    if (MPI_File_write_at_all(file, rank * BLOCK, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        printf("the write failed at once\n");
    for (int call = 0; call < 5 && !strcmp(argv[2], "sync"); call++)
        failed += MPI_File_sync(file) != MPI_SUCCESS;
    failed += MPI_File_close(&file) != MPI_SUCCESS;
    if (rank == 0)
        printf("%d failed\n", failed);
    MPI_Finalize();
    return 0;
}
