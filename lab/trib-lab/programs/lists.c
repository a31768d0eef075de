/* Steps from list files: for step s, PREFIX.s.file has every rank's file extents and, if the memory has gaps,
 * PREFIX.s.memory has its memory extents. The form is the binary form of `trib replay list`: the 8 bytes TRIBLIST, a 32-bit 1, a
 * 32-bit 0, the number of ranks and their numbers of extents (64 bits each), then all extents, rank after rank, as pairs of
 * 64-bit offset and length. */
#include "compare.h"
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void name_list(char *name, size_t room, int step, const char *what)
{
    snprintf(name, room, "%s.%d.%s", options.lists ? options.lists : "", step, what);
}

struct list read_list(const char *name)
{
    struct list list = {0};
    int64_t head[3], before = 0;
    FILE *file = fopen(name, "rb");
    if (!file || fread(head, sizeof head, 1, file) != 1 || memcmp(head, "TRIBLIST", 8) != 0 || head[1] != 1)
        stop("list", name, "a binary list, version 1");
    if (head[2] != ranks)
        stop("list", name, "a list for this number of ranks");
    int64_t *counts = grab(ranks * sizeof *counts);
    if (fread(counts, sizeof *counts, ranks, file) != (size_t)ranks)
        stop("list", name, "a list that is whole");
    for (int other = 0; other < rank; other++)
        before += counts[other];
    list.count = counts[rank];
    list.pairs = grab(list.count * 16);
    if (list.count > INT_MAX || fseeko(file, before * 16, SEEK_CUR) != 0 ||
        fread(list.pairs, 16, list.count, file) != (size_t)list.count)
        stop("list", name, "a list that is whole, with less than 2^31 extents a rank");
    fclose(file);
    free(counts);
    return list;
}

/* Makes a datatype of bytes from the list. */
static MPI_Datatype type_of(struct plan *plan, const struct list *list, long long *bytes)
{
    MPI_Datatype type;
    int *lengths = grab(list->count * sizeof *lengths);
    MPI_Aint *places = grab(list->count * sizeof *places);
    for (int64_t i = 0; i < list->count; i++) {
        places[i] = list->pairs[2 * i];
        lengths[i] = (int)list->pairs[2 * i + 1];
        *bytes += list->pairs[2 * i + 1];
    }
    MUST(MPI_Type_create_hindexed((int)list->count, lengths, places, MPI_BYTE, &type));
    free(lengths);
    free(places);
    return keep(plan, type);
}

void lists(struct plan *plan)
{
    char name[4096];
    for (int s = 0; name_list(name, sizeof name, s, "file"), s == 0 || access(name, R_OK) == 0; s++) {
        struct step *step = add(plan, TRANSFER);
        struct list extents = read_list(name);
        long long memory_bytes = 0;
        step->view = extents.count ? type_of(plan, &extents, &step->bytes) : MPI_BYTE;
        step->count = (int)step->bytes;
        free(extents.pairs);
        name_list(name, sizeof name, s, "memory");
        if (access(name, R_OK) == 0) {
            extents = read_list(name);
            if (extents.count) {
                step->memory = type_of(plan, &extents, &memory_bytes);
                step->count = 1;
            }
            if (memory_bytes != step->bytes)
                stop("list", name, "as many bytes as in the file");
            free(extents.pairs);
        }
    }
}
