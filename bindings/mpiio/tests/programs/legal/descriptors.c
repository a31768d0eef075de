/* A program uses up its descriptors once its file is open: MPI needs no more for the file's calls, so nothing may fail.
 * descriptors PATH first|later|one     the first collective call, or a later one, comes with no descriptor left; "one" is left to
 *                                      even ranks */
#include <mpi.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N = 20000 };

int main(int argc, char **argv)
{
    int rank, ranks, bad = 0, any, last = -1;
    static int data[N], back[N];
    const char *when = argc > 2 ? argv[2] : "first";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Datatype one;
    MPI_Type_vector(N, 1, ranks, MPI_INT, &one);
    MPI_Type_commit(&one);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, rank * 4, MPI_INT, one, "native", MPI_INFO_NULL);
    if (!strcmp(when, "later"))
        MPI_File_write_at_all(file, 0, data, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int next; (next = open("/dev/null", O_RDONLY)) >= 0;)
        last = next;
    if (!strcmp(when, "one") && rank % 2 == 0)
        close(last);
    for (int i = 0; i < N; i++)
        data[i] = rank * N + i;
    for (int round = 0; round < 3 && !bad; round++) {
        int code = MPI_File_write_at_all(file, 0, data, N, MPI_INT, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS)
            bad = 1, printf("rank %d: write: code %d\n", rank, code);
        memset(back, 0, sizeof back);
        code = MPI_File_read_at_all(file, 0, back, N, MPI_INT, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || memcmp(data, back, sizeof data))
            bad = 1, printf("rank %d: read: code %d, or other bytes\n", rank, code);
    }
    MPI_File_close(&file);
    MPI_Type_free(&one);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf(any ? "wrong\n" : "ok\n");
    MPI_Finalize();
    return any;
}
