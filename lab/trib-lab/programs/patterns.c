/* The patterns that need no arrays of several dimensions. Each takes its sizes from options.values, in the order that its
 * comment gives. */
#include "compare.h"
#include <string.h>

#define V options.values

/* A collective write or read of contiguous memory. */
static struct step *transfer(struct plan *plan, MPI_Offset offset, long long bytes)
{
    struct step *step = add(plan, TRANSFER);
    step->offset = offset;
    step->bytes = bytes;
    step->count = (int)bytes;
    return step;
}

/* Pieces of `bytes` bytes, each `stride` bytes after the one before. */
static MPI_Datatype strided(struct plan *plan, long long pieces, long long bytes, long long stride)
{
    MPI_Datatype type;
    MUST(MPI_Type_create_hvector((int)pieces, (int)bytes, stride, MPI_BYTE, &type));
    return keep(plan, type);
}

/* Sizes: bytes per rank. One piece, after that of the rank before. */
static void contiguous(struct plan *plan)
{
    transfer(plan, rank * V[0], V[0]);
}

/* IOR -c. Sizes: bytes of a block, bytes of a transfer, segments. */
static void ior(struct plan *plan)
{
    for (long long segment = 0; segment < V[2]; segment++)
        for (long long at = 0; at < V[0]; at += V[1])
            transfer(plan, (segment * ranks + rank) * V[0] + at, V[1]);
}

/* Sizes: pieces, bytes of a piece. Gaps of the same size in memory, none in the file. */
static void memory_gaps(struct plan *plan)
{
    struct step *step = transfer(plan, rank * V[0] * V[1], V[0] * V[1]);
    step->memory = strided(plan, V[0], V[1], 2 * V[1]);
    step->count = 1;
}

/* The same, with the ranks' pieces alternating in the file. */
static void pieces(struct plan *plan)
{
    memory_gaps(plan);
    struct step *step = plan->steps;
    step->view = strided(plan, V[0], V[1], ranks * V[1]);
    step->displacement = rank * V[1];
    step->offset = 0;
}

/* Sizes: calls. 8 bytes per rank, always at the same offset. */
static void tiny_same(struct plan *plan)
{
    for (long long call = 0; call < V[0]; call++)
        transfer(plan, rank * 8, 8)->stamp = 0;
}

/* Sizes: calls. 8 bytes per rank, each call after the one before in the file. */
static void tiny_moving(struct plan *plan)
{
    for (long long call = 0; call < V[0]; call++)
        transfer(plan, (call * ranks + rank) * 8, 8);
}

/* Sizes: calls. No data. */
static void empty(struct plan *plan)
{
    for (long long call = 0; call < V[0]; call++)
        transfer(plan, 0, 0);
}

/* Sizes: calls. Opens and closes a second file. */
static void open_close(struct plan *plan)
{
    for (long long call = 0; call < V[0]; call++)
        add(plan, OPEN_CLOSE);
}

/* Sizes: calls. Opens a second file, moves 8 bytes per rank, and closes it. */
static void first_write(struct plan *plan)
{
    for (long long call = 0; call < V[0]; call++) {
        struct step *step = transfer(plan, rank * 8, 8);
        step->kind = OPEN_MOVE_CLOSE;
        step->stamp = 0;
    }
}

/* Sizes: calls. The same, but only the write or read counts: the first of an open file. */
static void first_move(struct plan *plan)
{
    first_write(plan);
    for (int i = 0; i < plan->count; i++)
        plan->steps[i].kind = FIRST_MOVE;
}

/* Sizes: calls. Sets a view: a vector, a different one each time. */
static void set_view(struct plan *plan)
{
    for (long long call = 0; call < V[0]; call++) {
        MPI_Datatype view = strided(plan, 4, 8, ranks * 8);
        struct step *step = add(plan, SET_VIEW);
        step->view = view;
        step->displacement = rank * 8;
    }
}

/* Sizes: calls. */
static void synchronise(struct plan *plan)
{
    for (long long call = 0; call < V[0]; call++)
        add(plan, SYNC);
}

/* Writes of 8 bytes a rank, one behind the other, and as often a sync: of a file that has something to be synchronised. */
static void sync_written(struct plan *plan)
{
    for (long long call = 0; call < V[0]; call++) {
        transfer(plan, (call * ranks + rank) * 8, 8);
        add(plan, SYNC);
    }
}

