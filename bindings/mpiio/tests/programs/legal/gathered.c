/* An independent write of many pieces of memory to one piece of the file, blocking and not, with one thread of MPI or several: gathered FILE
 * [multiple]. Checks the bytes, and prints how many calls of write(2) and pwrite(2) each takes: an MPI library gathers the pieces in memory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECES = 5000, BYTES = 10 };

static long calls;

/* These stand in front of the C library's functions for all libraries of the process. */
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset)
{
    static ssize_t (*next)(int, const void *, size_t, off64_t);
    if (!next)
        next = (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    calls++;
    return next(file, bytes, count, offset);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset)
{
    return pwrite64(file, bytes, count, offset);
}

ssize_t write(int file, const void *bytes, size_t count)
{
    static ssize_t (*next)(int, const void *, size_t);
    if (!next)
        next = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    calls++;
    return next(file, bytes, count);
}

int main(int argc, char **argv)
{
    int level, wrong = 0;
    MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    unsigned char *memory = malloc(3 * BYTES * PIECES), *file_bytes = malloc(BYTES * PIECES);
    for (long at = 0; at < 3 * BYTES * PIECES; at++)
        memory[at] = at % 251;
    MPI_Datatype pieces;
    MPI_Type_vector(PIECES, BYTES, 3 * BYTES, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int blocks = 0; blocks < 2; blocks++) {
        MPI_Request request;
        MPI_Status status;
        MPI_File_set_size(file, 0);
        calls = 0;
        if (blocks) {
            MPI_File_write_at(file, 0, memory, 1, pieces, &status);
        } else {
            MPI_File_iwrite_at(file, 0, memory, 1, pieces, &request);
            MPI_Wait(&request, &status);
        }
        long taken = calls;
        int count, fd = open(argv[1], O_RDONLY);
        MPI_Get_count(&status, MPI_BYTE, &count);
        wrong += count != BYTES * PIECES || pread(fd, file_bytes, BYTES * PIECES, 0) != BYTES * PIECES;
        for (long at = 0; at < BYTES * PIECES; at++)
            wrong += file_bytes[at] != (at / BYTES * 3 * BYTES + at % BYTES) % 251;
        close(fd);
        printf("calls of a write: %ld\n", taken);
    }
    MPI_File_close(&file);
    MPI_Type_free(&pieces);
    printf(wrong ? "wrong: %d\n" : "ok\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}
