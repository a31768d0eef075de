/* One steady collective write among several, of which callgrind counts the last alone: path FILE. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/callgrind.h>

enum { CALLS = 5, PIECES = 512, DOUBLES = 64 };

static double data[PIECES * DOUBLES];

static void must(int code)
{
    if (code != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, code);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_File file;
    MPI_Datatype view;
    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    must(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    must(MPI_Type_vector(PIECES, DOUBLES, ranks * DOUBLES, MPI_DOUBLE, &view));
    must(MPI_Type_commit(&view));
    must(MPI_File_open(MPI_COMM_WORLD, argv[argc - 1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    must(MPI_File_set_view(file, (MPI_Offset)rank * DOUBLES * sizeof *data, MPI_DOUBLE, view, "native", MPI_INFO_NULL));
    for (int call = 0; call < CALLS; call++) {
        /* Ranks write in turn, piece by piece; each call begins where the last has ended. */
        MPI_Offset at = (MPI_Offset)call * PIECES * DOUBLES;
        must(MPI_Barrier(MPI_COMM_WORLD));
        if (call == CALLS - 1)
            CALLGRIND_START_INSTRUMENTATION;
        must(MPI_File_write_at_all(file, at, data, PIECES * DOUBLES, MPI_DOUBLE, MPI_STATUS_IGNORE));
        if (call == CALLS - 1)
            CALLGRIND_STOP_INSTRUMENTATION;
    }
    must(MPI_File_close(&file));
    must(MPI_Type_free(&view));
    must(MPI_Finalize());
    return 0;
}
