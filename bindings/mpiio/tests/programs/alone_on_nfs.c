/* Independent reads and writes of a file on NFS, as HDF5 makes them: it asks MPI_File_get_info whether a written byte is visible
 * at once, and refuses independent writes if the answer is "false". Ranks write, meet, and read each other's bytes.
 * alone_on_nfs FOLDER/FILE */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { COUNT = 50, ROUNDS = 4 };
static int rank, ranks, bad;

static void is(int right, const char *what, int round)
{
    if (!right)
        bad = 1, printf("rank %d, round %d: %s\n", rank, round, what);
}

static int value(int of, int round, int i)
{
    return 1000000 * (round + 1) + 1000 * of + i;
}

/* The answer that HDF5 reads. */
static const char *visible(MPI_File file)
{
    static char text[MPI_MAX_INFO_VAL + 1];
    int found;
    MPI_Info info;
    MPI_File_get_info(file, &info);
    MPI_Info_get(info, "romio_visibility_immediate", MPI_MAX_INFO_VAL, text, &found);
    MPI_Info_free(&info);
    return found ? text : "none";
}

/* Each rank writes its own bytes and reads those of the next rank. With `strided`, the ints of ranks take turns in the file. */
static void round_of(MPI_File file, int round, int strided)
{
    int bytes[COUNT], back[COUNT], count, next = (rank + 1) % ranks;
    MPI_Datatype type;
    MPI_Status status;
    for (int i = 0; i < COUNT; i++)
        bytes[i] = value(rank, round, i);
    MPI_Type_vector(COUNT, 1, strided ? ranks : 1, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Offset own = 4 * (strided ? rank : COUNT * rank), other = 4 * (strided ? next : COUNT * next);
    MPI_File_set_view(file, own, MPI_INT, type, "native", MPI_INFO_NULL);
    is(MPI_File_write_at(file, 0, bytes, COUNT / 2, MPI_INT, &status) == MPI_SUCCESS, "write_at", round);
    MPI_Get_count(&status, MPI_INT, &count);
    is(count == COUNT / 2, "count of write_at", round);
    MPI_File_seek(file, COUNT / 2, MPI_SEEK_SET);
    is(MPI_File_write(file, bytes + COUNT / 2, COUNT - COUNT / 2, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write", round);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_set_view(file, other, MPI_INT, type, "native", MPI_INFO_NULL);
    is(MPI_File_read(file, back, COUNT / 2, MPI_INT, &status) == MPI_SUCCESS, "read", round);
    MPI_Get_count(&status, MPI_INT, &count);
    is(count == COUNT / 2, "count of read", round);
    is(MPI_File_read_at(file, COUNT / 2, back + COUNT / 2, COUNT - COUNT / 2, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "read_at", round);
    for (int i = 0; i < COUNT; i++)
        is(back[i] == value(next, round, i), "other bytes", round);
    MPI_Type_free(&type);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int any, end[2] = {0, 0}, count;
    MPI_File file;
    MPI_Status status;
    MPI_Offset place;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        char folder[4096];
        snprintf(folder, sizeof folder, "%s", argv[1]);
        *strrchr(folder, '/') = 0;
        mkdir(folder, 0777);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (rank == 0)
        printf("visible: %s\n", visible(file));
    for (int round = 0; round < ROUNDS; round++) {
        round_of(file, round, round % 2);
        /* Bytes of a collective call in between. */
        if (round == 1) {
            int byte = rank;
            MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
            MPI_File_write_at_all(file, COUNT * ranks + rank, &byte, 1, MPI_INT, MPI_STATUS_IGNORE);
            MPI_File_read_at(file, COUNT * ranks + rank, &byte, 1, MPI_INT, MPI_STATUS_IGNORE);
            is(byte == rank, "own byte of a collective call", round);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    /* The end of the file: a read gets what is there, and the file pointer stops behind it. */
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_seek(file, (COUNT + 1) * ranks - 1, MPI_SEEK_SET);
    is(MPI_File_read(file, end, 2, MPI_INT, &status) == MPI_SUCCESS, "read at the end", ROUNDS);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_File_get_position(file, &place);
    is(count == 1 && end[0] == ranks - 1 && end[1] == 0 && place == (COUNT + 1) * ranks, "the end", ROUNDS);
    /* Calls that MPI runs. */
    MPI_File_set_atomicity(file, 1);
    if (rank == 0)
        printf("atomic: %s\n", visible(file));
    round_of(file, ROUNDS, 0);
    MPI_File_set_atomicity(file, 0);
    round_of(file, ROUNDS + 1, 1);
    MPI_File_close(&file);
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf(any ? "wrong\n" : "ok\n");
    MPI_Finalize();
    return any;
}
