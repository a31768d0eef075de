/* Erroneous on purpose: rank 1 is in another collective call on the file than the other ranks.
 * apart PATH CALL_OF_RANK_1 CALL_OF_THE_OTHERS [fresh|written [SECONDS]]: opens a file, writes it once (unless `fresh`), makes
 * the calls, sleeps for two seconds on all ranks but rank 1 if rank 1 closes the file, and closes it. Prints the class of each
 * rank's call and, if no rank closed, of the next write. A rank that waits for SECONDS ends itself, and so the job. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static MPI_File file;
static char bytes[1 << 16];
static int rank;

static int is(const char *call, const char *name) { return !strcmp(call, name); }

static int class_of(int code)
{
    int class = 0;
    if (code > 0)
        MPI_Error_class(code, &class);
    return code < 0 ? MPI_ERR_OTHER : class;
}

/* Makes a call by its name without MPI_File_, and returns its error class. */
static int made(const char *call)
{
    MPI_Offset at = 1000 * rank;
    MPI_Request request;
    int code = 0;
    if (is(call, "write_at_all"))
        code = MPI_File_write_at_all(file, at, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (is(call, "write_all"))
        code = MPI_File_write_all(file, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (is(call, "read_at_all"))
        code = MPI_File_read_at_all(file, at, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (is(call, "iwrite_at_all"))
        code = MPI_File_iwrite_at_all(file, at, bytes, 1000, MPI_BYTE, &request);
    else if (is(call, "iread_at_all"))
        code = MPI_File_iread_at_all(file, at, bytes, 1000, MPI_BYTE, &request);
    else if (is(call, "write_at_all_begin"))
        code = MPI_File_write_at_all_begin(file, at, bytes, 1000, MPI_BYTE);
    else if (is(call, "read_at_all_begin"))
        code = MPI_File_read_at_all_begin(file, at, bytes, 1000, MPI_BYTE);
    else if (is(call, "sync"))
        code = MPI_File_sync(file);
    else if (is(call, "set_size"))
        code = MPI_File_set_size(file, 100000);
    else if (is(call, "set_view"))
        code = MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    else if (is(call, "close"))
        code = MPI_File_close(&file);
    if (!code && *call == 'i')
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!code && is(call, "write_at_all_begin"))
        code = MPI_File_write_at_all_end(file, bytes, MPI_STATUS_IGNORE);
    if (!code && is(call, "read_at_all_begin"))
        code = MPI_File_read_at_all_end(file, bytes, MPI_STATUS_IGNORE);
    return class_of(code);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *call = rank == 1 ? argv[2] : argv[3];
    int closes = is(argv[2], "close");
    alarm(argc > 5 ? atoi(argv[5]) : 100);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    if (argc < 5 || !is(argv[4], "fresh"))
        MPI_File_write_at_all(file, 60000 * rank, bytes, 60000, MPI_BYTE, MPI_STATUS_IGNORE);
    printf("rank %d: %s: %d\n", rank, call, made(call));
    fflush(stdout);
    if (closes && rank != 1)
        sleep(2);
    if (!closes)
        printf("rank %d: next: %d\n", rank, made("write_at_all"));
    if (!is(call, "close"))
        MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: end\n", rank);
    MPI_Finalize();
    return 0;
}
