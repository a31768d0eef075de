/* Pieces of PIECE bytes, ranks in turns: independent (write_at a piece) or collective (a view, one call). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int collective = !strcmp(argv[2], "collective");
    long piece = atol(argv[3]), count = atol(argv[4]);
    int steps = argc > 5 ? atoi(argv[5]) : 1;
    char *data = malloc(piece * count);
    memset(data, 'a' + rank, piece * count);
    MPI_File f;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_Datatype type;
    MPI_Type_vector(count, piece, piece * size, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        MPI_Offset base = (MPI_Offset)step * piece * count * size + piece * rank;
        if (collective) {
            MPI_File_set_view(f, base, MPI_BYTE, type, "native", MPI_INFO_NULL);
            MPI_File_write_all(f, data, piece * count, MPI_BYTE, MPI_STATUS_IGNORE);
        } else
            for (long i = 0; i < count; i++)
                MPI_File_write_at(f, base + i * piece * size, data + i * piece, piece, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    double took = MPI_Wtime() - start, most;
    MPI_Reduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (!rank) printf("write time: %.6f s\n", most);
    MPI_File_close(&f);
    MPI_Finalize();
    return 0;
}
