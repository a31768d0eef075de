/* As NAS BTIO writes: a cube of cells of five doubles, divided into diagonals of blocks, so that each rank has as many blocks
 * as a row of the grid of ranks. The view is set once, a RESIZED(STRUCT(SUBARRAY)); then every step is a write_all at the
 * individual pointers, from memory in which each block has ghost cells around it. */
#include "program.h"

#define SIDE 24
#define GHOST 2
#define STEPS 5

static int grid;  /* blocks in a row of the cube, and blocks of a rank */
static int block; /* cells in a row of a block */

/* Where block `b` of this rank begins. */
static void begins(int b, int at[3])
{
    int i = rank % grid, j = rank / grid;
    at[0] = b * block;
    at[1] = (j + b) % grid * block;
    at[2] = (i + b) % grid * block;
}

static MPI_Datatype view(MPI_Datatype cell)
{
    MPI_Datatype parts[8], all, tile;
    MPI_Aint places[8] = {0};
    int lengths[8], sizes[3] = {SIDE, SIDE, SIDE}, own[3] = {block, block, block}, at[3];
    for (int b = 0; b < grid; b++) {
        begins(b, at);
        lengths[b] = 1;
        MUST(MPI_Type_create_subarray(3, sizes, own, at, MPI_ORDER_C, cell, &parts[b]));
    }
    MUST(MPI_Type_create_struct(grid, lengths, places, parts, &all));
    MUST(MPI_Type_create_resized(all, 0, SIDE * SIDE * SIDE * 5 * sizeof(double), &tile));
    MUST(MPI_Type_commit(&tile));
    for (int b = 0; b < grid; b++)
        MUST(MPI_Type_free(&parts[b]));
    MUST(MPI_Type_free(&all));
    return tile;
}

/* All blocks in memory, without their ghost cells. */
static MPI_Datatype memory(int side)
{
    MPI_Datatype parts[8], all;
    MPI_Aint places[8];
    int lengths[8], sizes[4] = {side, side, side, 5}, own[4] = {block, block, block, 5}, at[4] = {GHOST, GHOST, GHOST, 0};
    for (int b = 0; b < grid; b++) {
        lengths[b] = 1;
        places[b] = (MPI_Aint)b * side * side * side * 5 * sizeof(double);
        MUST(MPI_Type_create_subarray(4, sizes, own, at, MPI_ORDER_C, MPI_DOUBLE, &parts[b]));
    }
    MUST(MPI_Type_create_struct(grid, lengths, places, parts, &all));
    MUST(MPI_Type_commit(&all));
    for (int b = 0; b < grid; b++)
        MUST(MPI_Type_free(&parts[b]));
    return all;
}

/* The value of a number of a cell, wherever it is kept: a function of its place in the cube. */
static double at_place(int step, int x, int y, int z, int number)
{
    return step + 10.0 * ((x * SIDE + y) * SIDE + z) + number / 8.0;
}

/* Fills (or checks) the blocks of a step. */
static void visit(double *data, int side, int step, int fill)
{
    int at[3];
    for (int b = 0; b < grid; b++) {
        begins(b, at);
        for (int x = 0; x < side; x++)
            for (int y = 0; y < side; y++)
                for (int z = 0; z < side; z++)
                    for (int n = 0; n < 5; n++) {
                        double *cell = data + ((((long)b * side + x) * side + y) * side + z) * 5 + n;
                        int inner[3] = {x - GHOST, y - GHOST, z - GHOST}, inside = 1;
                        for (int d = 0; d < 3; d++)
                            inside = inside && inner[d] >= 0 && inner[d] < block;
                        double due = inside ? at_place(step, at[0] + inner[0], at[1] + inner[1], at[2] + inner[2], n) : -1;
                        if (fill)
                            *cell = due;
                        else
                            TRUE(*cell == due);
                    }
    }
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    MPI_Offset position, size;
    MPI_Datatype cell;
    start(&argc, &argv);
    while (grid * grid < ranks)
        grid++;
    TRUE(grid * grid == ranks && SIDE % grid == 0);
    block = SIDE / grid;
    int side = block + 2 * GHOST;
    size_t bytes = (size_t)grid * side * side * side * 5 * sizeof(double);
    double *data = malloc(bytes);
    MUST(MPI_Type_contiguous(5, MPI_DOUBLE, &cell));
    MPI_Datatype filetype = view(cell), buffer = memory(side);

    MUST(MPI_File_open(MPI_COMM_WORLD, "btio.out", MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 0, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
    for (int step = 0; step < STEPS; step++) {
        visit(data, side, step, 1);
        MUST(MPI_File_write_all(file, data, 1, buffer, &status));
        MUST(MPI_File_get_position(file, &position));
        say("step %d: %lld bytes, pointer %lld\n", step, bytes_of(&status), (long long)position);
    }
    MUST(MPI_File_close(&file));

    MUST(MPI_File_open(MPI_COMM_WORLD, "btio.out", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    MUST(MPI_File_get_size(file, &size));
    say("%lld bytes\n", (long long)size);
    MUST(MPI_File_set_view(file, 0, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
    for (int step = 0; step < STEPS; step++) {
        visit(data, side, -1, 1); /* ghost cells are -1 always */
        MUST(MPI_File_read_all(file, data, 1, buffer, &status));
        visit(data, side, step, 0);
        say("step %d: %lld bytes back\n", step, bytes_of(&status));
    }
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&filetype));
    MUST(MPI_Type_free(&buffer));
    MUST(MPI_Type_free(&cell));
    free(data);
    finish();
    return 0;
}
