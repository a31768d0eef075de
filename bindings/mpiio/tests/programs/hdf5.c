/* Parallel HDF5: collective transfers of hyperslabs, of points, of chunks and of compressed chunks. Times are not kept, so
 * that equal programs write equal files. */
#include "program.h"

#include <hdf5.h>

#define ROWS 96
#define COLUMNS 60 /* of a rank */

/* An HDF5 call that must succeed. */
#define OK(call) must((call) >= 0 ? MPI_SUCCESS : -1, #call, __LINE__)

static hid_t collective;
static double data[ROWS][COLUMNS], back[ROWS][COLUMNS];

static double due(int of, int row, int column)
{
    return 1 + of + row / 128.0 + 1000.0 * column;
}

static void fill(void)
{
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            data[row][column] = due(rank, row, column);
}

static hid_t with(hid_t class)
{
    hid_t list = H5Pcreate(class);
    OK(list);
    return list;
}

/* This rank's part of the whole: a block of columns, or with `in_turns` every ranks-th column. */
static hid_t part(hid_t space, int of, int in_turns)
{
    hsize_t start[2] = {0, in_turns ? of : of * COLUMNS}, stride[2] = {1, in_turns ? ranks : 1};
    hsize_t count[2] = {ROWS, COLUMNS};
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL));
    return space;
}

static hid_t create(hid_t file, const char *name, hsize_t chunk, int compressed, int filled)
{
    hsize_t whole[2] = {ROWS, (hsize_t)COLUMNS * ranks}, chunks[2] = {chunk, chunk};
    hid_t space = H5Screate_simple(2, whole, NULL), list = with(H5P_DATASET_CREATE);
    OK(H5Pset_obj_track_times(list, 0));
    OK(H5Pset_fill_time(list, filled ? H5D_FILL_TIME_ALLOC : H5D_FILL_TIME_NEVER));
    if (chunk)
        OK(H5Pset_chunk(list, 2, chunks));
    if (compressed)
        OK(H5Pset_deflate(list, 4));
    hid_t set = H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    OK(set);
    OK(H5Pclose(list));
    OK(H5Sclose(space));
    return set;
}

static void write_set(hid_t file, const char *name, hsize_t chunk, int in_turns, int compressed)
{
    H5D_mpio_actual_io_mode_t mode;
    hid_t set = create(file, name, chunk, compressed, 0), memory, space = H5Dget_space(set);
    hsize_t own[2] = {ROWS, COLUMNS};
    memory = H5Screate_simple(2, own, NULL);
    OK(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, part(space, rank, in_turns), collective, data));
    OK(H5Pget_mpio_actual_io_mode(collective, &mode));
    say("%s: written %s\n", name, mode == H5D_MPIO_NO_COLLECTIVE ? "independently" : "collectively");
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Dclose(set));
}

static void read_set(hid_t file, const char *name, int in_turns)
{
    int of = (rank + 1) % ranks;
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set), memory;
    hsize_t own[2] = {ROWS, COLUMNS};
    OK(set);
    memory = H5Screate_simple(2, own, NULL);
    memset(back, 0, sizeof back);
    OK(H5Dread(set, H5T_NATIVE_DOUBLE, memory, part(space, of, in_turns), collective, back));
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            TRUE(back[row][column] == due(of, row, column));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Dclose(set));
    say("%s: read\n", name);
}

/* Points of no order, in a dataset that is filled with zeros before; ranks without any take part. */
static void points(hid_t file)
{
    enum { POINTS = 200 };
    int n = rank % 3 == 2 ? 0 : POINTS;
    hsize_t at[POINTS][2], own = POINTS;
    hid_t set = create(file, "points", 0, 0, 1), space = H5Dget_space(set), memory = H5Screate_simple(1, &own, NULL);
    double values[POINTS], read[POINTS];
    for (int i = 0; i < n; i++) {
        at[i][0] = (i * 7 + rank) % ROWS;
        at[i][1] = (hsize_t)COLUMNS * rank + i * 31 % COLUMNS;
        values[i] = due(rank, at[i][0], at[i][1]);
    }
    if (n) {
        OK(H5Sselect_elements(space, H5S_SELECT_SET, n, &at[0][0]));
    } else {
        OK(H5Sselect_none(space));
        OK(H5Sselect_none(memory));
    }
    OK(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, collective, values));
    OK(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, collective, read));
    for (int i = 0; i < n; i++)
        TRUE(read[i] == values[i]);
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Dclose(set));
    say("points: written and read\n");
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    hid_t access = with(H5P_FILE_ACCESS);
    collective = with(H5P_DATASET_XFER);
    OK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    OK(H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE));
    fill();
    hid_t file = H5Fcreate("data.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    OK(file);
    write_set(file, "blocks", 0, 0, 0);
    write_set(file, "turns", 0, 1, 0);
    write_set(file, "chunks", 12, 0, 0);
    write_set(file, "chunks-turns", 16, 1, 0);
    write_set(file, "compressed", 24, 1, 1);
    points(file);
    OK(H5Fclose(file));
    file = H5Fopen("data.h5", H5F_ACC_RDONLY, access);
    OK(file);
    read_set(file, "blocks", 0);
    read_set(file, "turns", 1);
    read_set(file, "chunks", 0);
    read_set(file, "chunks-turns", 1);
    read_set(file, "compressed", 1);
    OK(H5Fclose(file));
    OK(H5Pclose(access));
    OK(H5Pclose(collective));
    finish();
    return 0;
}
