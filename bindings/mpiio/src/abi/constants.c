/* Constants of mpi.h that are macros with casts, so that no binding generator sees them. */
#include <mpi.h>

const MPI_Datatype trib_byte = MPI_BYTE;
const MPI_Offset trib_displacement_current = MPI_DISPLACEMENT_CURRENT;

/* Classes of errors, in the order of the enumeration Class in errors.rs. */
const int trib_error_classes[13] = {
    MPI_ERR_NO_SPACE, MPI_ERR_QUOTA,      MPI_ERR_READ_ONLY, MPI_ERR_ACCESS, MPI_ERR_NO_SUCH_FILE, MPI_ERR_BAD_FILE,
    MPI_ERR_IO,       MPI_ERR_COUNT,      MPI_ERR_TYPE,      MPI_ERR_ARG,    MPI_ERR_INFO_VALUE,   MPI_ERR_OTHER,
    MPI_ERR_NO_MEM,
};

/* The MPI library that this is built for, as its version string begins. */
#if defined(OPEN_MPI)
const char trib_family[] = "Open MPI";
#elif defined(MPICH_VERSION)
const char trib_family[] = "MPICH";
#else
#error "neither Open MPI nor MPICH (or one of its kin): this mpi.h is not known"
#endif
