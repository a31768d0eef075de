/* small PATH: writes, synchronises, reads and closes a small file. Every rank prints what each call returned, and goes on. */
#include "program.h"
#include <tributary.h>

enum { COUNT = 500 };

static const char *name_of(trib_status status) {
    return status == TRIB_OK ? "SUCCESS" : trib_error_string(status);
}

int main(int argc, char **argv) {
    int written[COUNT], read[COUNT] = {0}, is_there = 0;
    int64_t offsets[COUNT], lengths[COUNT], bytes;
    trib_file *file;
    trib_status status;
    /* A later call returns the error of a buffered write. */
    const int leaves_behind = getenv("TRIB_HINTS") && strstr(getenv("TRIB_HINTS"), "trib_write_behind");
    start(&argc, &argv);
    for (int i = 0; i < COUNT; i++) {
        written[i] = value(rank, i);
        offsets[i] = 4 * ((int64_t)i * ranks + rank);
        lengths[i] = 4;
    }
    status = trib_open(MPI_COMM_WORLD, argv[1], TRIB_CREATE, NULL, &file);
    say("open: %s\n", name_of(status));
    if (status == TRIB_OK) {
        for (int i = 0; i < 2; i++) {
            status = trib_write_all(file, COUNT, offsets, lengths, 0, NULL, NULL, written, &bytes);
            say("%s: %s\n", i ? "again" : "write_all", name_of(status));
            TRUE(bytes == (status == TRIB_OK ? 4 * COUNT : 0));
            is_there = (is_there && !leaves_behind) || status == TRIB_OK;
        }
        status = trib_sync(file);
        is_there = is_there && (!leaves_behind || status == TRIB_OK);
        say("sync: %s\n", name_of(status));
        status = trib_read_all(file, COUNT, offsets, lengths, 0, NULL, NULL, read, &bytes);
        TRUE(status != TRIB_OK || !is_there || memcmp(read, written, sizeof read) == 0);
        say("read_all: %s\n", name_of(status));
        say("close: %s\n", name_of(trib_close(&file)));
    }
    finish();
    return 0;
}
