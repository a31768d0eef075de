/* A file-size limit on one rank: by every path all ranks get the error, and SIGXFSZ, whose default action would end the
 * process, ends none. */
#include "check.h"
#include <sys/resource.h>

static void limit(rlim_t bytes) {
    struct rlimit now;
    EXPECT(getrlimit(RLIMIT_FSIZE, &now) == 0);
    now.rlim_cur = bytes < now.rlim_max ? bytes : now.rlim_max;
    EXPECT(setrlimit(RLIMIT_FSIZE, &now) == 0);
}

int main(int argc, char **argv) {
    enum { LENGTH = 1000, COUNT = 20 };
    start(&argc, &argv);
    char hints[300], *buffer = malloc(LENGTH * COUNT);
    memset(buffer, rank + 1, LENGTH * COUNT);
    const char *kernels[3] = {"ascending_issend", "balanced", "two_layer"};
    for (int victim = 0; victim < ranks; victim++) {
        trib_file *file;
        trib_extents *extents;
        int64_t bytes = -1, size;
        /* Every rank is an aggregator: stripes are assigned round-robin. */
        snprintf(hints, sizeof hints,
                 "trib_shared_memory=disable;trib_driver=lustre;striping_unit=1000;striping_factor=%d;cb_nodes=%d;trib_tiny_call=0;"
                 "romio_cb_write=enable;trib_kernel_data=%s",
                 ranks, ranks, kernels[victim % 3]);
        OK(trib_open(MPI_COMM_WORLD, argv[1], TRIB_CREATE, hints, &file));
        OK(trib_extents_create(&extents));
        OK(trib_extents_add_run(extents, (rank + 1) % ranks * LENGTH, LENGTH, ranks * LENGTH, COUNT));
        if (rank == victim)
            limit(LENGTH * COUNT / 2 * (rlim_t)ranks);
        FAILS(trib_write_all_extents(file, extents, NULL, buffer, &bytes), TRIB_ERR_TOO_LARGE, "File too large");
        EXPECT(bytes == 0);
        OK(trib_start_write_all_extents(file, extents, NULL, buffer));
        FAILS(trib_wait(file, NULL), TRIB_ERR_TOO_LARGE, "File too large");
        trib_status alone = trib_write_at(file, LENGTH * COUNT * ranks, buffer, LENGTH, NULL);
        EXPECT(alone == (rank == victim ? TRIB_ERR_TOO_LARGE : TRIB_OK));
        MPI_Barrier(MPI_COMM_WORLD); /* all ranks have written beyond the end before it moves */
        trib_status cut = trib_set_size(file, 2 * (int64_t)LENGTH * COUNT * ranks);
        EXPECT(cut == (victim == 0 ? TRIB_ERR_TOO_LARGE : TRIB_OK));
        limit(RLIM_INFINITY);
        OK(trib_set_size(file, 0));
        OK(trib_write_all_extents(file, extents, NULL, buffer, &bytes));
        OK(trib_get_size(file, &size));
        EXPECT(bytes == LENGTH * COUNT && size == LENGTH * COUNT * ranks);
        OK(trib_extents_free(&extents));
        OK(trib_close(&file));
    }
    free(buffer);
    return finish();
}
