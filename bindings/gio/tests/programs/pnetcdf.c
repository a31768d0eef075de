/* A program of PnetCDF: many pieces of many variables in one flush, subarrays, attributes, a redefinition that moves data,
 * reads of all that; prints whose GIO is below it. */
#include "check.h"
#include <pnetcdf.h>

#define NC(call)                                                                                                       \
    do {                                                                                                               \
        int code = (call);                                                                                             \
        if (code != NC_NOERR) {                                                                                        \
            fprintf(stderr, "%s:%d: rank %d: %s: %s\n", __FILE__, __LINE__, rank, #call, ncmpi_strerror(code));        \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
        }                                                                                                              \
    } while (0)

enum { LEVELS = 6, COLUMNS = 96, VARIABLES = 5, PIECES = 24 };

int main(int argc, char **argv) {
    int file, dims[3], scattered[VARIABLES], block, record, added, requests[VARIABLES], codes[VARIABLES];
    MPI_Offset starts[VARIABLES][PIECES][2], counts[VARIABLES][PIECES][2], *start_of[PIECES], *count_of[PIECES];
    double values[VARIABLES][PIECES * 4], back[PIECES * 4];
    char name[16];
    start(&argc, &argv);
    if (rank == 0)
        printf("GIO: %s\n", GIO_inq_libvers());

    NC(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
    NC(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dims[0]));
    NC(ncmpi_def_dim(file, "level", LEVELS, &dims[1]));
    NC(ncmpi_def_dim(file, "column", COLUMNS * ranks, &dims[2]));
    for (int v = 0; v < VARIABLES; v++) {
        snprintf(name, sizeof name, "v%d", v);
        NC(ncmpi_def_var(file, name, NC_DOUBLE, 2, dims + 1, &scattered[v]));
        NC(ncmpi_def_var_fill(file, scattered[v], 0, NULL));
    }
    NC(ncmpi_def_var(file, "block", NC_INT, 2, dims + 1, &block));
    NC(ncmpi_def_var(file, "record", NC_FLOAT, 2, (int[]){dims[0], dims[2]}, &record));
    NC(ncmpi_put_att_text(file, NC_GLOBAL, "title", 5, "lists"));
    NC(ncmpi_enddef(file));

    /* Pieces of up to four columns, dealt to the ranks in turn, all variables in one flush. */
    for (int v = 0; v < VARIABLES; v++) {
        for (int p = 0; p < PIECES; p++) {
            starts[v][p][0] = p % LEVELS;
            starts[v][p][1] = (MPI_Offset)(p / LEVELS * 4 * ranks + rank * 4) + v % 2;
            counts[v][p][0] = 1;
            counts[v][p][1] = 3 - v % 3;
            start_of[p] = starts[v][p];
            count_of[p] = counts[v][p];
        }
        for (int i = 0; i < PIECES * 4; i++)
            values[v][i] = rank * 1000 + v * 100 + i;
        NC(ncmpi_iput_varn_double(file, scattered[v], PIECES, start_of, count_of, values[v], &requests[v]));
    }
    NC(ncmpi_wait_all(file, VARIABLES, requests, codes));
    for (int v = 0; v < VARIABLES; v++)
        NC(codes[v]);

    /* A block of columns of every rank; the last has nothing. */
    int columns[LEVELS * COLUMNS];
    MPI_Offset from[2] = {0, (MPI_Offset)rank * COLUMNS}, size[2] = {LEVELS, rank == ranks - 1 ? 0 : COLUMNS};
    for (int i = 0; i < LEVELS * COLUMNS; i++)
        columns[i] = rank + i;
    NC(ncmpi_put_vara_int_all(file, block, from, size, columns));
    /* Records, one after the other, by each rank alone. */
    NC(ncmpi_begin_indep_data(file));
    for (int r = 0; r < 3; r++) {
        float row[COLUMNS];
        MPI_Offset at[2] = {r, (MPI_Offset)rank * COLUMNS}, so_many[2] = {1, COLUMNS};
        for (int i = 0; i < COLUMNS; i++)
            row[i] = (float)(r * 10 + rank) + (float)i / 128;
        NC(ncmpi_put_vara_float(file, record, at, so_many, row));
    }
    NC(ncmpi_end_indep_data(file));
    NC(ncmpi_sync(file));

    /* One more variable and a long attribute: what there is moves. */
    char text[5000];
    memset(text, 'x', sizeof text);
    NC(ncmpi_redef(file));
    NC(ncmpi_put_att_text(file, NC_GLOBAL, "long", sizeof text, text));
    NC(ncmpi_def_var(file, "added", NC_SHORT, 1, dims + 2, &added));
    NC(ncmpi_enddef(file));
    short shorts[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        shorts[i] = (short)(rank + i);
    NC(ncmpi_put_vara_short_all(file, added, from + 1, (MPI_Offset[]){COLUMNS}, shorts));
    NC(ncmpi_close(file));

    NC(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &file));
    for (int v = 0; v < VARIABLES; v++) {
        MPI_Offset length = 0;
        for (int p = 0; p < PIECES; p++) {
            start_of[p] = starts[v][p];
            count_of[p] = counts[v][p];
            length += counts[v][p][1];
        }
        NC(ncmpi_inq_varid(file, (snprintf(name, sizeof name, "v%d", v), name), &scattered[v]));
        NC(ncmpi_get_varn_double_all(file, scattered[v], PIECES, start_of, count_of, back));
        IS(memcmp(back, values[v], (size_t)length * sizeof(double)), 0);
    }
    NC(ncmpi_close(file));
    return finish();
}
