/* Nonblocking collective calls, whose requests are completed in every way that MPI has, also among requests of messages. */
#include "program.h"

#define COUNT 2000 /* ints of a rank in a call */

static MPI_File file;
static int data[4][COUNT], back[4][COUNT];
static int there, here; /* a message to the next rank, and from the one before */
static MPI_Request messages[2];

static void begin_messages(int tag)
{
    here = -1;
    there = 100 * tag + rank;
    MUST(MPI_Irecv(&here, 1, MPI_INT, (rank + ranks - 1) % ranks, tag, MPI_COMM_WORLD, &messages[0]));
    MUST(MPI_Isend(&there, 1, MPI_INT, (rank + 1) % ranks, tag, MPI_COMM_WORLD, &messages[1]));
}

static void check_messages(int tag)
{
    TRUE(here == 100 * tag + (rank + ranks - 1) % ranks);
}

static void writes(void)
{
    MPI_Request all[4];
    MPI_Status status, statuses[4];
    MPI_Offset position;
    int done, index;

    MUST(MPI_File_iwrite_all(file, data[0], COUNT, MPI_INT, &all[0]));
    MUST(MPI_Wait(&all[0], &status));
    MUST(MPI_File_get_position(file, &position));
    say("Wait: %lld bytes, null %d, pointer %lld\n", bytes_of(&status), all[0] == MPI_REQUEST_NULL, (long long)position);

    MUST(MPI_File_iwrite_all(file, data[1], COUNT, MPI_INT, &all[0]));
    for (done = 0; !done;)
        MUST(MPI_Test(&all[0], &done, &status));
    MUST(MPI_File_get_position(file, &position));
    say("Test: %lld bytes, null %d, pointer %lld\n", bytes_of(&status), all[0] == MPI_REQUEST_NULL, (long long)position);

    begin_messages(1);
    all[0] = messages[0], all[2] = messages[1];
    MUST(MPI_File_iwrite_at_all(file, 2 * COUNT, data[2], COUNT, MPI_INT, &all[1]));
    all[3] = MPI_REQUEST_NULL;
    MUST(MPI_Waitall(4, all, statuses));
    check_messages(1);
    say("Waitall: %lld bytes, message of %lld\n", bytes_of(&statuses[1]), bytes_of(&statuses[0]));

    begin_messages(2);
    all[0] = messages[0], all[1] = messages[1];
    MUST(MPI_File_iwrite_at_all(file, 3 * COUNT, data[3], COUNT, MPI_INT, &all[2]));
    for (int seen = 0, i = 0; i < 3; i++) {
        MUST(MPI_Waitany(3, all, &index, &status));
        TRUE(index >= 0 && index < 3 && !(seen & 1 << index));
        seen |= 1 << index;
        if (index == 2)
            say("Waitany: %lld bytes\n", bytes_of(&status));
    }
    check_messages(2);
    MUST(MPI_Waitany(3, all, &index, &status));
    say("Waitany of none: %d\n", index == MPI_UNDEFINED);
}

static void reads(void)
{
    MPI_Request all[3];
    MPI_Status status, statuses[3];
    int done, n, indices[3];

    MUST(MPI_File_seek(file, 0, MPI_SEEK_SET));
    MUST(MPI_File_iread_all(file, back[0], COUNT, MPI_INT, &all[0]));
    /* Not in a loop: MPICH's own requests of files make no progress by being asked. */
    MUST(MPI_Request_get_status(all[0], &done, &status));
    TRUE(all[0] != MPI_REQUEST_NULL);
    MUST(MPI_Wait(&all[0], &status));
    say("Wait after Request_get_status: %lld bytes\n", bytes_of(&status));

    /* One at a time: MPICH's own go wrong when two are under way. */
    begin_messages(3);
    MUST(MPI_File_iread_all(file, back[1], COUNT, MPI_INT, &all[0]));
    all[1] = messages[0], all[2] = messages[1];
    for (done = 0; !done;)
        MUST(MPI_Testall(3, all, &done, statuses));
    check_messages(3);
    say("Testall: %lld bytes, message of %lld\n", bytes_of(&statuses[0]), bytes_of(&statuses[1]));

    MUST(MPI_File_iread_at_all(file, 2 * COUNT, back[2], COUNT, MPI_INT, &all[0]));
    for (done = 0; !done;)
        MUST(MPI_Testany(1, all, &indices[0], &done, &status));
    say("Testany: index %d, %lld bytes\n", indices[0], bytes_of(&status));

    MUST(MPI_File_iread_at_all(file, 3 * COUNT, back[3], COUNT, MPI_INT, &all[0]));
    all[1] = MPI_REQUEST_NULL;
    MUST(MPI_Waitsome(2, all, &n, indices, statuses));
    say("Waitsome: %d, index %d, %lld bytes\n", n, indices[0], bytes_of(&statuses[0]));
    TRUE(memcmp(back, data, sizeof data) == 0);
}

/* Two reads under way together, which only this library's users get right answers from on MPICH. */
static void two_at_once(void)
{
    MPI_Request both[2];
    MPI_Status statuses[2];
    memset(back, 0, sizeof back);
    MUST(MPI_File_seek(file, COUNT, MPI_SEEK_SET));
    MUST(MPI_File_iread_all(file, back[1], COUNT, MPI_INT, &both[0]));
    MUST(MPI_File_iread_at_all(file, 2 * COUNT, back[2], COUNT, MPI_INT, &both[1]));
    MUST(MPI_Waitall(2, both, statuses));
    say("two at once: %lld and %lld bytes\n", bytes_of(&statuses[0]), bytes_of(&statuses[1]));
    TRUE(memcmp(back[1], data[1], 2 * sizeof data[1]) == 0);
}

int main(int argc, char **argv)
{
    MPI_Datatype type;
    start(&argc, &argv);
    for (int i = 0; i < 4 * COUNT; i++)
        data[i / COUNT][i % COUNT] = value(rank, i);
    MUST(MPI_Type_vector(COUNT / 10, 10, 10 * ranks, MPI_INT, &type));
    MPI_Datatype view;
    MUST(MPI_Type_create_resized(type, 0, (MPI_Aint)COUNT * ranks * sizeof(int), &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_open(MPI_COMM_WORLD, "requests", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 10L * rank * sizeof(int), MPI_INT, view, "native", MPI_INFO_NULL));
    writes();
    MUST(MPI_File_sync(file));
    reads();
    if (argc > 1)
        two_at_once();
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&type));
    MUST(MPI_Type_free(&view));
    finish();
    return 0;
}
