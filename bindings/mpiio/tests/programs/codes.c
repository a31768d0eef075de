/* Errors that the library prints, or not. codes PATH default|returns|later|fatal: on a file with this error handler (`later`:
 * MPI_ERRORS_RETURN is set for all files before the open), makes calls that fail, each twice, and prints their classes. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void result(const char *call, int code)
{
    int class = 0, rank;
    if (code)
        MPI_Error_class(code, &class);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d: %s: %s\n", rank, call, class ? "failed" : "ok");
}

int main(int argc, char **argv)
{
    int rank, byte = 0;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(argv[2], "later"))
        MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    if (!strcmp(argv[2], "returns"))
        MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
    for (int time = 0; time < 2; time++) {
        /* The first rank's datatype is not committed, and its count is negative: all ranks get the error. */
        MPI_Datatype type;
        MPI_Request request;
        MPI_Type_contiguous(1, MPI_BYTE, &type);
        result("datatype", MPI_File_read_at_all(file, 0, &byte, 1, rank ? MPI_BYTE : type, MPI_STATUS_IGNORE));
        result("count", MPI_File_read_at_all(file, 0, &byte, rank ? 1 : -1, MPI_BYTE, MPI_STATUS_IGNORE));
        MPI_File_iread_at_all(file, 0, &byte, rank ? 1 : -1, MPI_BYTE, &request);
        result("request", MPI_Wait(&request, MPI_STATUS_IGNORE));
        MPI_Type_free(&type);
        /* MPI alone returns this error without a line, if it is one. */
        int code = MPI_File_sync(file);
        if (!rank)
            printf("sync: %s\n", code ? "failed" : "ok");
    }
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
