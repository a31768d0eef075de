/* What ncmpi_create and ncmpi_open of PnetCDF 1.15 do before they open a file, in the same MPI calls: the hints of PNETCDF_HINTS
 * override those of the program, and nc_driver among them chooses the driver. `like_pnetcdf_1_14` does it without a choice. The
 * file gets a byte of each rank by the driver. Returns the driver's name. */
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { BYTES = 1000 };

static MPI_Info combined(MPI_Info info)
{
    MPI_Info all;
    char *hints = getenv("PNETCDF_HINTS"), *end;
    if (info == MPI_INFO_NULL)
        MPI_Info_create(&all);
    else
        MPI_Info_dup(info, &all);
    hints = hints ? strdup(hints) : NULL;
    for (char *hint = strtok_r(hints ? hints : "", ";", &end); hint; hint = strtok_r(NULL, ";", &end)) {
        char *value = strchr(hint, '=');
        *value++ = 0;
        MPI_Info_set(all, hint, value);
    }
    free(hints);
    MPI_Info_set(all, "NUMA_ID", "0");
    return all;
}

static void by_mpi(MPI_Comm comm, const char *path, MPI_Info info, int rank, const char *bytes)
{
    MPI_File file;
    if (MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) ||
        MPI_File_write_at_all(file, (MPI_Offset)rank * BYTES, bytes, BYTES, MPI_BYTE, MPI_STATUS_IGNORE) || MPI_File_close(&file))
        MPI_Abort(comm, 1);
}

static void by_gio(MPI_Comm comm, const char *path, int rank, const char *bytes)
{
    int file = open(path, O_CREAT | O_RDWR, 0600);
    if (file < 0 || pwrite(file, bytes, BYTES, (off_t)rank * BYTES) != BYTES || close(file))
        MPI_Abort(comm, 1);
    MPI_Barrier(comm);
}

static const char *create(MPI_Comm comm, const char *path, MPI_Info info, int is_gio_there)
{
    char value[MPI_MAX_INFO_VAL], bytes[BYTES];
    int found, rank, is_gio = is_gio_there;
    MPI_Info all = combined(info);
    MPI_Comm_rank(comm, &rank);
    memset(bytes, 'a' + rank, sizeof bytes);
    if (is_gio_there) {
        MPI_Info_get(all, "nc_var_align_size", MPI_MAX_INFO_VAL - 1, value, &found);
        MPI_Info_get(all, "nc_driver", MPI_MAX_INFO_VAL - 1, value, &found);
        if (found)
            is_gio = strcasecmp(value, "mpiio") != 0;
    }
    if (is_gio)
        by_gio(comm, path, rank, bytes);
    else
        by_mpi(comm, path, all, rank, bytes);
    MPI_Info_free(&all);
    return is_gio ? "gio" : "mpiio";
}

const char *like_pnetcdf_1_15(MPI_Comm comm, const char *path, MPI_Info info)
{
    return create(comm, path, info, 1);
}

const char *like_pnetcdf_1_14(MPI_Comm comm, const char *path, MPI_Info info)
{
    return create(comm, path, info, 0);
}
