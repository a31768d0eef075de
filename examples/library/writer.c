#include "writer.h"
#include <stdlib.h>
#include <string.h>

trib_status writer_create(MPI_Comm comm, const char *path, const char *hints, writer *w) {
    memset(w, 0, sizeof *w);
    return trib_open(comm, path, TRIB_CREATE, hints, &w->file);
}

int64_t writer_define(writer *w, int dimensions, const int64_t *shape) {
    int64_t begin = w->end, bytes = sizeof(double);
    for (int d = 0; d < dimensions; d++)
        bytes *= shape[d];
    w->end += bytes;
    return begin;
}

trib_status writer_post(writer *w, int64_t variable, int dimensions, const int64_t *shape, const int64_t *start,
                        const int64_t *count, const double *values) {
    int64_t more = 1;
    for (int d = 0; d < dimensions; d++)
        more *= count[d];
    if (w->count + more > w->room) {
        int64_t room = 2 * (w->count + more);
        double *grown = realloc(w->values, room * sizeof *grown);
        if (grown == NULL)
            return TRIB_ERR_NO_MEMORY;
        w->values = grown, w->room = room;
    }
    trib_status status = w->pieces == NULL ? trib_extents_create(&w->pieces) : TRIB_OK;
    if (status == TRIB_OK)
        status = trib_extents_add_subarray(w->pieces, variable, sizeof *values, dimensions, shape, count, start);
    if (status == TRIB_OK) {
        memcpy(w->values + w->count, values, more * sizeof *values);
        w->count += more;
    }
    return status;
}

trib_status writer_flush(writer *w) {
    trib_status status = trib_write_all_extents(w->file, w->pieces, NULL, w->values, NULL);
    trib_extents_free(&w->pieces);
    w->count = 0;
    return status;
}

trib_status writer_close(writer *w) {
    free(w->values);
    return trib_close(&w->file);
}
