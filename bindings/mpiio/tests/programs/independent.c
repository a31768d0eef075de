/* Many small independent writes, and a large read. independent SMALL [PIECE [OWN]]: each rank writes SMALL pieces of PIECE bytes, by
 * default 4096. OWN: by a second handle that each rank has by itself, as PnetCDF does, and closes `before` or `after` that of all
 * ranks. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_File file, own, used;
    int rank, ranks, i, small = atoi(argv[1]), piece = argc > 2 ? atoi(argv[2]) : 4096;
    const char *closed = argc > 3 ? argv[3] : "";
    char *bytes = calloc(2 << 20, 1);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    used = file;
    if (*closed) {
        MPI_File_open(MPI_COMM_SELF, "file", MPI_MODE_RDWR, MPI_INFO_NULL, &own);
        used = own;
    }
    for (i = 0; i < small; i++)
        MPI_File_write_at(used, piece * (rank + (MPI_Offset)ranks * i), bytes, piece, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_read_at(used, 0, bytes, 2 << 20, MPI_BYTE, MPI_STATUS_IGNORE);
    if (!strcmp(closed, "before"))
        MPI_File_close(&own);
    MPI_File_close(&file);
    if (!strcmp(closed, "after"))
        MPI_File_close(&own);
    MPI_Finalize();
    free(bytes);
    return 0;
}
