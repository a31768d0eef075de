#include <stdio.h>
#include <string.h>
#include <tributary.h>

int main(int argc, char **argv) {
    static double records[1000], back[1000];
    static int64_t offsets[1000], lengths[1000];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 1000; i++) {
        records[i] = rank + i / 1000.0;
        offsets[i] = 8 * ((int64_t)i * ranks + rank);
        lengths[i] = 8;
    }
    trib_file *file = NULL;
    const char *path = argc > 1 ? argv[1] : "records.bin";
    trib_status status = trib_open(MPI_COMM_WORLD, path, TRIB_CREATE, "cb_nodes=2", &file);
    if (status == TRIB_OK)
        status = trib_write_all(file, 1000, offsets, lengths, 0, NULL, NULL, records, NULL);
    if (status == TRIB_OK)
        status = trib_read_all(file, 1000, offsets, lengths, 0, NULL, NULL, back, NULL);
    if (status == TRIB_OK)
        status = trib_close(&file);
    if (status != TRIB_OK && rank == 0)
        fprintf(stderr, "%s: %s\n", trib_error_string(status), trib_last_error_message());
    else if (rank == 0)
        puts(memcmp(records, back, sizeof back) == 0 ? "the same" : "different");
    MPI_Finalize();
    return status != TRIB_OK;
}
