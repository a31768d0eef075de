/* Erroneous on purpose: one rank makes another collective call than the others. All ranks get one error that names both calls, and
 * the file goes on to be usable; if that rank closes it, the others can only close it. */
#include "check.h"

#include <stdint.h>

static trib_file *file;
static int64_t offset, length = 8;
static char buffer[8];

static trib_status write_all(void) {
    return trib_write_all(file, 1, &offset, &length, 0, NULL, NULL, buffer, NULL);
}

static trib_status read_all(void) {
    return trib_read_all(file, 1, &offset, &length, 0, NULL, NULL, buffer, NULL);
}

static trib_status read_bad(void) {
    const int64_t below = -8;
    return trib_read_all(file, 1, &below, &length, 0, NULL, NULL, buffer, NULL);
}

static trib_status read_later(void) {
    trib_status status = trib_start_read_all(file, 1, &offset, &length, 0, NULL, NULL, buffer);
    return status == TRIB_OK ? trib_wait(file, NULL) : status;
}

static trib_status write_extents(void) {
    return trib_write_all_extents(file, NULL, NULL, NULL, NULL);
}

static trib_status sync_it(void) {
    return trib_sync(file);
}

static trib_status set_size(void) {
    return trib_set_size(file, 5);
}

static trib_status close_it(void) {
    return trib_close(&file);
}

static void mixed(int odd, trib_status (*other)(void), const char *name, trib_status (*usual)(void), const char *usual_name) {
    char words[400];
    if (odd == 0)
        snprintf(words, sizeof words, "rank 1 is in %s, rank 0 in %s of /", usual_name, name);
    else
        snprintf(words, sizeof words, "rank %d is in %s, rank 0 in %s of /", odd, name, usual_name);
    FAILS(rank == odd ? other() : usual(), TRIB_ERR_ARGUMENT, words);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    offset = 8 * (int64_t)rank;
    OK(trib_open(MPI_COMM_WORLD, argv[1], TRIB_CREATE, NULL, &file));
    for (int odd = 0; odd < ranks && ranks > 1; odd += ranks - 1) {
        mixed(odd, read_all, "trib_read_all", write_all, "trib_write_all");
        mixed(odd, read_bad, "trib_read_all", write_all, "trib_write_all");
        mixed(odd, read_later, "trib_start_read_all", write_extents, "trib_write_all_extents");
        mixed(odd, sync_it, "trib_sync", write_all, "trib_write_all");
        mixed(odd, set_size, "trib_set_size", sync_it, "trib_sync");
        mixed(odd, set_size, "trib_set_size", read_all, "trib_read_all");
        OK(write_all());
        OK(read_all());
        OK(sync_it());
    }
    if (ranks > 1) {
        mixed(1, close_it, "trib_close", write_all, "trib_write_all");
        if (rank == 1) {
            EXPECT(file == NULL);
        } else {
            FAILS(write_all(), TRIB_ERR_ARGUMENT, "rank 1 closed the file while other ranks made other calls");
            FAILS(close_it(), TRIB_ERR_ARGUMENT, "rank 1 closed the file while other ranks made other calls");
        }
    }
    OK(close_it());
    return finish();
}
