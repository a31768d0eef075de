/* Creates a file by what passes for PnetCDF, of the version that the first argument names, with the driver that the second
 * names, if there is one; prints which driver that takes. */
#include "program.h"

const char *like_pnetcdf_1_15(MPI_Comm comm, const char *path, MPI_Info info);
const char *like_pnetcdf_1_14(MPI_Comm comm, const char *path, MPI_Info info);

int main(int argc, char **argv)
{
    MPI_Info info = MPI_INFO_NULL;
    start(&argc, &argv);
    if (argc > 2) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "nc_driver", argv[2]);
    }
    const char *driver = (strcmp(argv[1], "1.14") ? like_pnetcdf_1_15 : like_pnetcdf_1_14)(MPI_COMM_WORLD, "data", info);
    if (argc > 2)
        MPI_Info_free(&info);
    if (rank == 0)
        printf("driver %s\n", driver);
    MPI_Finalize();
    return 0;
}
