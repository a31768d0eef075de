/* History output of an ocean model through NetCDF-4: a grid of longitude, latitude and depth that is cut into tiles, three fields
 * of three dimensions and one of two, one record a day.
 *
 *     netcdf4_ocean FILE RANKS_IN_LONGITUDE */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 12, LATITUDE = 90, LONGITUDE = 120, DAYS = 4, FIELDS = 3 };

static void check(int status)
{
    if (status != NC_NOERR) {
        fprintf(stderr, "netcdf4_ocean: %s\n", nc_strerror(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* The part of `all` that is `part`'s of `parts`. */
static void share(size_t all, int part, int parts, size_t *start, size_t *count)
{
    *start = all * part / parts;
    *count = all * (part + 1) / parts - *start;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int across = argc > 2 ? atoi(argv[2]) : 0;
    if (across < 1 || ranks % across != 0) {
        if (rank == 0)
            fprintf(stderr, "netcdf4_ocean FILE RANKS_IN_LONGITUDE, which must divide the ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    size_t x, nx, y, ny;
    share(LONGITUDE, rank % across, across, &x, &nx);
    share(LATITUDE, rank / across, ranks / across, &y, &ny);

    int file, time, depth, latitude, longitude, height, field[FIELDS];
    const char *names[FIELDS] = {"thetao", "so", "uo"};
    check(nc_create_par(argv[1], NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
    check(nc_def_dim(file, "time", NC_UNLIMITED, &time));
    check(nc_def_dim(file, "depth", DEPTH, &depth));
    check(nc_def_dim(file, "lat", LATITUDE, &latitude));
    check(nc_def_dim(file, "lon", LONGITUDE, &longitude));
    int whole[4] = {time, depth, latitude, longitude}, flat[3] = {time, latitude, longitude};
    size_t chunk[4] = {1, 1, LATITUDE, LONGITUDE};
    for (int f = 0; f < FIELDS; f++) {
        check(nc_def_var(file, names[f], NC_FLOAT, 4, whole, &field[f]));
        check(nc_def_var_chunking(file, field[f], NC_CHUNKED, chunk));
        check(nc_var_par_access(file, field[f], NC_COLLECTIVE));
    }
    check(nc_def_var(file, "zos", NC_FLOAT, 3, flat, &height));
    check(nc_var_par_access(file, height, NC_COLLECTIVE));
    check(nc_enddef(file));

    float *tile = malloc(sizeof *tile * nx * ny * DEPTH);
    for (size_t i = 0; i < nx * ny * DEPTH; i++)
        tile[i] = (float)(rank + (double)(i % 89) / 89);
    for (size_t day = 0; day < DAYS; day++) {
        size_t start4[4] = {day, 0, y, x}, count4[4] = {1, DEPTH, ny, nx};
        size_t start3[3] = {day, y, x}, count3[3] = {1, ny, nx};
        for (int f = 0; f < FIELDS; f++)
            check(nc_put_vara_float(file, field[f], start4, count4, tile));
        check(nc_put_vara_float(file, height, start3, count3, tile));
    }
    free(tile);
    check(nc_close(file));
    MPI_Finalize();
    return 0;
}
