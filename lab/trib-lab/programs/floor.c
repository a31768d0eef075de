/* The floor: all ranks copy their bytes through shared memory, and one rank writes (or reads) them sequentially. No
 * collective write on one node can be faster, unless every rank writes by itself. */
#define _GNU_SOURCE
#include "compare.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* The positions of each step's bytes in the mapping, ordered by step, then by rank. */
struct places {
    long long *mine, *begin, *total;
    long long all;
};

static struct places find_places(const struct plan *plan)
{
    struct places places = {0};
    size_t bytes = (plan->count + 1) * sizeof(long long);
    places.mine = grab(bytes), places.begin = grab(bytes), places.total = grab(bytes);
    for (int i = 0; i < plan->count; i++)
        places.mine[i] = plan->steps[i].bytes;
    memset(places.begin, 0, bytes);
    MUST(MPI_Exscan(places.mine, places.begin, plan->count, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    if (rank == 0)
        memset(places.begin, 0, bytes);
    MUST(MPI_Allreduce(places.mine, places.total, plan->count, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < plan->count; i++) {
        places.begin[i] += places.all;
        places.all += places.total[i];
    }
    return places;
}

/* A mapping that all ranks share; NULL on all ranks if that is not possible. */
static char *share(long long bytes)
{
    char name[4096];
    long id = getpid();
    char *map = MAP_FAILED;
    int one, all, file = -1;
    MUST(MPI_Bcast(&id, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    if (access("/dev/shm", W_OK) == 0)
        snprintf(name, sizeof name, "/dev/shm/trib-compare-%ld", id);
    else
        snprintf(name, sizeof name, "%s.shared", options.path);
    if (rank == 0) {
        file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (file >= 0 && ftruncate(file, bytes) != 0)
            close(file), file = -1;
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (rank != 0)
        file = open(name, O_RDWR);
    if (file >= 0) {
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
    }
    one = map != MAP_FAILED;
    MUST(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (rank == 0)
        unlink(name);
    if (!all && one)
        munmap(map, bytes);
    return all ? map : NULL;
}

static double thread_cpu(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

/* Times the copy of all ranks. If ranks share cores, it takes at least their processor time divided by the cores. */
static double copy(const struct plan *plan, const struct places *places, char *map, int reading)
{
    double cpu = thread_cpu(), wall = now(), most, sum;
    for (int i = 0; i < plan->count; i++) {
        char *shared = map + places->begin[i], *own = plan->steps[i].data;
        memcpy(reading ? own : shared, reading ? shared : own, plan->steps[i].bytes);
    }
    wall = now() - wall;
    cpu = thread_cpu() - cpu;
    MUST(MPI_Allreduce(&wall, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    MUST(MPI_Allreduce(&cpu, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return ranks <= cores ? most : sum / cores;
}

/* Times the file I/O of rank 0: one write (or read) per step, in their order. */
static double through(const struct plan *plan, const struct places *places, char *map, int file, int reading)
{
    double begin = now();
    long long at = 0;
    for (int i = 0; i < plan->count; i++)
        for (long long done = 0; done < places->total[i];) {
            size_t rest = places->total[i] - done;
            ssize_t moved = reading ? pread(file, map + at, rest, at) : pwrite(file, map + at, rest, at);
            if (moved <= 0)
                stop("floor", options.path, "a file that can be written and read in one go");
            done += moved;
            at += moved;
        }
    return now() - begin;
}

static double once(const struct plan *plan, const struct places *places, char *map, int reading)
{
    char name[4096];
    double file_time = 0, copy_time;
    int file = -1;
    snprintf(name, sizeof name, "%s.floor", options.path);
    if (rank == 0) {
        if (!reading)
            unlink(name);
        file = open(name, reading ? O_RDONLY : O_RDWR | O_CREAT, 0600);
        if (file < 0)
            stop("floor", name, "a file that can be created");
    }
    if (reading && rank == 0)
        file_time = through(plan, places, map, file, reading);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    copy_time = copy(plan, places, map, reading);
    if (!reading && rank == 0)
        file_time = through(plan, places, map, file, reading);
    if (rank == 0)
        close(file);
    return copy_time + file_time;
}

void measure_floor(int reading)
{
    struct plan plan = {0};
    struct record record = {0};
    make_plan(&plan);
    give_memory(&plan);
    fill(&plan);
    struct places places = find_places(&plan);
    char *map = places.all ? share(places.all) : NULL;
    /* The first run is not counted: it touches the pages of the mapping. */
    for (int repeat = 0; map && repeat <= options.repeats; repeat++) {
        double row[NUMBERS] = {0};
        row[WALL] = once(&plan, &places, map, reading);
        if (rank != 0)
            row[WALL] = 0;
        if (repeat > 0)
            record_row(&record, row);
    }
    record.calls = plan.count;
    record.bytes = bytes_of_rank(&plan);
    print_record(&record, reading ? "floor-read" : "floor-write", -1);
    if (map)
        munmap(map, places.all);
    free(places.mine), free(places.begin), free(places.total), free(record.max), free(record.sum);
    release(&plan);
}
