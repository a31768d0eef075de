/* The patterns that are parts of arrays: FLASH, BTIO, S3D and the lattice. Their sizes are in options.values. */
#include "compare.h"

#define V options.values

/* FLASH's checkpoint. Sizes: variables, blocks of a rank, cells of a block along a dimension. A variable is an array of doubles
 * whose slowest dimension counts the blocks of all ranks. Each variable is written by one call. */
void flash(struct plan *plan)
{
    int blocks = (int)V[1], cells = (int)V[2];
    int sizes[4] = {blocks * ranks, cells, cells, cells}, own[4] = {blocks, cells, cells, cells}, at[4] = {blocks * rank};
    long long bytes = (long long)blocks * cells * cells * cells * 8;
    for (int variable = 0; variable < V[0]; variable++) {
        MPI_Datatype type;
        MUST(MPI_Type_create_subarray(4, sizes, own, at, MPI_ORDER_C, MPI_DOUBLE, &type));
        struct step *step = add(plan, TRANSFER);
        step->view = keep(plan, type);
        step->displacement = variable * bytes * ranks;
        step->bytes = bytes;
        step->count = (int)bytes;
    }
}

/* Combines several datatypes into one, each at its displacement. */
static MPI_Datatype together(MPI_Datatype *parts, const MPI_Aint *places, int count)
{
    MPI_Datatype all;
    int lengths[64] = {0};
    for (int i = 0; i < count; i++)
        lengths[i] = 1;
    MUST(MPI_Type_create_struct(count, lengths, (MPI_Aint *)places, parts, &all));
    for (int i = 0; i < count; i++)
        MUST(MPI_Type_free(&parts[i]));
    return all;
}

enum { NUMBERS_OF_A_POINT = 5, GHOSTS = 2 };

/* The rank's cells in the cube: one in every layer, on a diagonal. */
static MPI_Datatype cells_in_file(struct plan *plan, int side, int parts, int cell)
{
    MPI_Datatype types[64], all, tile;
    MPI_Aint places[64] = {0};
    int sizes[4] = {side, side, side, NUMBERS_OF_A_POINT}, own[4] = {cell, cell, cell, NUMBERS_OF_A_POINT};
    for (int layer = 0; layer < parts; layer++) {
        int x = (rank % parts + layer) % parts, y = (rank / parts + parts - layer) % parts;
        int at[4] = {layer * cell, y * cell, x * cell, 0};
        MUST(MPI_Type_create_subarray(4, sizes, own, at, MPI_ORDER_C, MPI_DOUBLE, &types[layer]));
    }
    all = together(types, places, parts);
    MUST(MPI_Type_create_resized(all, 0, (MPI_Aint)side * side * side * NUMBERS_OF_A_POINT * 8, &tile));
    MUST(MPI_Type_free(&all));
    return keep(plan, tile);
}

/* The same cells in memory, ghost points around each. */
static MPI_Datatype cells_in_memory(struct plan *plan, int parts, int cell)
{
    int side = cell + 2 * GHOSTS;
    MPI_Datatype types[64];
    MPI_Aint places[64];
    int sizes[4] = {side, side, side, NUMBERS_OF_A_POINT}, own[4] = {cell, cell, cell, NUMBERS_OF_A_POINT};
    int at[4] = {GHOSTS, GHOSTS, GHOSTS, 0};
    for (int layer = 0; layer < parts; layer++) {
        places[layer] = (MPI_Aint)layer * side * side * side * NUMBERS_OF_A_POINT * 8;
        MUST(MPI_Type_create_subarray(4, sizes, own, at, MPI_ORDER_C, MPI_DOUBLE, &types[layer]));
    }
    return keep(plan, together(types, places, parts));
}

/* NPB's BTIO on a square number of ranks. Sizes: points along a dimension, steps. The view is set once; every step continues
 * after the one before. */
void btio(struct plan *plan)
{
    int parts = 1, side = (int)V[0];
    while (parts * parts < ranks)
        parts++;
    if (parts * parts != ranks || parts > 64)
        stop("ranks", "no square number", "square numbers up to 4096");
    if (side % parts != 0)
        stop("points", "not divided evenly", "a multiple of the square root of the ranks");
    int cell = side / parts;
    MPI_Datatype file = cells_in_file(plan, side, parts, cell), memory = cells_in_memory(plan, parts, cell);
    for (int s = 0; s < V[1]; s++) {
        struct step *step = add(plan, TRANSFER);
        step->view = s == 0 ? file : MPI_DATATYPE_NULL;
        step->offset = -1;
        step->memory = memory;
        step->count = 1;
        step->bytes = (long long)parts * cell * cell * cell * NUMBERS_OF_A_POINT * 8;
    }
}

/* A lattice; x is the fastest dimension in the file and among the ranks. Sizes: sites along x, y, z, t; ranks along x, y, z, t;
 * bytes of a site. */
void block4d(struct plan *plan)
{
    int sizes[5], own[5], at[5], rest = rank;
    MPI_Datatype type;
    struct step *step = add(plan, TRANSFER);
    step->bytes = V[8];
    for (int d = 0; d < 4; d++) {
        int slot = 3 - d;
        if (V[4 + d] < 1 || V[d] % V[4 + d] != 0)
            stop("lattice", "not divided evenly", "sizes that are multiples of the ranks along them");
        sizes[slot] = (int)V[d];
        own[slot] = (int)(V[d] / V[4 + d]);
        at[slot] = rest % (int)V[4 + d] * own[slot];
        rest /= (int)V[4 + d];
        step->bytes *= own[slot];
    }
    sizes[4] = own[4] = (int)V[8];
    at[4] = 0;
    step->count = (int)step->bytes;
    MUST(MPI_Type_create_subarray(5, sizes, own, at, MPI_ORDER_C, MPI_BYTE, &type));
    step->view = keep(plan, type);
}

enum { VOLUMES = 16 };

/* Points along x, y, z, ranks along x, y, z: S3D's checkpoint. Mass fractions of 11 species, 3 components of velocity,
 * pressure and temperature are 16 grids of doubles one behind the other, x fastest; one call for all of them. */
void s3d(struct plan *plan)
{
    int sizes[4] = {VOLUMES}, own[4] = {VOLUMES}, at[4] = {0}, rest = rank;
    MPI_Datatype type;
    struct step *step = add(plan, TRANSFER);
    step->bytes = VOLUMES * 8;
    for (int d = 0; d < 3; d++) {
        int slot = 3 - d;
        if (V[3 + d] < 1 || V[d] % V[3 + d] != 0)
            stop("points", "not divided evenly", "numbers that are multiples of the ranks along them");
        sizes[slot] = (int)V[d];
        own[slot] = (int)(V[d] / V[3 + d]);
        at[slot] = rest % (int)V[3 + d] * own[slot];
        rest /= (int)V[3 + d];
        step->bytes *= own[slot];
    }
    step->count = (int)step->bytes;
    MUST(MPI_Type_create_subarray(4, sizes, own, at, MPI_ORDER_C, MPI_DOUBLE, &type));
    step->view = keep(plan, type);
}
