/* Patterns as PnetCDF makes them of a program's requests (release 1.14, non-blocking puts and one wait).
 *
 * All requests become one file type and one call. A request whose bytes are contiguous is a block of an hindexed of bytes; one
 * that is part of an array is a subarray in a struct. Rank 0's view begins with the whole header, so that it can note the number
 * of records at any time; its offset is the header's size. Memory in several pieces is an hindexed, which PnetCDF packs into one
 * piece up to 16 MiB. The header is written when the file is there, before the timed call or in it (`whole`). */
#include "compare.h"
#include <limits.h>

#define V options.values

/* `nc_ibuf_size`: up to so many bytes are packed. */
#define PACKED_UP_TO (16 << 20)

/* Gives a step its view: rank 0 sees the header before `type`, whose displacements are those of the file. */
static void view_with_header(struct plan *plan, struct step *step, MPI_Datatype type)
{
    MPI_Datatype parts[2] = {MPI_BYTE, type};
    int lengths[2] = {(int)plan->header, 1};
    MPI_Aint places[2] = {0, 0};
    step->view = type;
    if (rank != 0 || plan->header == 0)
        return;
    MUST(MPI_Type_create_struct(2, lengths, places, parts, &step->view));
    step->view = keep(plan, step->view);
    step->offset = plan->header;
}

static void give_packing(struct step *step)
{
    step->packs = step->bytes <= PACKED_UP_TO;
}

/* The first and last byte of all ranks' views. */
static void find_range(const struct plan *plan, long long *first, long long *end)
{
    long long range[2] = {LLONG_MAX, 0}, all[2];
    for (int i = 0; i < plan->count; i++) {
        MPI_Aint lower, extent;
        if (plan->steps[i].bytes == 0)
            continue;
        MUST(MPI_Type_get_true_extent(plan->steps[i].view, &lower, &extent));
        range[0] = lower < range[0] ? lower : range[0];
        range[1] = lower + extent > range[1] ? lower + extent : range[1];
    }
    range[1] = -range[1];
    MUST(MPI_Allreduce(range, all, 2, MPI_LONG_LONG, MPI_MIN, MPI_COMM_WORLD));
    *first = all[0] == LLONG_MAX ? 0 : all[0];
    *end = -all[1];
}

/* Steps from list files. Sizes: whether opening and closing are timed; whether the file exists before; whether there are records.
 * What is before the first byte of all is the header. */
void netcdf(struct plan *plan)
{
    lists(plan);
    find_range(plan, &plan->header, &plan->fill_bytes);
    plan->whole = (int)V[0];
    plan->fills = (int)V[1];
    for (int i = 0; i < plan->count; i++) {
        struct step *step = &plan->steps[i];
        if (step->bytes > 0)
            view_with_header(plan, step, step->view);
        give_packing(step);
        step->counts_records = V[2] != 0;
    }
}

/* S3D's arrays: mass fractions, velocity, pressure, temperature; the length of their slowest dimension. */
enum { ARRAYS = 4, POINT_BYTES = 8 };
static const int VOLUMES[ARRAYS] = {11, 3, 1, 1};
enum { S3D_HEADER = 592 };

/* The rank's block: sizes of the grid, of the block, and where it begins, slowest dimension first. */
struct block {
    int sizes[4], own[4], at[4];
};

static struct block block_of_rank(void)
{
    struct block block = {.at = {0}};
    int rest = rank;
    for (int d = 0; d < 3; d++) {
        int slot = 3 - d;
        if (V[3 + d] < 1 || V[d] % V[3 + d] != 0)
            stop("points", "not divided evenly", "numbers that are multiples of the ranks along them");
        block.sizes[slot] = (int)V[d];
        block.own[slot] = (int)(V[d] / V[3 + d]);
        block.at[slot] = rest % (int)V[3 + d] * block.own[slot];
        rest /= (int)V[3 + d];
    }
    return block;
}

