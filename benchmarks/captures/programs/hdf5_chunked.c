/* A two-dimensional dataset in chunks, written collectively by HDF5: each rank has a block of rows, and chunks reach over ranks.
 *
 *     hdf5_chunked FILE [deflate]
 *
 * With `deflate` the chunks are compressed: HDF5 gives each chunk to one rank, and writes them collectively. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 600, ROWS = 70, CHUNK_ROWS = 100, CHUNK_COLUMNS = 128, DATASETS = 3 };

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 2) {
        if (rank == 0)
            fprintf(stderr, "hdf5_chunked FILE [deflate]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int compressed = argc > 2 && strcmp(argv[2], "deflate") == 0;

    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk[2] = {CHUNK_ROWS, CHUNK_COLUMNS};
    H5Pset_chunk(layout, 2, chunk);
    if (compressed)
        H5Pset_deflate(layout, 4);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);

    hsize_t all[2] = {(hsize_t)ROWS * ranks, COLUMNS}, own[2] = {ROWS, COLUMNS}, start[2] = {(hsize_t)ROWS * rank, 0};
    float *values = malloc(sizeof *values * ROWS * COLUMNS);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = (float)(rank * 100 + i % 97);
    for (int d = 0; d < DATASETS; d++) {
        char name[16];
        snprintf(name, sizeof name, "field%d", d);
        hid_t space = H5Screate_simple(2, all, NULL), memory = H5Screate_simple(2, own, NULL);
        hid_t data = H5Dcreate2(file, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, layout, H5P_DEFAULT);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, own, NULL);
        if (H5Dwrite(data, H5T_NATIVE_FLOAT, memory, space, transfer, values) < 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
        H5Dclose(data);
        H5Sclose(space);
        H5Sclose(memory);
    }
    free(values);
    H5Pclose(transfer);
    H5Pclose(layout);
    H5Pclose(access);
    H5Fclose(file);
    MPI_Finalize();
    return 0;
}
