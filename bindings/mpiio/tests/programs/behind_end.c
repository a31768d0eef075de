/* The end of the file that completed collective writes define, while write-behind still has their bytes: what a rank asks on the
 * same file handle without a sync sees at least the end of its own bytes (MPI 4.1, 14.6.1). A hole before them is zeros.
 *   behind_end PATH */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 << 10, STEP = 16 * BLOCK, SHORT = 1000 };

static int rank, ranks, bad;
static MPI_File file;
static char block[BLOCK], bytes[SHORT];
static MPI_Offset base;

static void is(const char *what, long long got, long long due)
{
    if (got != due)
        printf("wrong: rank %d: %s: %lld instead of %lld\n", rank, what, got, due);
    bad |= got != due;
}

/* Every rank writes a block after a hole, farther in the file than all before. Returns the end of this rank's block. */
static MPI_Offset leave(void)
{
    base += STEP;
    memset(block, rank + 1, BLOCK);
    memset(bytes, 9, SHORT);
    MPI_File_write_at_all(file, base + (8 + rank) * (MPI_Offset)BLOCK, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    return base + (9 + rank) * (MPI_Offset)BLOCK;
}

static void is_hole(const char *what, MPI_Status *status)
{
    int count, filled = 0;
    MPI_Get_count(status, MPI_BYTE, &count);
    is(what, count, SHORT);
    for (int i = 0; i < SHORT; i++)
        filled += bytes[i] != 0;
    is("bytes of the hole that are not zero", filled, 0);
}

static void is_at(const char *what, MPI_Offset due)
{
    MPI_Offset position;
    MPI_File_get_position(file, &position);
    is(what, position, due);
}

int main(int argc, char **argv)
{
    MPI_Status status;
    MPI_Request request;
    MPI_Offset end, got;
    MPI_Datatype strided;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);

    leave();
    MPI_File_read_at(file, base, bytes, SHORT, MPI_BYTE, &status);
    is_hole("MPI_File_read_at", &status);
    leave();
    MPI_File_seek(file, base, MPI_SEEK_SET);
    MPI_File_read(file, bytes, SHORT, MPI_BYTE, &status);
    is_hole("MPI_File_read", &status);
    is_at("the pointer after MPI_File_read", base + SHORT);
    leave();
    MPI_File_iread_at(file, base, bytes, SHORT, MPI_BYTE, &request);
    MPI_Wait(&request, &status);
    is_hole("MPI_File_iread_at", &status);
    leave();
    MPI_File_seek(file, base, MPI_SEEK_SET);
    MPI_File_iread(file, bytes, SHORT, MPI_BYTE, &request);
    MPI_Wait(&request, &status);
    is_hole("MPI_File_iread", &status);
    leave();
    MPI_File_read_at_all(file, base, bytes, SHORT, MPI_BYTE, &status);
    is_hole("MPI_File_read_at_all", &status);
    leave();
    MPI_File_seek_shared(file, base, MPI_SEEK_SET);
    MPI_File_read_shared(file, bytes, SHORT, MPI_BYTE, &status);
    is_hole("MPI_File_read_shared", &status);
    leave();
    MPI_File_seek_shared(file, base, MPI_SEEK_SET);
    MPI_File_read_ordered(file, bytes, SHORT, MPI_BYTE, &status);
    is_hole("MPI_File_read_ordered", &status);
    end = leave();
    MPI_File_get_size(file, &got);
    is("MPI_File_get_size before the end of the rank's own bytes", got < end, 0);
    end = leave();
    MPI_File_seek(file, 0, MPI_SEEK_END);
    MPI_File_get_position(file, &got);
    is("MPI_SEEK_END before the end of the rank's own bytes", got < end, 0);

    /* Four bytes in the hole: MPI may read the bytes between and write them again. */
    MPI_Type_vector(4, 1, SHORT / 4, MPI_BYTE, &strided);
    MPI_Type_commit(&strided);
    leave();
    memset(block, 0, SHORT);
    MPI_File_set_view(file, base, MPI_BYTE, strided, "native", MPI_INFO_NULL);
    if (rank == 0)
        MPI_File_write_at(file, 0, block, 4, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    if (rank == 0) {
        MPI_File_read_at(file, base, bytes, SHORT, MPI_BYTE, &status);
        is_hole("MPI_File_read_at after a strided write", &status);
    }
    MPI_Type_free(&strided);

#ifndef OPEN_MPI /* OMPIO seeks to another place there, also without the library. */
    /* In a view for which MPI keeps the pointer. */
    end = leave();
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL);
    MPI_File_seek(file, 0, MPI_SEEK_END);
    MPI_File_get_position(file, &got);
    is("MPI_SEEK_END in another representation", got < end, 0);
#endif
    MPI_File_close(&file);
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    if (!rank && !bad)
        printf("ok\n");
    MPI_Finalize();
    return bad;
}
