/* A preloaded library that measures the time that a process spends inside MPI_File_* functions, of whichever library. It
 * comes before every other library, preloaded ones included, and calls the next function of the same name.
 *
 * Every argument of these functions is an integer or a pointer in a register of its own, so calls pass as words, and nothing
 * here depends on the MPI. When the process ends, a file HOST-PID.json in the directory $TRIB_COMPARE_INSIDE has its numbers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

typedef uintptr_t word;
typedef word (*function)(word, word, word, word, word, word);

struct counter {
    const char *name;
    double seconds;
    long calls;
    struct counter *next;
};

static struct counter *counters;
static __thread int depth; /* functions of MPI may call each other: only the outermost call is counted */
static int started;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

/* The loaded libraries that are named as an MPI library. */
struct loaded {
    int count;
    char *paths[16];
};

/* Notes one library. (The linker is locked meanwhile: nothing is opened here.) */
static int note(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    struct loaded *loaded = argument;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (loaded->count < 16 && strncmp(slash ? slash + 1 : info->dlpi_name, "libmpi", 6) == 0)
        loaded->paths[loaded->count++] = strdup(info->dlpi_name);
    return 0;
}

/* The next definition in the linker's order; or the MPI library's, if that library is not in the order, as in Python. */
static function find(const char *name)
{
    function found = (function)dlsym(RTLD_NEXT, name);
    if (!found) {
        struct loaded loaded = {0};
        dl_iterate_phdr(note, &loaded);
        for (int i = 0; i < loaded.count; i++) {
            void *library = found ? NULL : dlopen(loaded.paths[i], RTLD_NOLOAD | RTLD_LAZY);
            if (library)
                found = (function)dlsym(library, name);
            free(loaded.paths[i]);
        }
    }
    if (!found) {
        fprintf(stderr, "compare: %s: not there; allowed: programs that an MPI library provides it to\n", name);
        exit(1);
    }
    return found;
}

static word timed(struct counter *counter, function next, word a, word b, word c, word d, word e, word f)
{
    if (depth++ > 0) {
        word result = next(a, b, c, d, e, f);
        depth--;
        return result;
    }
    double begin = now();
    word result = next(a, b, c, d, e, f);
    /* Without a lock, simultaneous calls of several threads may lose a call's time, which does no harm. */
    if (counter->calls++ == 0) {
        counter->next = counters;
        counters = counter;
    }
    counter->seconds += now() - begin;
    depth--;
    return result;
}

#define UNDER(name)                                                                                                             \
    word name(word a, word b, word c, word d, word e, word f)                                                                   \
    {                                                                                                                           \
        static struct counter counter = {#name, 0, 0, NULL};                                                                    \
        static function next;                                                                                                   \
        if (!next)                                                                                                              \
            next = find(#name);                                                                                                 \
        return timed(&counter, next, a, b, c, d, e, f);                                                                         \
    }
/* Fortran wrappers call one of the two names. */
#define BOTH(name) UNDER(MPI_File_##name) UNDER(PMPI_File_##name)
#define ALSO_LARGE(name) BOTH(name) BOTH(name##_c)
#define BEGIN_END(name) ALSO_LARGE(name##_begin) BOTH(name##_end)

BOTH(open)
BOTH(close)
BOTH(delete)
BOTH(set_size)
BOTH(preallocate)
BOTH(get_size)
BOTH(set_info)
BOTH(get_info)
BOTH(set_view)
BOTH(get_view)
BOTH(seek)
BOTH(seek_shared)
BOTH(get_position)
BOTH(get_position_shared)
BOTH(get_byte_offset)
ALSO_LARGE(get_type_extent)
BOTH(set_atomicity)
BOTH(get_atomicity)
BOTH(sync)
ALSO_LARGE(read)
ALSO_LARGE(write)
ALSO_LARGE(read_all)
ALSO_LARGE(write_all)
ALSO_LARGE(read_at)
ALSO_LARGE(write_at)
ALSO_LARGE(read_at_all)
ALSO_LARGE(write_at_all)
ALSO_LARGE(read_shared)
ALSO_LARGE(write_shared)
ALSO_LARGE(read_ordered)
ALSO_LARGE(write_ordered)
ALSO_LARGE(iread)
ALSO_LARGE(iwrite)
ALSO_LARGE(iread_all)
ALSO_LARGE(iwrite_all)
ALSO_LARGE(iread_at)
ALSO_LARGE(iwrite_at)
ALSO_LARGE(iread_at_all)
ALSO_LARGE(iwrite_at_all)
ALSO_LARGE(iread_shared)
ALSO_LARGE(iwrite_shared)
BEGIN_END(read_all)
BEGIN_END(write_all)
BEGIN_END(read_at_all)
BEGIN_END(write_at_all)
BEGIN_END(read_ordered)
BEGIN_END(write_ordered)

/* Only programs that start MPI are counted: not their launchers and shells. */
#define STARTS(name)                                                                                                            \
    word name(word a, word b, word c, word d, word e, word f)                                                                   \
    {                                                                                                                           \
        started = 1;                                                                                                            \
        return find(#name)(a, b, c, d, e, f);                                                                                   \
    }
STARTS(MPI_Init)
STARTS(PMPI_Init)
STARTS(MPI_Init_thread)
STARTS(PMPI_Init_thread)

__attribute__((destructor)) static void tell(void)
{
    char path[4096], host[256] = "";
    struct rusage all;
    const char *directory = getenv("TRIB_COMPARE_INSIDE");
    double seconds = 0;
    if (!directory || (!started && !counters))
        return;
    gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s/%s-%ld.json", directory, host, (long)getpid());
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    getrusage(RUSAGE_SELF, &all);
    fprintf(file, "{\"host\": \"%s\", \"calls\": {", host);
    for (struct counter *counter = counters; counter; counter = counter->next) {
        seconds += counter->seconds;
        fprintf(file, "\"%s\": {\"calls\": %ld, \"seconds\": %.9f}%s", counter->name, counter->calls, counter->seconds,
                counter->next ? ", " : "");
    }
    double cpu = all.ru_utime.tv_sec + all.ru_stime.tv_sec + (all.ru_utime.tv_usec + all.ru_stime.tv_usec) / 1e6;
    fprintf(file, "}, \"seconds\": %.9f, \"cpu\": %.6f, \"context_switches\": %ld, \"page_faults\": %ld, \"peak_bytes\": %ld}\n",
            seconds, cpu, all.ru_nvcsw + all.ru_nivcsw, all.ru_minflt + all.ru_majflt, all.ru_maxrss * 1024);
    fclose(file);
}