/* Arrays in memory of their own: a gap of 64 bytes behind each. */
static MPI_Datatype arrays_in_memory(struct plan *plan, const int lengths[ARRAYS])
{
    MPI_Aint places[ARRAYS], at = 0;
    MPI_Datatype type;
    for (int a = 0; a < ARRAYS; a++) {
        places[a] = at;
        at += lengths[a] + 64;
    }
    MUST(MPI_Type_create_hindexed(ARRAYS, lengths, places, MPI_BYTE, &type));
    return keep(plan, type);
}

/* Points along x, y, z, ranks along x, y, z: a checkpoint of S3D, four arrays of doubles, x fastest, in one call. */
void s3d(struct plan *plan)
{
    struct block block = block_of_rank();
    struct step *step = add(plan, TRANSFER);
    MPI_Datatype types[ARRAYS];
    MPI_Aint places[ARRAYS], at = S3D_HEADER;
    int lengths[ARRAYS];
    for (int a = 0; a < ARRAYS; a++) {
        block.sizes[0] = block.own[0] = VOLUMES[a];
        MUST(MPI_Type_create_subarray(4, block.sizes, block.own, block.at, MPI_ORDER_C, MPI_DOUBLE, &types[a]));
        places[a] = at;
        at += (MPI_Aint)VOLUMES[a] * block.sizes[1] * block.sizes[2] * block.sizes[3] * POINT_BYTES;
        lengths[a] = VOLUMES[a] * block.own[1] * block.own[2] * block.own[3] * POINT_BYTES;
        step->bytes += lengths[a];
    }
    plan->header = S3D_HEADER;
    plan->whole = 1;
    step->memory = arrays_in_memory(plan, lengths);
    step->count = 1;
    give_packing(step);
    view_with_header(plan, step, keep(plan, together(types, places, ARRAYS)));
}

enum { BTIO_HEADER = 356, NUMBERS_OF_A_POINT = 5, MOST_CELLS = 64 };

/* A record's cells in the file, as the subarrays of a variable with records. */
static MPI_Datatype cells_of_record(int side, int cell, int parts, int at[][3], int record)
{
    MPI_Datatype types[MOST_CELLS], cube;
    MPI_Aint places[MOST_CELLS], bytes = (MPI_Aint)side * side * side * NUMBERS_OF_A_POINT * 8;
    int sizes[4] = {side, side, side, NUMBERS_OF_A_POINT}, own[4] = {cell, cell, cell, NUMBERS_OF_A_POINT};
    for (int c = 0; c < parts; c++) {
        int start[4] = {at[c][0], at[c][1], at[c][2], 0};
        MUST(MPI_Type_create_subarray(4, sizes, own, start, MPI_ORDER_C, MPI_DOUBLE, &cube));
        MUST(MPI_Type_create_hvector(1, 1, bytes, cube, &types[c]));
        MUST(MPI_Type_free(&cube));
        places[c] = BTIO_HEADER + record * bytes;
    }
    return together(types, places, parts);
}

/* BTIO through PnetCDF: a record a step, each with a view of its own. Sizes: points along a dimension, steps. */
void btio_netcdf(struct plan *plan)
{
    int at[MOST_CELLS][3], side = (int)V[0], parts = cells_of_btio(side, at), cell = side / parts;
    MPI_Datatype memory = keep(plan, cells_in_memory(parts, cell));
    plan->header = BTIO_HEADER;
    plan->whole = 1;
    for (int s = 0; s < V[1]; s++) {
        struct step *step = add(plan, TRANSFER);
        step->memory = memory;
        step->count = 1;
        step->bytes = (long long)parts * cell * cell * cell * NUMBERS_OF_A_POINT * 8;
        step->counts_records = 1;
        give_packing(step);
        view_with_header(plan, step, keep(plan, cells_of_record(side, cell, parts, at, s)));
    }
}
