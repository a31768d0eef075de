/* mixed_requests FILE ROUNDS: rank by rank in turns arrives late, and completes in one call requests of all kinds: a collective write in flight, an
 * independent write, a message, a persistent message, a generalised request, an inactive and a null request. All must end whatever the order in which they do
 * (MPI 4.1, sections 3.7.5 and 13.2), by MPI_Waitall, MPI_Waitany, MPI_Waitsome, MPI_Testall, MPI_Testany and MPI_Testsome. Two ranks or more. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLLECTIVE, INDEPENDENT, MESSAGE, PERSISTENT, GENERALISED, INACTIVE, NONE, ALL, BYTES = 5000 };

static int query(void *state, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_BYTE, 77);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}
static int nothing(void *state) { return MPI_SUCCESS; }
static int no_cancel(void *state, int complete) { return MPI_SUCCESS; }

static int rank, wrong;
static void is(const char *what, long found, long wanted)
{
    if (found != wanted && wrong++ < 5) printf("rank %d, %s: %ld, not %ld\n", rank, what, found, wanted);
}

/* Checks the status of one request. */
static void check(int kind, MPI_Status *status)
{
    static const int bytes[ALL] = {BYTES, BYTES / 2, 8, 4, 77, 0, 0};
    int count = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    is("bytes of a request", count, bytes[kind]);
}

/* Completes all requests in the given way. */
static void complete(int way, MPI_Request *all)
{
    MPI_Status statuses[ALL];
    int indices[ALL], seen = 0, flag = 0, n = 0;
    switch (way) {
    case 0:
        MPI_Waitall(ALL, all, statuses);
        for (int i = 0; i < ALL; i++) check(i, &statuses[i]);
        return;
    case 1:
        while (!flag) MPI_Testall(ALL, all, &flag, statuses);
        for (int i = 0; i < ALL; i++) check(i, &statuses[i]);
        return;
    case 2:
        MPI_Waitall(ALL, all, MPI_STATUSES_IGNORE);
        return;
    }
    while (1) {
        int count = 1;
        if (way == 3) MPI_Waitany(ALL, all, indices, statuses);
        if (way == 4) for (flag = 0; !flag;) MPI_Testany(ALL, all, indices, &flag, statuses);
        if (way == 5) MPI_Waitsome(ALL, all, &count, indices, statuses);
        if (way == 6) do MPI_Testsome(ALL, all, &count, indices, statuses); while (count == 0);
        if (count == MPI_UNDEFINED || indices[0] == MPI_UNDEFINED) break;
        for (int i = 0; i < count; i++) check(indices[i], &statuses[i]), seen |= 1 << indices[i], n++;
    }
    is("requests seen", seen, (1 << INACTIVE) - 1);
    is("number of requests", n, INACTIVE);
}

int main(int argc, char **argv)
{
    int ranks, rounds = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char own[BYTES], other[BYTES / 2], text[8], small[4], back[BYTES];
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Request persistent, idle;
    MPI_Recv_init(small, 4, MPI_BYTE, before, 2, MPI_COMM_WORLD, &persistent);
    MPI_Recv_init(small, 4, MPI_BYTE, before, 3, MPI_COMM_WORLD, &idle);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int round = 0; round < rounds; round++) {
        for (int way = 0; way < 7; way++) {
            MPI_Request all[ALL] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, persistent, MPI_REQUEST_NULL, idle, MPI_REQUEST_NULL};
            /* MPICH 4.0 ends the job in MPI_Testall of an independent write that has ended and another request that has not; it is left out there. */
            int with_independent = way != 1;
            memset(own, 1 + rank + round, BYTES);
            memset(other, 100 + rank + round, BYTES / 2);
            MPI_Barrier(MPI_COMM_WORLD);
            if ((round + way) % ranks == rank) usleep(2000);
            MPI_File_iwrite_at_all(file, (MPI_Offset)rank * BYTES, own, BYTES, MPI_BYTE, &all[COLLECTIVE]);
            MPI_Offset place = (MPI_Offset)(2 * ranks + rank) * BYTES;
            if (with_independent) MPI_File_iwrite_at(file, place, other, BYTES / 2, MPI_BYTE, &all[INDEPENDENT]);
            else MPI_Grequest_start(query, nothing, no_cancel, NULL, &all[INDEPENDENT]);
            MPI_Irecv(text, 8, MPI_BYTE, before, 1, MPI_COMM_WORLD, &all[MESSAGE]);
            MPI_Start(&all[PERSISTENT]);
            MPI_Grequest_start(query, nothing, no_cancel, NULL, &all[GENERALISED]);
            MPI_Request sent[2];
            MPI_Isend("message", 8, MPI_BYTE, next, 1, MPI_COMM_WORLD, &sent[0]);
            MPI_Isend("abc", 4, MPI_BYTE, next, 2, MPI_COMM_WORLD, &sent[1]);
            MPI_Request generalised = all[GENERALISED], stand_in = all[INDEPENDENT];
            MPI_Grequest_complete(generalised);
            if (!with_independent) {
                MPI_Grequest_complete(stand_in);
                MPI_Wait(&all[INDEPENDENT], MPI_STATUS_IGNORE);
                MPI_Irecv(other, BYTES / 2, MPI_BYTE, rank, 4, MPI_COMM_WORLD, &all[INDEPENDENT]);
                MPI_Send(back, BYTES / 2, MPI_BYTE, rank, 4, MPI_COMM_WORLD);
            }
            complete(way, all);
            persistent = all[PERSISTENT], idle = all[INACTIVE];
            is("null requests", (all[COLLECTIVE] == MPI_REQUEST_NULL) + (all[INDEPENDENT] == MPI_REQUEST_NULL), 2);
            MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
            MPI_File_sync(file);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_File_sync(file);
            MPI_File_read_at(file, (MPI_Offset)next * BYTES, back, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
            for (int i = 0; i < BYTES; i++) if (back[i] != (char)(1 + next + round)) { is("byte", back[i], 1 + next + round); break; }
        }
    }
    MPI_Request_free(&persistent);
    MPI_Request_free(&idle);
    MPI_File_close(&file);
    int all = 0;
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
