/* Files that one rank opens, writes, reads and closes, again and again: singles PATH COUNT self|dup|sub. `dup` opens on a
 * duplicate of MPI_COMM_SELF and `sub` on a communicator of the half of the ranks; both are made and freed for each file. MPI
 * permits any number of files and communicators one after another: nothing may be left of a file after its close. Counts calls
 * of open(2) and statfs(2), and checks descriptors, memory and shared memory. After a request about programs that write a file a
 * rank. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { BYTES = 1000 };

static long opens, asks;

/* Stands in front of the C library's function for all libraries of the process. */
int open64(const char *name, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    va_list rest;
    if (!next)
        next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    opens++;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return next(name, flags, mode);
}

int statfs(const char *name, struct statfs *told)
{
    static int (*next)(const char *, struct statfs *);
    if (!next)
        next = (int (*)(const char *, struct statfs *))dlsym(RTLD_NEXT, "statfs");
    asks++;
    return next(name, told);
}

static long entries(const char *folder)
{
    long count = 0;
    DIR *all = opendir(folder);
    while (all && readdir(all))
        count++;
    if (all)
        closedir(all);
    return count;
}

static long resident(void)
{
    long all, there = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &all, &there) != 2)
        there = 0;
    if (file)
        fclose(file);
    return there * (sysconf(_SC_PAGESIZE) / 1024);
}

static int cycle(const char *name, MPI_Comm comm, int number)
{
    char out[BYTES], in[BYTES] = {0};
    int rank, bytes, bad = 0;
    MPI_File file;
    MPI_Status status;
    MPI_Comm_rank(comm, &rank);
    memset(out, 'a' + number % 26, BYTES);
    if (MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        return 1;
    MPI_Offset at = (MPI_Offset)rank * BYTES;
    bad |= MPI_File_write_at_all(file, at, out, BYTES, MPI_BYTE, &status) != MPI_SUCCESS;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    bad |= bytes != BYTES;
    if (number % 8 == 0) {
        bad |= MPI_File_read_at_all(file, at, in, BYTES, MPI_BYTE, &status) != MPI_SUCCESS;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        bad |= bytes != BYTES || memcmp(out, in, BYTES);
    }
    bad |= MPI_File_close(&file) != MPI_SUCCESS;
    return bad;
}

int main(int argc, char **argv)
{
    int rank, ranks, bad = 0, all;
    char name[4096];
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int count = argc > 2 ? atoi(argv[2]) : 1000, warm = count / 10;
    const char *on = argc > 3 ? argv[3] : "self";
    int half = rank * 2 / ranks, is_sub = !strcmp(on, "sub");
    snprintf(name, sizeof name, "%s.%d", argv[1], is_sub ? half : rank);
    long descriptors = 0, shared = 0, memory = 0, opens_before = 0, asks_before = 0;
    for (int i = 0; i < count; i++) {
        if (i == warm) {
            MPI_Barrier(MPI_COMM_WORLD);
            descriptors = entries("/proc/self/fd"), shared = entries("/dev/shm"), memory = resident();
            opens_before = opens, asks_before = asks;
            MPI_Barrier(MPI_COMM_WORLD);
        }
        comm = MPI_COMM_SELF;
        if (is_sub)
            MPI_Comm_split(MPI_COMM_WORLD, half, rank, &comm);
        else if (!strcmp(on, "dup"))
            MPI_Comm_dup(MPI_COMM_SELF, &comm);
        bad |= cycle(name, comm, i);
        if (comm != MPI_COMM_SELF)
            MPI_Comm_free(&comm);
    }
    opens_before = opens - opens_before, asks_before = asks - asks_before;
    MPI_Barrier(MPI_COMM_WORLD);
    memory = resident() - memory;
    if (entries("/proc/self/fd") != descriptors)
        printf("rank %d has %ld descriptors more\n", rank, entries("/proc/self/fd") - descriptors), bad = 1;
    if (rank == 0 && entries("/dev/shm") > shared + 8)
        printf("%ld files of shared memory more\n", entries("/dev/shm") - shared), bad = 1;
    if (memory > 16384)
        printf("rank %d has %ld KiB more\n", rank, memory), bad = 1;
    MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    unlink(name);
    if (rank == 0) {
        int files = count - warm;
        printf("calls of a file: %.2f opens, %.2f statfs; %ld KiB\n", (double)opens_before / files, (double)asks_before / files, memory);
        printf(all ? "wrong\n" : "ok\n");
    }
    MPI_Finalize();
    return all;
}
