/* A collective write leaves holes, which are written meanwhile in another way. No byte is written twice, so nothing may be lost:
 * with one handle MPI says so (MPI 4.1, 14.6.1); with two handles MPI alone loses nothing either.
 *   handles   even ranks start a write through one handle, odd ranks write the holes through a second handle of all ranks
 *   comms     even ranks write pieces in a blocking call through a handle of theirs, odd ranks the holes through a handle of theirs
 *   inflight  every rank starts an independent write of a hole, writes its pieces in a blocking collective call, and waits
 *   threads   MPI_THREAD_MULTIPLE: a thread of each odd rank writes holes while its rank is in the blocking call
 * holes_beside PATH handles|comms|inflight|threads [ROUNDS] */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = 500, PIECE = 100, HOLE = 20, UNIT = PIECE + HOLE };

static int rank, ranks;
static MPI_File other;
static char filler[HOLE];

/* The holes of this rank, each by itself. */
static void *write_holes(void *unused)
{
    for (int i = rank / 2; i < PIECES * ((ranks + 1) / 2); i += ranks / 2)
        MPI_File_write_at(other, (MPI_Offset)i * UNIT + PIECE, filler, HOLE, MPI_BYTE, MPI_STATUS_IGNORE);
    return unused;
}

int main(int argc, char **argv)
{
    int provided, lost = 0, any;
    const char *how = argc > 2 ? argv[2] : "handles";
    int is_threads = !strcmp(how, "threads"), is_comms = !strcmp(how, "comms"), is_inflight = !strcmp(how, "inflight");
    int rounds = argc > 3 ? atoi(argv[3]) : 50;
    MPI_Init_thread(&argc, &argv, is_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (is_threads && provided < MPI_THREAD_MULTIPLE) {
        if (rank == 0)
            printf("ok: this MPI has no MPI_THREAD_MULTIPLE\n");
        MPI_Finalize();
        return 0;
    }
    int even = (ranks + 1) / 2, is_odd = rank % 2;
    size_t all = (size_t)PIECES * even * UNIT;
    char *data = malloc(PIECES * PIECE), *image = malloc(all);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, is_odd, rank, &half);
    MPI_Datatype block, view;
    MPI_Type_contiguous(is_comms && is_odd ? HOLE : PIECE, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)even * UNIT, &view);
    MPI_Type_commit(&view);
    MPI_File file;
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    MPI_File_open(is_comms ? half : MPI_COMM_WORLD, argv[1], mode, MPI_INFO_NULL, &file);
    MPI_File_open(MPI_COMM_WORLD, argv[1], mode, MPI_INFO_NULL, &other);
    MPI_File_set_view(file, (MPI_Offset)(rank / 2) * UNIT + (is_comms && is_odd ? PIECE : 0), MPI_BYTE, view, "native", MPI_INFO_NULL);
    for (int round = 0; round < rounds; round++) {
        char value = 1 + round % 100;
        int bytes = is_comms && is_odd ? PIECES * HOLE : is_odd ? 0 : PIECES * PIECE;
        MPI_Request request = MPI_REQUEST_NULL;
        pthread_t thread;
        memset(data, value, PIECES * PIECE);
        memset(filler, value, HOLE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (is_inflight) {
            /* One a rank is in flight: MPICH 4.0.2 fails by itself where there are many, one in 15 runs. */
            int pieces = PIECES * even;
            for (int i = rank; i < pieces; i += ranks) {
                MPI_Offset at = (MPI_Offset)i * UNIT + PIECE;
                if (i + ranks < pieces)
                    MPI_File_write_at(other, at, filler, HOLE, MPI_BYTE, MPI_STATUS_IGNORE);
                else
                    MPI_File_iwrite_at(other, at, filler, HOLE, MPI_BYTE, &request);
            }
            MPI_File_write_at_all(file, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (!strcmp(how, "handles")) {
            MPI_File_iwrite_at_all(file, 0, data, bytes, MPI_BYTE, &request);
            if (is_odd)
                write_holes(NULL);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            if (is_threads && is_odd)
                pthread_create(&thread, NULL, write_holes, NULL);
            MPI_File_write_at_all(file, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
            if (is_threads && is_odd)
                pthread_join(thread, NULL);
        }
        MPI_File_sync(file);
        MPI_File_sync(other);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            FILE *in = fopen(argv[1], "rb");
            size_t got = fread(image, 1, all, in);
            fclose(in);
            for (size_t i = 0; i < got; i++)
                lost += image[i] != value;
            lost += (int)(all - got > HOLE ? all - got : 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
    MPI_File_close(&other);
    MPI_Comm_free(&half);
    MPI_Type_free(&block);
    MPI_Type_free(&view);
    if (rank == 0)
        printf(lost ? "wrong: %d bytes lost\n" : "ok\n", lost);
    any = rank == 0 && lost;
    MPI_Finalize();
    return any;
}
