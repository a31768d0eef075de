/* PnetCDF: VARS variables of rows, ranks have blocks of columns; independent (put_vara) or collective (put_vara_all). */
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(call) do { int e = (call); if (e) { fprintf(stderr, "%s\n", ncmpi_strerror(e)); MPI_Abort(MPI_COMM_WORLD, 1); } } while (0)
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, file, dims[2], var[64];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int collective = !strcmp(argv[2], "collective"), vars = atoi(argv[3]);
    MPI_Offset rows = atol(argv[4]), columns = atol(argv[5]);
    CHECK(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
    CHECK(ncmpi_def_dim(file, "y", rows, &dims[0]));
    CHECK(ncmpi_def_dim(file, "x", columns * size, &dims[1]));
    for (int i = 0; i < vars; i++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", i);
        CHECK(ncmpi_def_var(file, name, NC_DOUBLE, 2, dims, &var[i]));
    }
    CHECK(ncmpi_enddef(file));
    double *data = malloc(rows * columns * sizeof *data);
    for (MPI_Offset i = 0; i < rows * columns; i++) data[i] = rank + i;
    MPI_Offset start[2] = {0, rank * columns}, count[2] = {rows, columns};
    if (!collective) CHECK(ncmpi_begin_indep_data(file));
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < vars; i++)
        if (collective) CHECK(ncmpi_put_vara_double_all(file, var[i], start, count, data));
        else CHECK(ncmpi_put_vara_double(file, var[i], start, count, data));
    double took = MPI_Wtime() - begin, most;
    MPI_Reduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (!rank) printf("write time: %.6f s\n", most);
    if (!collective) CHECK(ncmpi_end_indep_data(file));
    CHECK(ncmpi_close(file));
    MPI_Finalize();
    return 0;
}
