/* The patterns of plain MPI-IO that are parts of arrays: BTIO and the lattice. Their sizes are in options.values. */
#include "compare.h"

#define V options.values

/* Combines several datatypes into one, each at its displacement. */
MPI_Datatype together(MPI_Datatype *parts, const MPI_Aint *places, int count)
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

int cells_of_btio(int side, int at[][3])
{
    int parts = 1;
    while (parts * parts < ranks)
        parts++;
    if (parts * parts != ranks || parts > 64)
        stop("ranks", "no square number", "square numbers up to 4096");
    if (side % parts != 0)
        stop("points", "not divided evenly", "a multiple of the square root of the ranks");
    for (int layer = 0; layer < parts; layer++) {
        at[layer][0] = layer * (side / parts);
        at[layer][1] = (rank / parts + parts - layer) % parts * (side / parts);
        at[layer][2] = (rank % parts + layer) % parts * (side / parts);
    }
    return parts;
}

/* The five doubles of a point. */
static MPI_Datatype point(void)
{
    MPI_Datatype type;
    MUST(MPI_Type_contiguous(NUMBERS_OF_A_POINT, MPI_DOUBLE, &type));
    return type;
}

/* The rank's cells in the cube: one in every layer, on a diagonal. */
static MPI_Datatype cells_in_file(struct plan *plan, int side, int parts, int at[][3])
{
    MPI_Datatype types[64], all, tile, element = point();
    MPI_Aint places[64] = {0};
    int cell = side / parts, sizes[3] = {side, side, side}, own[3] = {cell, cell, cell};
    for (int layer = 0; layer < parts; layer++)
        MUST(MPI_Type_create_subarray(3, sizes, own, at[layer], MPI_ORDER_C, element, &types[layer]));
    all = together(types, places, parts);
    MUST(MPI_Type_create_resized(all, 0, (MPI_Aint)side * side * side * NUMBERS_OF_A_POINT * 8, &tile));
    MUST(MPI_Type_free(&all));
    MUST(MPI_Type_free(&element));
    return keep(plan, tile);
}

MPI_Datatype cells_in_memory(int parts, int cell)
{
    int side = cell + 2 * GHOSTS;
    MPI_Datatype types[64], element = point();
    MPI_Aint places[64];
    int sizes[3] = {side, side, side}, own[3] = {cell, cell, cell}, at[3] = {GHOSTS, GHOSTS, GHOSTS};
    for (int layer = 0; layer < parts; layer++) {
        places[layer] = (MPI_Aint)layer * side * side * side * NUMBERS_OF_A_POINT * 8;
        MUST(MPI_Type_create_subarray(3, sizes, own, at, MPI_ORDER_C, element, &types[layer]));
    }
    MUST(MPI_Type_free(&element));
    return together(types, places, parts);
}

/* NPB's BTIO on a square number of ranks, through MPI-IO. Sizes: points along a dimension, steps. The view is set once; every
 * step continues after the one before. The program's timer has the opening and the closing, too. */
void btio(struct plan *plan)
{
    int at[64][3], side = (int)V[0], parts = cells_of_btio(side, at), cell = side / parts;
    MPI_Datatype file = cells_in_file(plan, side, parts, at), memory = keep(plan, cells_in_memory(parts, cell));
    plan->whole = 1;
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
