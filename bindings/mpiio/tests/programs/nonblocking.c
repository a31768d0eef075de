/* Non-blocking and split collective calls that wait for nobody when they are started: ranks send messages between start and
 * wait, have several calls under way, and wait for them in different orders. With the argument "threads", a rank computes
 * and calls nothing of MPI until the others have got their part. */
#define _GNU_SOURCE
#include "program.h"

#include <dlfcn.h>
#include <unistd.h>

#define COUNT 500 /* ints of a rank in a call */
#define CALLS 3

struct target {
    const char *name;
    MPI_File file;
    int data[CALLS][COUNT];
    MPI_Request requests[CALLS];
};

static struct target one = {.name = "one"}, two = {.name = "two"};

/* Blocks of 10 ints, of all ranks in turn. */
static void set_view(MPI_File file, const char *representation)
{
    MPI_Datatype blocks, view;
    MUST(MPI_Type_contiguous(10, MPI_INT, &blocks));
    MUST(MPI_Type_create_resized(blocks, 0, 10L * ranks * sizeof(int), &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_set_view(file, 10L * rank * sizeof(int), MPI_INT, view, representation, MPI_INFO_NULL));
    MUST(MPI_Type_free(&blocks));
    MUST(MPI_Type_free(&view));
}

/* On a communicator that is freed while the file is open. */
static void open_on_own(struct target *target)
{
    MPI_Comm comm;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_File_open(comm, target->name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &target->file));
    MUST(MPI_Comm_free(&comm));
    set_view(target->file, "native");
}

static void fill(struct target *target, int seed)
{
    for (int call = 0; call < CALLS; call++)
        for (int i = 0; i < COUNT; i++)
            target->data[call][i] = value(rank + seed, call * COUNT + i);
}

static void start_write(struct target *target, int call)
{
    MUST(MPI_File_iwrite_at_all(target->file, call * COUNT, target->data[call], COUNT, MPI_INT, &target->requests[call]));
}

static void wait_for(struct target *target, int call)
{
    MPI_Status status;
    MUST(MPI_Wait(&target->requests[call], &status));
    TRUE(target->requests[call] == MPI_REQUEST_NULL);
    TRUE(bytes_of(&status) == COUNT * sizeof(int));
}

/* Every rank finds what it has written. */
static void check(struct target *target, const char *what)
{
    static int back[CALLS][COUNT];
    MPI_Status status;
    memset(back, 0, sizeof back);
    MUST(MPI_File_read_at_all(target->file, 0, back, CALLS * COUNT, MPI_INT, &status));
    TRUE(bytes_of(&status) == sizeof back);
    TRUE(memcmp(back, target->data, sizeof back) == 0);
    say("%s: right\n", what);
}

