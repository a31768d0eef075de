/* PnetCDF: fixed and record variables, written collectively by ncmpi_put_vara and by nonblocking ncmpi_iput_varn that one
 * wait_all flushes, and read back both ways. */
#include "program.h"

#include <pnetcdf.h>

#define COLUMNS 60 /* of a rank */
#define LEVELS 12
#define RECORDS 3
#define PIECES 30 /* of a rank in a call of varn */

/* A PnetCDF call that must succeed. */
#define OK(call) nc_must((call), #call, __LINE__)

static void nc_must(int code, const char *call, int line)
{
    if (code != NC_NOERR)
        must(-1, ncmpi_strerror(code), line);
    (void)call;
}

static double heat[LEVELS][COLUMNS], back[LEVELS][COLUMNS];
static int flags[PIECES][2], flags_back[PIECES][2];

static double due(int of, int record, int level, int column)
{
    return 1 + of + 10.0 * level + 1000.0 * column + record / 128.0;
}

/* Pieces of two columns that all ranks take turns with, over all levels. */
static void pieces(MPI_Offset starts[PIECES][2], MPI_Offset counts[PIECES][2], MPI_Offset *pointers[2][PIECES])
{
    for (int i = 0; i < PIECES; i++) {
        starts[i][0] = i % LEVELS;
        starts[i][1] = 2 * (i / LEVELS * ranks + rank);
        counts[i][0] = 1;
        counts[i][1] = 2;
        pointers[0][i] = starts[i];
        pointers[1][i] = counts[i];
        flags[i][0] = value(rank, 2 * i);
        flags[i][1] = value(rank, 2 * i + 1);
    }
}

static void fill(int record)
{
    for (int level = 0; level < LEVELS; level++)
        for (int column = 0; column < COLUMNS; column++)
            heat[level][column] = due(rank, record, level, column);
}

int main(int argc, char **argv)
{
    int file, time, level, column, variables[3], requests[RECORDS + 1], statuses[RECORDS + 1];
    static double all[RECORDS][LEVELS][COLUMNS];
    MPI_Offset starts[PIECES][2], counts[PIECES][2], *pointers[2][PIECES];
    start(&argc, &argv);
    OK(ncmpi_create(MPI_COMM_WORLD, "data.nc", NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
    OK(ncmpi_def_dim(file, "time", NC_UNLIMITED, &time));
    OK(ncmpi_def_dim(file, "level", LEVELS, &level));
    OK(ncmpi_def_dim(file, "column", (MPI_Offset)COLUMNS * ranks, &column));
    OK(ncmpi_def_var(file, "flag", NC_INT, 2, (int[]){level, column}, &variables[0]));
    OK(ncmpi_def_var(file, "fixed", NC_DOUBLE, 2, (int[]){level, column}, &variables[1]));
    OK(ncmpi_def_var(file, "heat", NC_DOUBLE, 3, (int[]){time, level, column}, &variables[2]));
    OK(ncmpi_put_att_text(file, NC_GLOBAL, "title", 4, "test"));
    OK(ncmpi_set_fill(file, NC_FILL, NULL));
    OK(ncmpi_enddef(file));

    /* A block of columns of each rank: collectively, a call at a time. */
    MPI_Offset block[3] = {0, 0, (MPI_Offset)COLUMNS * rank}, size[3] = {1, LEVELS, COLUMNS};
    fill(99);
    OK(ncmpi_put_vara_double_all(file, variables[1], block + 1, size + 1, &heat[0][0]));
    block[0] = 0;
    fill(0);
    OK(ncmpi_put_vara_double_all(file, variables[2], block, size, &heat[0][0]));

    /* Many pieces of several variables, in one flush. */
    pieces(starts, counts, pointers);
    OK(ncmpi_iput_varn_int(file, variables[0], PIECES, pointers[0], pointers[1], &flags[0][0], &requests[0]));
    for (int record = 1; record < RECORDS; record++) {
        fill(record);
        memcpy(all[record], heat, sizeof heat);
        block[0] = record;
        OK(ncmpi_iput_vara_double(file, variables[2], block, size, &all[record][0][0], &requests[record]));
    }
    OK(ncmpi_wait_all(file, RECORDS, requests, statuses));
    for (int i = 0; i < RECORDS; i++)
        OK(statuses[i]);
    OK(ncmpi_close(file));

    OK(ncmpi_open(MPI_COMM_WORLD, "data.nc", NC_NOWRITE, MPI_INFO_NULL, &file));
    int of = (rank + 1) % ranks;
    block[2] = (MPI_Offset)COLUMNS * of;
    for (int record = 0; record < RECORDS; record++) {
        block[0] = record;
        OK(ncmpi_get_vara_double_all(file, variables[2], block, size, &back[0][0]));
        for (int l = 0; l < LEVELS; l++)
            for (int c = 0; c < COLUMNS; c++)
                TRUE(back[l][c] == due(of, record, l, c));
    }
    OK(ncmpi_iget_varn_int(file, variables[0], PIECES, pointers[0], pointers[1], &flags_back[0][0], &requests[0]));
    OK(ncmpi_wait_all(file, 1, requests, statuses));
    OK(statuses[0]);
    TRUE(memcmp(flags, flags_back, sizeof flags) == 0);
    OK(ncmpi_close(file));
    say("done\n");
    finish();
    return 0;
}
