/* unclosed PATH: writes a file collectively, and ends without closing it. */
#include "program.h"
#include <tributary.h>

enum { COUNT = 500 };

int main(int argc, char **argv) {
    static int written[COUNT];
    static int64_t offsets[COUNT], lengths[COUNT];
    trib_file *file;
    start(&argc, &argv);
    for (int i = 0; i < COUNT; i++) {
        written[i] = value(rank, i);
        offsets[i] = 4 * ((int64_t)i * ranks + rank);
        lengths[i] = 4;
    }
    TRUE(trib_open(MPI_COMM_WORLD, argv[1], TRIB_CREATE, NULL, &file) == TRIB_OK);
    TRUE(trib_write_all(file, COUNT, offsets, lengths, 0, NULL, NULL, written, NULL) == TRIB_OK);
    MUST(MPI_Finalize());
    return 0;
}