static void pass_on(int from, int to)
{
    int token = 1;
    if (rank == from)
        MUST(MPI_Send(&token, 1, MPI_INT, to, 7, MPI_COMM_WORLD));
    if (rank == to)
        MUST(MPI_Recv(&token, 1, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* The first call of the file too: a rank starts when the rank before it has started, and tells it. */
static void messages_between(void)
{
    MUST(MPI_File_open(MPI_COMM_WORLD, one.name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &one.file));
    set_view(one.file, "native");
    fill(&one, 0);
    for (int call = 0; call < CALLS; call++) {
        if (rank > 0)
            pass_on(rank - 1, rank);
        start_write(&one, call);
        if (rank < ranks - 1)
            pass_on(rank, rank + 1);
        wait_for(&one, call);
    }
    check(&one, "messages between start and wait");
}

static void split_with_messages(void)
{
    MPI_Status status;
    MPI_Offset position;
    fill(&one, 3);
    MUST(MPI_File_seek(one.file, 0, MPI_SEEK_SET));
    for (int call = 0; call < CALLS; call++) {
        if (rank > 0)
            pass_on(rank - 1, rank);
        MUST(MPI_File_write_all_begin(one.file, one.data[call], COUNT, MPI_INT));
        if (rank < ranks - 1)
            pass_on(rank, rank + 1);
        MUST(MPI_File_write_all_end(one.file, one.data[call], &status));
        TRUE(bytes_of(&status) == COUNT * sizeof(int));
        MUST(MPI_File_get_position(one.file, &position));
        TRUE(position == (call + 1) * COUNT);
    }
    check(&one, "messages between begin and end");
}

/* Started in different orders, waited for in others. */
static void several_at_once(void)
{
    struct target *first = rank % 2 ? &one : &two, *second = rank % 2 ? &two : &one;
    open_on_own(&two);
    fill(&one, 5);
    fill(&two, 6);
    for (int call = 0; call < CALLS; call++) {
        start_write(first, call);
        start_write(second, call);
    }
    for (int call = CALLS - 1; call >= 0; call--)
        wait_for(rank % 3 ? first : second, call);
    for (int call = 0; call < CALLS; call++)
        wait_for(rank % 3 ? second : first, call);
    check(&one, "several at once, one file");
    check(&two, "several at once, the other");
}

/* A blocking call while others are under way, which other ranks wait for first. */
static void blocking_between(void)
{
    fill(&one, 7);
    fill(&two, 8);
    for (int call = 0; call < CALLS; call++) {
        start_write(&one, call);
        if (rank % 2)
            wait_for(&one, call);
        MUST(MPI_File_write_at_all(two.file, call * COUNT, two.data[call], COUNT, MPI_INT, MPI_STATUS_IGNORE));
        if (!(rank % 2))
            wait_for(&one, call);
    }
    /* The first call of a file too: its communicator is made while the other call is under way. */
    struct target *fresh = calloc(1, sizeof *fresh);
    fresh->name = "fresh";
    fill(fresh, 9);
    MUST(MPI_File_open(MPI_COMM_WORLD, fresh->name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fresh->file));
    set_view(fresh->file, "native");
    start_write(&one, 0);
    if (rank % 2)
        wait_for(&one, 0);
    MUST(MPI_File_write_at_all(fresh->file, 0, fresh->data, CALLS * COUNT, MPI_INT, MPI_STATUS_IGNORE));
    if (!(rank % 2))
        wait_for(&one, 0);
    check(fresh, "a blocking first call between");
    MUST(MPI_File_close(&fresh->file));
    free(fresh);
    check(&one, "a blocking call between, one file");
    check(&two, "a blocking call between, the other");
}

/* Ranks wait for messages of ranks whose part of a call needs theirs. */
static void waits_for_messages(void)
{
    int token = 1, flag, last = ranks - 1;
    MPI_Status status;
    MPI_Request message;
    fill(&one, 9);
    for (int call = 0; call < CALLS; call++) {
        start_write(&one, call);
        if (rank == last) {
            wait_for(&one, call);
            for (int to = 0; to < last; to++)
                MUST(MPI_Send(&token, 1, MPI_INT, to, call, MPI_COMM_WORLD));
            continue;
        }
        MUST(MPI_Irecv(&token, 1, MPI_INT, last, call, MPI_COMM_WORLD, &message));
        if (call == 0)
            MUST(MPI_Wait(&message, MPI_STATUS_IGNORE));
        else if (call == 1)
            for (flag = 0; !flag;)
                MUST(MPI_Test(&message, &flag, MPI_STATUS_IGNORE));
        else
            MUST(MPI_Waitall(1, &message, &status));
        for (flag = 0; !flag;)
            MUST(MPI_Request_get_status(one.requests[call], &flag, MPI_STATUS_IGNORE));
        wait_for(&one, call);
    }
    check(&one, "waits for messages");
}

/* The functions of MPI 4.1 that look at several requests and take none: an older MPI has them from the library. */
static void looks_at_several(void)
{
    int (*any)(int, MPI_Request *, int *, int *, MPI_Status *) = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_any");
    int (*all)(int, MPI_Request *, int *, MPI_Status *) = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_all");
    int (*some)(int, MPI_Request *, int *, int *, MPI_Status *) = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_some");
    int flag, index, found, indices[CALLS];
    MPI_Status status, statuses[CALLS];
    TRUE(any && all && some);
    fill(&one, 10);
    for (int call = 0; call < CALLS; call++)
        one.requests[call] = MPI_REQUEST_NULL;
    MUST(any(CALLS, one.requests, &index, &flag, &status));
    TRUE(flag && index == MPI_UNDEFINED);
    MUST(some(CALLS, one.requests, &found, indices, statuses));
    TRUE(found == MPI_UNDEFINED);
    for (int call = 0; call < CALLS; call++)
        start_write(&one, call);
    for (flag = 0; !flag;)
        MUST(any(CALLS, one.requests, &index, &flag, &status));
    TRUE(index == 0 && bytes_of(&status) == COUNT * sizeof(int));
    for (flag = 0; !flag;)
        MUST(all(CALLS, one.requests, &flag, statuses));
    for (int call = 0; call < CALLS; call++)
        TRUE(bytes_of(&statuses[call]) == COUNT * sizeof(int));
    MUST(some(CALLS, one.requests, &found, indices, statuses));
    TRUE(found == CALLS && indices[1] == 1 && bytes_of(&statuses[2]) == COUNT * sizeof(int));
    for (int call = 0; call < CALLS; call++)
        wait_for(&one, call);
    check(&one, "looks at several");
}

/* A datatype that is freed, a request that is given up, hints that are asked for. */
static void given_up(void)
{
    MPI_Datatype pairs;
    MPI_Info info;
    fill(&one, 11);
    MUST(MPI_Type_vector(COUNT / 2, 2, 2, MPI_INT, &pairs));
    MUST(MPI_Type_commit(&pairs));
    start_write(&one, 0);
    MUST(MPI_File_iwrite_at_all(one.file, COUNT, one.data[1], 1, pairs, &one.requests[1]));
    MUST(MPI_Type_free(&pairs));
    MUST(MPI_File_get_info(one.file, &info));
    MUST(MPI_Info_free(&info));
    start_write(&one, 2);
    MUST(MPI_Request_free(&one.requests[2]));
    wait_for(&one, 1);
    wait_for(&one, 0);
    check(&one, "a request given up");
    MUST(MPI_File_iwrite_at_all(one.file, 0, one.data[0], COUNT, MPI_INT, &one.requests[0]));
    MUST(MPI_Request_free(&one.requests[0]));
    MUST(MPI_File_close(&one.file));
}

/* MPI runs the calls, because the file has lost its name before the engine opens it. */
static void left_to_mpi(void)
{
    MPI_Status status;
    MPI_Offset position;
    MUST(MPI_File_close(&two.file));
    MUST(MPI_File_open(MPI_COMM_WORLD, "gone", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &two.file));
    set_view(two.file, "native");
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        TRUE(unlink("gone") == 0);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    fill(&two, 13);
    MUST(MPI_File_seek(two.file, COUNT, MPI_SEEK_SET));
    MUST(MPI_File_iwrite_all(two.file, two.data[1], COUNT, MPI_INT, &two.requests[1]));
    wait_for(&two, 1);
    MUST(MPI_File_get_position(two.file, &position));
    TRUE(position == 2 * COUNT);
    MUST(MPI_File_write_at_all_begin(two.file, 0, two.data[0], COUNT, MPI_INT));
    MUST(MPI_File_write_at_all_end(two.file, two.data[0], &status));
    TRUE(bytes_of(&status) == COUNT * sizeof(int));
    start_write(&two, 2);
    wait_for(&two, 2);
    check(&two, "left to MPI");
    MUST(MPI_File_close(&two.file));
}

/* The first rank starts its part, and calls nothing of MPI until the last has written all. */
static void computing(void)
{
    open_on_own(&one);
    fill(&one, 1);
    for (int call = 0; call < CALLS; call++)
        start_write(&one, call);
    if (rank > 0)
        for (int call = 0; call < CALLS; call++)
            wait_for(&one, call);
    if (rank == ranks - 1) {
        FILE *written = fopen("written", "w");
        TRUE(written && fclose(written) == 0);
    }
    if (rank == 0) {
        while (access("written", F_OK) != 0)
            usleep(1000);
        for (int call = 0; call < CALLS; call++)
            wait_for(&one, call);
    }
    check(&one, "computing");
    MUST(MPI_File_close(&one.file));
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        int provided;
        MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
        TRUE(provided == MPI_THREAD_MULTIPLE);
        MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
        MUST(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
        computing();
    } else {
        start(&argc, &argv);
        messages_between();
        split_with_messages();
        several_at_once();
        blocking_between();
        waits_for_messages();
        looks_at_several();
        given_up();
        left_to_mpi();
    }
    finish();
    return 0;
}
