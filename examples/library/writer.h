/* Variables of doubles in one shared file, as PnetCDF has them: posted by each rank, and written together. */
#include <tributary.h>

typedef struct {
    trib_file *file;
    trib_extents *pieces;   /* of the file: what this rank has posted */
    double *values;         /* of these pieces, one behind the other */
    int64_t count, room;    /* values that are posted; that there is memory for */
    int64_t end;            /* of the file: where the next variable begins */
} writer;

/* Creates the file. Collective. */
trib_status writer_create(MPI_Comm comm, const char *path, const char *hints, writer *w);

/* Adds a variable of so many dimensions, the slowest first, and returns where it begins. Call it alike on every rank. */
int64_t writer_define(writer *w, int dimensions, const int64_t *shape);

/* Posts this rank's part of a variable: `count[d]` values from index `start[d]` on in dimension d. Local; `values` may be used
   again at once. A rank posts as many parts as it likes, or none. */
trib_status writer_post(writer *w, int64_t variable, int dimensions, const int64_t *shape, const int64_t *start,
                        const int64_t *count, const double *values);

/* Writes all that the ranks have posted, as one collective call. Returns the same on every rank. */
trib_status writer_flush(writer *w);

/* Closes the file. Collective. */
trib_status writer_close(writer *w);
