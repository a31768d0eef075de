/* Buffers in device memory: TRIB_TEST_GPU names a library that stands in for a GPU's runtime. */
#include "check.h"

#include <dlfcn.h>
#include <stdint.h>

#define BYTES 30000

/* Turns a data pointer into a function pointer, for which C has no cast. */
#define FIND(library, name, function)                                                                                  \
    do {                                                                                                               \
        void *found = dlsym(library, name);                                                                            \
        EXPECT(found != NULL);                                                                                         \
        memcpy(&(function), &found, sizeof found);                                                                     \
    } while (0)

static char *(*allocate)(size_t), *(*bytes_at)(const void *);
static int (*copies)(void);
static void (*fail)(int);

static void load(void) {
    void *gpu = dlopen(getenv("TRIB_TEST_GPU"), RTLD_NOW | RTLD_LOCAL);
    EXPECT(gpu);
    FIND(gpu, "gpu_allocate", allocate);
    FIND(gpu, "gpu_bytes", bytes_at);
    FIND(gpu, "gpu_copies", copies);
    FIND(gpu, "gpu_fail", fail);
}

static char byte(int of, int at) {
    return (char)(1 + (of * 7 + at) % 113);
}

/* Every other thousand bytes of memory, to and from a stripe of the file. */
static void collective(trib_file *file, char *memory, char *back) {
    int64_t at[BYTES / 2000], lengths[BYTES / 2000], place[BYTES / 2000], bytes;
    int count = BYTES / 2000;
    for (int i = 0; i < count; i++) {
        at[i] = ((int64_t)i * ranks + rank) * 1000;
        lengths[i] = 1000;
        place[i] = (int64_t)i * 2000;
    }
    for (int i = 0; i < BYTES; i++) {
        bytes_at(memory)[i] = byte(rank, i);
        bytes_at(back)[i] = 0;
    }
    OK(trib_write_all(file, count, at, lengths, count, place, lengths, memory, &bytes));
    EXPECT(bytes == BYTES / 2);
    OK(trib_start_read_all(file, count, at, lengths, count, place, lengths, back));
    OK(trib_wait(file, &bytes));
    EXPECT(bytes == BYTES / 2);
    for (int i = 0; i < BYTES; i++)
        EXPECT(bytes_at(back)[i] == (i / 1000 % 2 == 0 ? byte(rank, i) : 0));

    if (rank == ranks - 1)
        fail(3);
    trib_status status = trib_write_all(file, count, at, lengths, count, place, lengths, memory, &bytes);
    EXPECT(status == TRIB_ERR_IO && strstr(trib_last_error_message(), "cuMemcpyDtoH returned 700"));
    EXPECT(bytes == 0);
}

static void alone(trib_file *file, char *memory, char *back) {
    int64_t bytes, at = 1000000 + (int64_t)rank * BYTES;
    OK(trib_write_at(file, at, memory, BYTES, &bytes));
    EXPECT(bytes == BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(trib_read_at(file, at, back, BYTES, &bytes));
    EXPECT(bytes == BYTES && memcmp(bytes_at(back), bytes_at(memory), BYTES) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Beyond the end of the file the buffer is not changed. */
    if (rank == ranks - 1) {
        memset(bytes_at(back), 3, BYTES);
        OK(trib_read_at(file, at + 100, back, BYTES, &bytes));
        EXPECT(bytes == BYTES - 100 && bytes_at(back)[0] == bytes_at(memory)[100] && bytes_at(back)[BYTES - 100] == 3);
        fail(0);
        FAILS(trib_write_at(file, at, memory, BYTES, &bytes), TRIB_ERR_IO, "write from CUDA memory");
        fail(0);
        FAILS(trib_read_at(file, at, back, BYTES, &bytes), TRIB_ERR_IO, "read into CUDA memory");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    trib_file *file;
    int64_t bytes, zero = rank, some = 10;
    start(&argc, &argv);
    zero = rank * 10;
    OK(trib_open(MPI_COMM_WORLD, argv[1], TRIB_CREATE, "", &file));
    OK(trib_write_all(file, 1, &zero, &some, 0, NULL, NULL, "0123456789", &bytes));
    load();
    char *memory = allocate(BYTES), *back = allocate(BYTES);
    collective(file, memory, back);
    EXPECT(copies() > 0);
    alone(file, memory, back);
    OK(trib_close(&file));
    return finish();
}
