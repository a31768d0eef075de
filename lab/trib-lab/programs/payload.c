/* The bytes: 64-bit word w of what a rank moves in a step, packed, is (rank + 1) A + (step + 1) B + (w + 1) C, modulo 2^64,
 * in the machine's byte order. Any other library that is compared must write the same. */
#include "compare.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define A UINT64_C(0x9e3779b97f4a7c15)
#define B UINT64_C(0xc2b2ae3d27d4eb4f)
#define C UINT64_C(0xd6e8feb86659fd93)

void words(char *to, long long bytes, int step)
{
    uint64_t word = (rank + UINT64_C(1)) * A + (step + UINT64_C(1)) * B;
    for (long long at = 0; at < bytes; at += 8) {
        word += C;
        memcpy(to + at, &word, bytes - at < 8 ? (size_t)(bytes - at) : 8);
    }
}

/* Calls `with` for every step that has bytes, with the step's bytes as they must be, packed. */
static int each(struct plan *plan, int (*with)(struct step *, char *))
{
    int all = 1;
    for (int i = 0; i < plan->count; i++) {
        struct step *step = &plan->steps[i];
        if (step->bytes == 0)
            continue;
        char *packed = grab(step->bytes);
        words(packed, step->bytes, step->stamp);
        all = with(step, packed) && all;
        free(packed);
    }
    return all;
}

static int place(struct step *step, char *packed)
{
    int at = 0;
    if (step->memory == MPI_BYTE)
        memcpy(step->data, packed, step->bytes);
    else
        MUST(MPI_Unpack(packed, (int)step->bytes, &at, step->data, step->count, step->memory, MPI_COMM_WORLD));
    return 1;
}

static int compare(struct step *step, char *packed)
{
    int at = 0, same;
    char *found = grab(step->bytes);
    if (step->memory == MPI_BYTE)
        memcpy(found, step->data, step->bytes);
    else
        MUST(MPI_Pack(step->data, step->count, step->memory, found, (int)step->bytes, &at, MPI_COMM_WORLD));
    same = memcmp(found, packed, step->bytes) == 0;
    free(found);
    return same;
}

void fill(struct plan *plan)
{
    each(plan, place);
}

void clear(struct plan *plan)
{
    memset(plan->buffer, 0xaa, plan->buffer_bytes);
}

int is_right(struct plan *plan)
{
    int mine = each(plan, compare), all;
    MUST(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    return all;
}
