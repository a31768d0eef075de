/* Erroneous on purpose: one rank makes another collective call than the others. All ranks get one code and a line that names both
 * calls, and the file goes on to be usable; if that rank closes it, the others can only close it. */
#include "check.h"

static GIO_File fh;
static char buf[8];
static MPI_Offset mine, zero = 0, eight = 8;

static MPI_Offset write_all(void) {
    return GIO_write_all(fh, buf, 1, &mine, &eight, 1, &zero, &eight);
}

static MPI_Offset read_all(void) {
    return GIO_read_all(fh, buf, 1, &mine, &eight, 1, &zero, &eight);
}

static MPI_Offset set_size(void) {
    return GIO_set_size(fh, 5);
}

static MPI_Offset close_it(void) {
    return GIO_close(&fh);
}

static void mixed(int odd, MPI_Offset (*other)(void), MPI_Offset (*usual)(void)) {
    IS(rank == odd ? other() : usual(), GIO_EMULTIDEFINE_FNC_ARGS);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    mine = 8 * rank;
    OK(GIO_open(MPI_COMM_WORLD, argv[1], O_CREAT | O_RDWR, MPI_INFO_NULL, &fh));
    for (int odd = 0; odd < ranks && ranks > 1; odd += ranks - 1) {
        mixed(odd, read_all, write_all);
        mixed(odd, set_size, read_all);
        mixed(odd, set_size, write_all);
        IS(write_all(), 8);
        IS(read_all(), 8);
    }
    if (ranks > 1) {
        mixed(1, close_it, write_all);
        IS(fh == GIO_FILE_NULL, rank == 1);
        if (rank != 1) {
            IS(write_all(), GIO_EINVAL);
            IS(close_it(), GIO_EINVAL);
        }
    } else {
        OK(close_it());
    }
    return finish();
}
