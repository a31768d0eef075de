/* A matrix of doubles is divided into blocks, one for each rank. Each rank writes its block, reads its right neighbour's,
 * and checks that it holds what the neighbour has written. Rank 0 prints the report.
 *
 *     mpicc checkerboard.c $(pkg-config --cflags --libs tributary) -o checkerboard
 *     mpiexec -n 4 ./checkerboard matrix.bin
 */
#include <stdio.h>
#include <stdlib.h>
#include <tributary.h>

enum { ROWS = 60, COLUMNS = 84 };

/* Ends the program on an error. Every rank has the same status; rank 0 prints it. */
static void check(int rank, const char *what, trib_status status) {
    if (status == TRIB_OK)
        return;
    if (rank == 0)
        fprintf(stderr, "%s: %s: %s\n", what, trib_error_string(status), trib_last_error_message());
    MPI_Finalize();
    exit(1);
}

/* The block of a rank in a grid of `down` x `across` blocks. */
typedef struct {
    int64_t starts[2], subsizes[2];
} block;

static block block_of(int rank, int down, int across) {
    int row = rank / across, column = rank % across;
    block own = {{ROWS * (int64_t)row / down, COLUMNS * (int64_t)column / across}, {0, 0}};
    own.subsizes[0] = ROWS * (int64_t)(row + 1) / down - own.starts[0];
    own.subsizes[1] = COLUMNS * (int64_t)(column + 1) / across - own.starts[1];
    return own;
}

static trib_extents *extents_of(int rank, block block) {
    const int64_t sizes[2] = {ROWS, COLUMNS};
    trib_extents *extents;
    check(rank, "extents", trib_extents_create(&extents));
    check(rank, "subarray",
          trib_extents_add_subarray(extents, 0, sizeof(double), 2, sizes, block.subsizes, block.starts));
    return extents;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks, grid[2] = {0, 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, grid);

    trib_file *file;
    check(rank, "open",
          trib_open(MPI_COMM_WORLD, argc > 1 ? argv[1] : "checkerboard.bin", TRIB_CREATE, "trib_kernel=balanced",
                    &file));

    /* Element (row, column) is row * COLUMNS + column + 1. */
    block own = block_of(rank, grid[0], grid[1]);
    int64_t elements = own.subsizes[0] * own.subsizes[1], bytes;
    double *buffer = malloc((size_t)elements * sizeof *buffer);
    for (int64_t i = 0; i < elements; i++) {
        int64_t row = own.starts[0] + i / own.subsizes[1], column = own.starts[1] + i % own.subsizes[1];
        buffer[i] = (double)(row * COLUMNS + column + 1);
    }
    trib_extents *extents = extents_of(rank, own);
    check(rank, "write", trib_write_all_extents(file, extents, NULL, buffer, &bytes));
    int wrong = bytes != elements * (int64_t)sizeof *buffer;
    trib_extents_free(&extents);
    free(buffer);

    block other = block_of((rank + 1) % ranks, grid[0], grid[1]);
    elements = other.subsizes[0] * other.subsizes[1];
    buffer = calloc((size_t)elements, sizeof *buffer);
    extents = extents_of(rank, other);
    check(rank, "read", trib_read_all_extents(file, extents, NULL, buffer, &bytes));
    wrong += bytes != elements * (int64_t)sizeof *buffer;
    for (int64_t i = 0; i < elements; i++) {
        int64_t row = other.starts[0] + i / other.subsizes[1], column = other.starts[1] + i % other.subsizes[1];
        wrong += buffer[i] != (double)(row * COLUMNS + column + 1);
    }
    trib_extents_free(&extents);
    free(buffer);

    char report[4096];
    check(rank, "report", trib_report_json(file, report, sizeof report, NULL));
    check(rank, "close", trib_close(&file));
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s\n%s\n", report, wrong ? "WRONG" : "verified");
    MPI_Finalize();
    return wrong != 0;
}
