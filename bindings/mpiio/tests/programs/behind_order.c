/* Bytes of a later write stay, although write-behind has bytes of an earlier call on another rank: in the first call ranks write
 * the same bytes, or each its own; then, after a barrier, one rank writes all of them in a collective call, in an independent one,
 * or in pieces. (Without a sync between them the standard promises nothing; no MPI library mixes them up.)
 *   behind_order PATH */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 7, PIECE = 10000, BYTES = 6 * PIECE };

static int rank, ranks, bad;
static MPI_File file;
static unsigned char block[BYTES];
static MPI_Datatype odd;

/* The first call: all ranks write the same bytes, or each its part of them. */
static void earlier(int how)
{
    int part = BYTES / ranks;
    memset(block, 100 + rank, BYTES);
    if (how == 0)
        MPI_File_write_at_all(file, 0, block, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    else
        MPI_File_write_at_all(file, rank * part, block, rank == ranks - 1 ? BYTES - rank * part : part, MPI_BYTE, MPI_STATUS_IGNORE);
}

/* The later write, mostly of rank `who`: all bytes are `value`. */
static void later(int kind, int who, int value)
{
    int mine = rank == who ? BYTES : 0, part = BYTES / ranks;
    MPI_Request request;
    memset(block, value, BYTES);
    switch (kind) {
    case 0:
        MPI_File_write_at_all(file, 0, block, mine, MPI_BYTE, MPI_STATUS_IGNORE);
        break;
    case 1:
        if (mine)
            MPI_File_write_at(file, 0, block, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
        break;
    case 2:
        if (mine) {
            MPI_File_iwrite_at(file, 0, block, BYTES, MPI_BYTE, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        break;
    case 3: /* every rank the part of its neighbour */
        MPI_File_write_at_all(file, (rank + 1) % ranks * part, block, (rank + 1) % ranks == ranks - 1 ? BYTES - (ranks - 1) * part : part,
                              MPI_BYTE, MPI_STATUS_IGNORE);
        break;
    case 4: /* in pieces, which MPI may write together with what lies between */
        for (int half = 0; half < 2; half++) {
            MPI_File_set_view(file, half * PIECE, MPI_BYTE, odd, "native", MPI_INFO_NULL);
            if (mine)
                MPI_File_write_at(file, 0, block, BYTES / 2, MPI_BYTE, MPI_STATUS_IGNORE);
        }
        MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
        break;
    case 5: /* the same, in collective calls */
        for (int half = 0; half < 2; half++) {
            MPI_File_set_view(file, half * PIECE, MPI_BYTE, odd, "native", MPI_INFO_NULL);
            MPI_File_write_at_all(file, 0, block, mine / 2, MPI_BYTE, MPI_STATUS_IGNORE);
        }
        MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
        break;
    case 6:
        MPI_File_iwrite_at_all(file, 0, block, mine, MPI_BYTE, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype piece;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, 2 * PIECE, &odd);
    MPI_Type_commit(&odd);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    for (int round = 0; round < 2 * KINDS; round++) {
        int kind = round / 2, who = kind % 2 ? ranks - 1 : 0, value = 1 + round, wrong = 0;
        earlier(round % 2);
        MPI_Barrier(MPI_COMM_WORLD);
        later(kind, who, value);
        MPI_File_sync(file);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_File_sync(file);
        memset(block, 0, BYTES);
        MPI_File_read_at(file, 0, block, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
        for (int i = 0; i < BYTES; i++)
            wrong += block[i] != value;
        if (wrong)
            printf("wrong: rank %d: first call %d, then %d of rank %d: %d bytes are not those of the later write\n", rank, round % 2,
                   kind, who, wrong);
        bad |= wrong != 0;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
    MPI_Type_free(&odd);
    MPI_Type_free(&piece);
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    if (!rank && !bad)
        printf("ok\n");
    MPI_Finalize();
    return bad;
}
