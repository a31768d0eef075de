/* What the programs of the tests have in common: expectations, of one rank and of all. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tributary.h>

static int rank, ranks;

/* Ends all ranks unless the condition holds. */
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: rank %d: not so: %s; the last error: %s\n", __FILE__, __LINE__, rank, #condition,  \
                    trib_last_error_message());                                                                        \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
        }                                                                                                              \
    } while (0)

#define OK(call) EXPECT((call) == TRIB_OK)

/* The call fails on this rank so, and with these words. */
#define FAILS(call, status, words)                                                                                     \
    do {                                                                                                               \
        EXPECT((call) == (status));                                                                                    \
        EXPECT(strstr(trib_last_error_message(), (words)) != NULL);                                                    \
    } while (0)

static void start(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

/* The end of a program in which all went well, on all ranks. */
static int finish(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0)
        puts("all well");
    return 0;
}

#endif
