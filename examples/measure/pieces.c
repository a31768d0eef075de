/* pieces FILE BYTES COUNT CALLS: in each of CALLS collective calls every rank writes COUNT pieces of BYTES bytes, between those of the
 * other ranks. Then every rank reads the pieces of a rank of another host, where there is one, and compares them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int error)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (error == MPI_SUCCESS)
        return;
    MPI_Error_string(error, text, &length);
    fprintf(stderr, "pieces: %s\n", text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Content of 8 bytes of a rank: no two are equal. */
static long value(int rank, int call, long i) { return ((long)rank << 40) + ((long)call << 32) + i; }

static MPI_File open_as(int rank, int ranks, int bytes, const char *path, int mode)
{
    MPI_Datatype piece, resized;
    MPI_File file;
    check(MPI_Type_contiguous(bytes, MPI_BYTE, &piece));
    check(MPI_Type_create_resized(piece, 0, (MPI_Aint)bytes * ranks, &resized));
    check(MPI_Type_commit(&resized));
    check(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file));
    check(MPI_File_set_view(file, (MPI_Offset)bytes * rank, MPI_BYTE, resized, "native", MPI_INFO_NULL));
    MPI_Type_free(&piece);
    MPI_Type_free(&resized);
    return file;
}

int main(int argc, char **argv)
{
    int rank, ranks, length;
    long wrong = 0, all_wrong;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 5) {
        fprintf(stderr, "usage: pieces FILE BYTES COUNT CALLS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const int bytes = atoi(argv[2]), count = atoi(argv[3]), calls = atoi(argv[4]), own = bytes * count;
    const long values = own / (long)sizeof(long);
    long *data = malloc(own);
    if (!data)
        MPI_Abort(MPI_COMM_WORLD, 3);

    double begin = MPI_Wtime();
    MPI_File file = open_as(rank, ranks, bytes, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY);
    for (int call = 0; call < calls; call++) {
        for (long i = 0; i < values; i++)
            data[i] = value(rank, call, i);
        check(MPI_File_write_all(file, data, own, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    check(MPI_File_close(&file));
    double written = MPI_Wtime();

    const int other = (rank + (ranks + 1) / 2) % ranks;
    file = open_as(other, ranks, bytes, argv[1], MPI_MODE_RDONLY);
    for (int call = 0; call < calls; call++) {
        memset(data, -1, own);
        check(MPI_File_read_all(file, data, own, MPI_BYTE, MPI_STATUS_IGNORE));
        for (long i = 0; i < values; i++)
            wrong += data[i] != value(other, call, i);
    }
    check(MPI_File_close(&file));
    double read = MPI_Wtime();

    MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Get_library_version(version, &length);
        version[strcspn(version, "\n,")] = 0;
        printf("%s\n%d ranks, %d calls of %d pieces of %d bytes a rank: write %.3f s, read %.3f s, %ld wrong\n", version, ranks, calls,
               count, bytes, written - begin, read - written, all_wrong);
    }
    free(data);
    MPI_Finalize();
    return 0;
}
