/* Every rank posts its rows of two variables; one call writes them. Then rank 0 looks at the file. */
#include "writer.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 4, COLUMNS = 300 }; /* rows of each rank, dealt to the ranks in turn */

static void check(trib_status status) {
    if (status != TRIB_OK) {
        fprintf(stderr, "writer: %s: %s\n", trib_error_string(status), trib_last_error_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "variables.bin";
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    writer w;
    check(writer_create(MPI_COMM_WORLD, path, NULL, &w));
    const int64_t shape[] = {ROWS * ranks, COLUMNS}, count[] = {1, COLUMNS};
    const int64_t variables[] = {writer_define(&w, 2, shape), writer_define(&w, 2, shape)};
    for (int v = 0; v < 2; v++)
        for (int row = rank; row < ROWS * ranks; row += ranks) {
            const int64_t start[] = {row, 0};
            double values[COLUMNS];
            for (int column = 0; column < COLUMNS; column++)
                values[column] = 1e6 * v + 1e3 * row + column;
            check(writer_post(&w, variables[v], 2, shape, start, count, values));
        }
    check(writer_flush(&w));
    check(writer_close(&w));
    if (rank == 0) {
        FILE *file = fopen(path, "rb");
        double value;
        int wrong = file == NULL;
        for (int v = 0; v < 2 && !wrong; v++)
            for (int row = 0; row < ROWS * ranks; row++)
                for (int column = 0; column < COLUMNS; column++)
                    wrong += fread(&value, sizeof value, 1, file) != 1 || value != 1e6 * v + 1e3 * row + column;
        printf("%d of %d values are wrong\n", wrong, 2 * ROWS * ranks * COLUMNS);
    }
    MPI_Finalize();
    return EXIT_SUCCESS;
}