/* Views, and as often a write of 8 bytes a rank through the view: of a file that is being written. */
static void view_write(struct plan *plan)
{
    for (long long call = 0; call < V[0]; call++) {
        MPI_Datatype view = strided(plan, 4, 8, ranks * 8);
        struct step *step = add(plan, SET_VIEW);
        step->view = view;
        step->displacement = (call * ranks + rank) * 8;
        transfer(plan, 0, 8);
    }
}

/* Steps, pieces of a step, bytes of a piece: one view, every step goes on where the one before ended. */
static void append(struct plan *plan)
{
    for (long long s = 0; s < V[0]; s++) {
        struct step *step = transfer(plan, -1, V[1] * V[2]);
        if (s == 0) {
            /* One piece and the space of the other ranks' pieces, so that the view repeats. */
            MPI_Datatype piece, tile;
            MUST(MPI_Type_contiguous((int)V[2], MPI_BYTE, &piece));
            MUST(MPI_Type_create_resized(piece, 0, ranks * V[2], &tile));
            MUST(MPI_Type_free(&piece));
            step->view = keep(plan, tile);
            step->displacement = rank * V[2];
        }
    }
}

/* Sizes: calls, pieces of a call, bytes of a piece. Two views in turn, each always at its place: small pieces, ranks taking
 * turns, and behind these pieces 16 times as large. */
static void two_views(struct plan *plan)
{
    MPI_Datatype views[2] = {strided(plan, V[1], V[2], ranks * V[2]),
                             strided(plan, V[1] / 16, 16 * V[2], 16 * ranks * V[2])};
    for (long long call = 0; call < V[0]; call++) {
        int which = call % 2, times = which ? 16 : 1;
        struct step *step = transfer(plan, 0, V[1] / times * times * V[2]);
        step->view = views[which];
        step->displacement = (which ? V[1] * V[2] * ranks : 0) + rank * times * V[2];
        step->stamp = which;
    }
}

/* Sizes: pieces, bytes of a piece, bytes from one piece to the next. In an existing file, with the ranks' pieces side by side. */
static void sparse(struct plan *plan)
{
    struct step *step = transfer(plan, 0, V[0] * V[1]);
    step->view = strided(plan, V[0], V[1], V[2]);
    step->displacement = rank * V[1];
    plan->fills = 1;
    plan->fill_bytes = V[0] * V[2];
}

/* Sizes: calls, pieces of a call, bytes of a piece, microseconds. Ranks compute between start and wait; in each call one
 * rank, in turn, computes twice as long as the others. */
static void overlap(struct plan *plan)
{
    for (long long call = 0; call < V[0]; call++) {
        struct step *step = transfer(plan, call * V[1] * V[2], V[1] * V[2]);
        step->kind = OVERLAP;
        step->micros = (int)(call % ranks == rank ? 2 * V[3] : V[3]);
        if (call == 0) {
            step->view = strided(plan, V[0] * V[1], V[2], ranks * V[2]);
            step->displacement = rank * V[2];
        }
    }
}

static const struct {
    const char *name;
    void (*make)(struct plan *);
} PATTERNS[] = {
    {"append", append},
    {"block4d", block4d},
    {"btio", btio},
    {"btio-netcdf", btio_netcdf},
    {"contiguous", contiguous},
    {"empty", empty},
    {"first-write", first_write},
    {"first-move", first_move},
    {"ior", ior},
    {"lists", lists},
    {"memory", memory_gaps},
    {"netcdf", netcdf},
    {"open-close", open_close},
    {"overlap", overlap},
    {"pieces", pieces},
    {"s3d", s3d},
    {"set-view", set_view},
    {"sparse", sparse},
    {"sync", synchronise},
    {"sync-written", sync_written},
    {"tiny-moving", tiny_moving},
    {"tiny-same", tiny_same},
    {"two-views", two_views},
    {"view-write", view_write},
};

void make_plan(struct plan *plan)
{
    for (size_t i = 0; i < sizeof PATTERNS / sizeof *PATTERNS; i++)
        if (!strcmp(PATTERNS[i].name, options.pattern)) {
            PATTERNS[i].make(plan);
            return;
        }
    stop("pattern", options.pattern, "those listed at the end of patterns.c");
}
