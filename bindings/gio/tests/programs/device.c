/* Lists in device memory, collective and independent: TRIB_TEST_GPU names a library that stands in for a GPU's runtime. */
#include "check.h"

#include <dlfcn.h>

enum { PIECES = 40, PIECE = 100 };

static void *find(void *library, const char *name) {
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return found;
}

/* The first `pieces` of every other hundred bytes of memory, written to this rank's part of the file and read back. */
static void there_and_back(GIO_File fh, char *memory, char *seen, int pieces, int alone) {
    MPI_Offset file_offs[PIECES], buf_offs[PIECES], lens[PIECES];
    const MPI_Offset all = (MPI_Offset)pieces * PIECE;
    char expected[2 * PIECES * PIECE];
    for (int i = 0; i < 2 * PIECES * PIECE; i++)
        expected[i] = seen[i] = (char)((i + rank + pieces + alone) % 101);
    for (int i = 0; i < pieces; i++) {
        file_offs[i] = (MPI_Offset)(i * ranks + rank) * PIECE;
        buf_offs[i] = 2 * i * PIECE;
        lens[i] = PIECE;
    }
    if (alone)
        IS(GIO_write(fh, memory, pieces, file_offs, lens, pieces, buf_offs, lens), all);
    else
        IS(GIO_write_all(fh, memory, pieces, file_offs, lens, pieces, buf_offs, lens), all);
    IS(memcmp(seen, expected, sizeof expected), 0);
    for (int i = 0; i < pieces; i++)
        memset(seen + 2 * i * PIECE, 99, PIECE);
    if (alone)
        IS(GIO_read(fh, memory, pieces, file_offs, lens, pieces, buf_offs, lens), all);
    else
        IS(GIO_read_all(fh, memory, pieces, file_offs, lens, pieces, buf_offs, lens), all);
    IS(memcmp(seen, expected, sizeof expected), 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    GIO_File fh;
    char *(*allocate)(size_t), *(*bytes_at)(const void *);
    start(&argc, &argv);
    void *gpu = dlopen(getenv("TRIB_TEST_GPU"), RTLD_NOW | RTLD_LOCAL);
    *(void **)&allocate = find(gpu, "gpu_allocate");
    *(void **)&bytes_at = find(gpu, "gpu_bytes");
    char *memory = allocate(2 * PIECES * PIECE);
    OK(GIO_open(MPI_COMM_WORLD, argv[1], O_CREAT | O_RDWR, MPI_INFO_NULL, &fh));
    for (int alone = 0; alone < 2; alone++)
        for (int pieces = 1; pieces <= PIECES; pieces += PIECES - 1)
            there_and_back(fh, memory, bytes_at(memory), pieces, alone);
    OK(GIO_close(&fh));
    return finish();
}
