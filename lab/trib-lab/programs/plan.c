/* Plans: the steps of a rank, their datatypes, and the memory that they move. */
#include "compare.h"
#include <stdlib.h>
#include <string.h>

struct step *add(struct plan *plan, enum kind kind)
{
    /* Doubled whenever the number of steps is a power of two. */
    if ((plan->count & (plan->count - 1)) == 0) {
        int room = plan->count ? 2 * plan->count : 1;
        plan->steps = realloc(plan->steps, room * sizeof *plan->steps);
        if (!plan->steps)
            stop("memory", "steps", "less");
    }
    struct step *step = &plan->steps[plan->count++];
    memset(step, 0, sizeof *step);
    step->kind = kind;
    step->stamp = plan->count - 1;
    step->view = MPI_DATATYPE_NULL;
    step->memory = MPI_BYTE;
    return step;
}

MPI_Datatype keep(struct plan *plan, MPI_Datatype type)
{
    MUST(MPI_Type_commit(&type));
    plan->types = realloc(plan->types, (plan->type_count + 1) * sizeof *plan->types);
    if (!plan->types)
        stop("memory", "datatypes", "less");
    plan->types[plan->type_count++] = type;
    return type;
}

/* Bytes of memory that a step spans. */
static size_t span(const struct step *step)
{
    MPI_Aint lower, extent;
    if (step->memory == MPI_BYTE || step->count == 0)
        return step->bytes;
    MUST(MPI_Type_get_extent(step->memory, &lower, &extent));
    /* A type may begin after the start of its buffer. */
    return (size_t)(lower + extent * step->count);
}

void give_memory(struct plan *plan)
{
    size_t at = 0;
    for (int i = 0; i < plan->count; i++)
        plan->buffer_bytes += (span(&plan->steps[i]) + 63) / 64 * 64;
    plan->buffer = grab(plan->buffer_bytes);
    for (int i = 0; i < plan->count; i++) {
        plan->steps[i].data = plan->buffer + at;
        at += (span(&plan->steps[i]) + 63) / 64 * 64;
    }
}

void release(struct plan *plan)
{
    for (int i = 0; i < plan->type_count; i++)
        MUST(MPI_Type_free(&plan->types[i]));
    free(plan->types);
    free(plan->steps);
    free(plan->buffer);
    memset(plan, 0, sizeof *plan);
}

int has_data(const struct plan *plan)
{
    for (int i = 0; i < plan->count; i++)
        if (plan->steps[i].bytes > 0 || plan->steps[i].kind == TRANSFER)
            return 1;
    return 0;
}

long long bytes_of_rank(const struct plan *plan)
{
    long long bytes = 0;
    for (int i = 0; i < plan->count; i++)
        bytes += plan->steps[i].bytes;
    return bytes;
}
