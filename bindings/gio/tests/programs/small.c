/* A small file, written, synchronised, read and closed: small PATH. Every rank says what each call returned, and goes on. What
 * GIO_sync returned is a rank's own: it says the worst. */
#include "program.h"
#include <fcntl.h>
#include <gio.h>

enum { COUNT = 500, BYTES = 4 * COUNT };

static const char *name_of(MPI_Offset code) {
    return code >= 0 ? "SUCCESS" : GIO_strerrno((int)code);
}

int main(int argc, char **argv) {
    int written[COUNT], read[COUNT] = {0}, own, worst, is_there = 0;
    MPI_Offset offsets[COUNT], lengths[COUNT], moved, zero = 0, bytes = BYTES;
    GIO_File file;
    /* A later call returns the error of a buffered write. */
    const int leaves_behind = getenv("TRIB_HINTS") && strstr(getenv("TRIB_HINTS"), "trib_write_behind");
    start(&argc, &argv);
    for (int i = 0; i < COUNT; i++) {
        written[i] = value(rank, i);
        offsets[i] = 4 * ((MPI_Offset)i * ranks + rank);
        lengths[i] = 4;
    }
    own = GIO_open(MPI_COMM_WORLD, argv[1], O_CREAT | O_RDWR, MPI_INFO_NULL, &file);
    say("open: %s\n", name_of(own));
    if (own == GIO_NOERR) {
        for (int i = 0; i < 2; i++) {
            moved = GIO_write_all(file, written, COUNT, offsets, lengths, 1, &zero, &bytes);
            TRUE(moved < 0 || moved == BYTES);
            is_there = (is_there && !leaves_behind) || moved == BYTES;
            say("%s: %s\n", i ? "again" : "write_all", name_of(moved));
        }
        own = GIO_sync(file);
        MUST(MPI_Allreduce(&own, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
        is_there = is_there && (!leaves_behind || worst == GIO_NOERR);
        say("sync: %s\n", name_of(worst));
        moved = GIO_read_all(file, read, COUNT, offsets, lengths, 1, &zero, &bytes);
        TRUE(moved < 0 || !is_there || (moved == BYTES && memcmp(read, written, sizeof read) == 0));
        say("read_all: %s\n", name_of(moved));
        say("close: %s\n", name_of(GIO_close(&file)));
    }
    finish();
    return 0;
}
