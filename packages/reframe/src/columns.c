/* Writes records of a two-dimensional array, of which every rank has some columns, by collective calls of PnetCDF; then reads and
 * compares them. Prints the speed of the writes, and "verified". */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { RECORDS = 4, ROWS = 512, COLUMNS = 64 };

#define MUST(call)                                                                                                            \
    do {                                                                                                                      \
        int error_ = (call);                                                                                                  \
        if (error_ != NC_NOERR) {                                                                                             \
            fprintf(stderr, "%s: %s\n", #call, ncmpi_strerror(error_));                                                       \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                                     \
        }                                                                                                                     \
    } while (0)

static double value(int rank, long i) { return rank * 1e6 + i; }

int main(int argc, char **argv)
{
    int rank, ranks, file, dimensions[3], variable;
    const long count_of_own = (long)ROWS * COLUMNS;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 2) {
        if (rank == 0)
            fprintf(stderr, "usage: columns FILE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double *own = malloc(count_of_own * sizeof *own);
    MPI_Offset start[3] = {0, 0, (MPI_Offset)rank * COLUMNS}, count[3] = {1, ROWS, COLUMNS};

    MUST(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
    MUST(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dimensions[0]));
    MUST(ncmpi_def_dim(file, "row", ROWS, &dimensions[1]));
    MUST(ncmpi_def_dim(file, "column", (MPI_Offset)ranks * COLUMNS, &dimensions[2]));
    MUST(ncmpi_def_var(file, "field", NC_DOUBLE, 3, dimensions, &variable));
    MUST(ncmpi_enddef(file));
    double begin = MPI_Wtime();
    for (int record = 0; record < RECORDS; record++) {
        for (long i = 0; i < count_of_own; i++)
            own[i] = value(rank, record * count_of_own + i);
        start[0] = record;
        MUST(ncmpi_put_vara_double_all(file, variable, start, count, own));
    }
    MUST(ncmpi_close(file));
    double seconds = MPI_Wtime() - begin, slowest;
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);

    long wrong = 0, all_wrong;
    MUST(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &file));
    MUST(ncmpi_inq_varid(file, "field", &variable));
    for (int record = 0; record < RECORDS; record++) {
        start[0] = record;
        MUST(ncmpi_get_vara_double_all(file, variable, start, count, own));
        for (long i = 0; i < count_of_own; i++)
            wrong += own[i] != value(rank, record * count_of_own + i);
    }
    MUST(ncmpi_close(file));
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        double bytes = (double)RECORDS * count_of_own * sizeof *own * ranks;
        printf("write %.1f MiB/s\n", bytes / slowest / (1 << 20));
        puts(all_wrong ? "wrong values" : "verified");
    }
    free(own);
    MPI_Finalize();
    return all_wrong != 0;
}
