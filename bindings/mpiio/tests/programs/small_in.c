/* Writes a small file collectively in a folder that the first rank makes, and reads it back: small_in FOLDER/FILE. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
    int rank, ranks, bad, back = -1, any;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        char folder[4096];
        snprintf(folder, sizeof folder, "%s", argv[1]);
        *strrchr(folder, '/') = 0;
        mkdir(folder, 0777);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    bad = MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS;
    bad = bad || MPI_File_write_at_all(file, rank * sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    bad = bad || MPI_File_read_at_all(file, rank * sizeof rank, &back, 1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    bad = bad || back != rank || MPI_File_close(&file) != MPI_SUCCESS;
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        puts(any ? "wrong" : "ok");
    MPI_Finalize();
    return any;
}
