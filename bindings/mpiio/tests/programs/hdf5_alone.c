/* Parallel HDF5: each rank writes its part of a dataset independently, and then of another collectively, and reads the part of the
 * next rank. HDF5 1.14 and later asks MPI whether a written byte is visible at once, and refuses independent writes if not. */
#include "program.h"

#include <hdf5.h>

#define COUNT 100

/* An HDF5 call that must succeed. */
#define OK(call) must((call) >= 0 ? MPI_SUCCESS : -1, #call, __LINE__)

static void dataset(hid_t file, const char *name, H5FD_mpio_xfer_t how)
{
    hsize_t size = COUNT * ranks, count = COUNT, own = COUNT * rank, next = COUNT * ((rank + 1) % ranks);
    hid_t space = H5Screate_simple(1, &size, NULL), memory = H5Screate_simple(1, &count, NULL);
    hid_t data = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    OK(space);
    OK(memory);
    OK(data);
    OK(transfer);
    OK(H5Pset_dxpl_mpio(transfer, how));
    int values[COUNT], back[COUNT] = {0};
    for (int i = 0; i < COUNT; i++)
        values[i] = value(rank, i);
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &own, NULL, &count, NULL));
    herr_t code = H5Dwrite(data, H5T_NATIVE_INT, memory, space, transfer, values);
    /* Each rank has printed its error before another ends the job. */
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    OK(code);
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &next, NULL, &count, NULL));
    OK(H5Dread(data, H5T_NATIVE_INT, memory, space, transfer, back));
    for (int i = 0; i < COUNT; i++)
        TRUE(back[i] == value((rank + 1) % ranks, i));
    OK(H5Pclose(transfer));
    OK(H5Dclose(data));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    say("%s: written and read\n", name);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    unsigned version[3];
    OK(H5get_libversion(&version[0], &version[1], &version[2]));
    say("HDF5 %u.%u.%u\n", version[0], version[1], version[2]);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    OK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    OK(file);
    dataset(file, "independent", H5FD_MPIO_INDEPENDENT);
    dataset(file, "collective", H5FD_MPIO_COLLECTIVE);
    OK(H5Fclose(file));
    OK(H5Pclose(access));
    finish();
    return 0;
}
