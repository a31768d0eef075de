/* MPI_File_delete is local: a rank that deletes a file alone deletes it, also just after others have deleted a file of that name.
 * deletions PATH all|one: all ranks delete the file at once, or one. Then the file is written. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, bad;

static void is(int right, const char *what)
{
    if (!right)
        bad = 1, printf("rank %d: %s\n", rank, what);
}

static int class_of(int code)
{
    MPI_Error_class(code, &code);
    return code;
}

/* Makes the file; no rank deletes it at the same time. */
static void make(const char *path)
{
    MPI_File file;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        MPI_File_close(&file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int ranks, code = MPI_SUCCESS, deleted, any;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *path = argv[1];
    const int all = argc > 2 && !strcmp(argv[2], "all");
    make(path);
    if (all || rank == 0)
        code = MPI_File_delete(path, MPI_INFO_NULL);
    is(code == MPI_SUCCESS || class_of(code) == MPI_ERR_NO_SUCH_FILE, "neither deleted nor missing");
    deleted = code == MPI_SUCCESS && (all || rank == 0);
    MPI_Allreduce(MPI_IN_PLACE, &deleted, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    is(deleted == 1, "not exactly one rank deleted the file");
    is(access(path, F_OK) != 0, "the file is there");

    /* The file is made again, and the last rank alone deletes it. */
    make(path);
    is(access(path, F_OK) == 0, "the file was not made again");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1)
        is(MPI_File_delete(path, MPI_INFO_NULL) == MPI_SUCCESS, "the last rank cannot delete the file");
    MPI_Barrier(MPI_COMM_WORLD);
    is(access(path, F_OK) != 0, "the last rank has not deleted the file");
    if (rank == 0 && !all)
        is(class_of(MPI_File_delete(path, MPI_INFO_NULL)) == MPI_ERR_NO_SUCH_FILE, "a missing file was deleted");
    MPI_Barrier(MPI_COMM_WORLD);

    for (int i = 0; i < 2; i++) {
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        MPI_File_write_at_all(file, rank * sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf(any ? "wrong\n" : "ok\n");
    MPI_Finalize();
    return any;
}
