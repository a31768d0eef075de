/* Under the preload library: looks for the hint of PnetCDF's driver as PnetCDF does, in a program that has this GIO below it. */
#include "check.h"

int main(int argc, char **argv) {
    char value[MPI_MAX_INFO_VAL];
    int found;
    MPI_Info info;
    GIO_File fh;
    start(&argc, &argv);
    MPI_Info_create(&info);
    MPI_Info_get(info, "nc_driver", MPI_MAX_INFO_VAL - 1, value, &found);
    IS(found, 0);
    OK(GIO_open(MPI_COMM_WORLD, argv[1], O_CREAT | O_RDWR, info, &fh));
    OK(GIO_close(&fh));
    MPI_Info_free(&info);
    return finish();
}
