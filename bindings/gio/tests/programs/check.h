/* What the programs of the tests have in common. */
#ifndef CHECK_H
#define CHECK_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gio.h>

static int rank, ranks;

/* Ends all ranks unless the value is the expected one. */
#define IS(value, expected)                                                                                            \
    do {                                                                                                               \
        long long is = (long long)(value), not = (long long)(expected);                                                \
        if (is != not) {                                                                                               \
            fprintf(stderr, "%s:%d: rank %d of %d: %s is %lld (%s), not %lld\n", __FILE__, __LINE__, rank, ranks,      \
                    #value, is, GIO_strerrno((int)is), not);                                                           \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
        }                                                                                                              \
    } while (0)

#define OK(call) IS(call, GIO_NOERR)

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
