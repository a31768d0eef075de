/* A preloaded library that makes the files below a directory as slow as those of a file system with a limited rate and a
 * latency. It stands before every other library, so it acts on the MPI library's calls and on ours. Waiting takes no processor
 * time.
 *
 * Each call that reads or writes such a file reserves bytes / rate seconds of a clock, in order of arrival, and returns a
 * latency after the end of its reservation. The time of the real call is part of this time. A clock belongs to
 *   - a host: all processes of a host share its rate, as they share a mount (the default); or
 *   - a server: stripes of 1 MiB are on N servers in turn, each of which serves one request after another, for all hosts.
 * Latencies overlap where calls do.
 *
 * $TRIB_COMPARE_FILE holds: RATE LATENCY SERVERS SLOW FACTOR CLOCKS:DIRECTORY, that is bytes a second, seconds, the number of
 * servers (0: by host), the number of a host or server with the rate / FACTOR and latency * FACTOR (-1: none), the folder of
 * the clocks, and the directory of the files. The number of a host is the number at the end of its name.
 *
 * Not slowed: files that are mapped into memory, and the C library's own calls (fwrite, aio_write). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define STRIPE (1 << 20)
#define MOST_SERVERS 1024

/* A host or server, in memory that all of its users share. A file of clocks begins with zeros. */
struct clock {
    _Atomic int64_t free; /* Nanosecond of CLOCK_MONOTONIC from which nothing is reserved. */
    _Atomic int64_t calls, read, written; /* Number of calls and bytes; of a server, its parts of calls. */
};

static struct {
    double rate, latency, factor;
    int servers, slow, host;
    char directory[4096];
    size_t length;
    dev_t device;
    struct clock *clocks; /* NULL: nothing is slowed. */
} bed;

static void stop(const char *what)
{
    fprintf(stderr, "compare: file: %s: %s\n", what, strerror(errno));
    _exit(1);
}

static void start(void)
{
    const char *text = getenv("TRIB_COMPARE_FILE");
    char clocks[4096], path[8192], host[256] = "";
    struct stat found;
    if (!text || !*text)
        return;
    if (sscanf(text, "%lf %lf %d %d %lf %4095[^:]:%4095[^\n]", &bed.rate, &bed.latency, &bed.servers, &bed.slow, &bed.factor,
               clocks, bed.directory) != 7 || bed.rate <= 0 || bed.servers < 0 || bed.servers > MOST_SERVERS) {
        errno = EINVAL;
        stop("TRIB_COMPARE_FILE");
    }
    gethostname(host, sizeof host - 1);
    const char *digits = host + strlen(host);
    while (digits > host && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    bed.host = atoi(digits);
    bed.length = strlen(bed.directory);
    if (stat(bed.directory, &found) != 0)
        stop(bed.directory);
    bed.device = found.st_dev;
    snprintf(path, sizeof path, "%s/%s", clocks, bed.servers ? "servers" : host);
    size_t size = sizeof(struct clock) * (bed.servers ? bed.servers : 1);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, size) != 0)
        stop(path);
    struct clock *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED)
        stop(path);
    close(file);
    bed.clocks = shared;
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Returns the time if the descriptor is a file that is slowed, else 0. */
static int64_t begin(int file)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char link[32], path[4096];
    struct stat found;
    int error = errno;
    int64_t time = 0;
    pthread_once(&once, start);
    if (bed.clocks && fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_dev == bed.device) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t length = readlink(link, path, sizeof path);
        if (length > (ssize_t)bed.length && !memcmp(path, bed.directory, bed.length) && path[bed.length] == '/')
            time = now();
    }
    errno = error;
    return time;
}

/* Reserves the time of some bytes from `from` on, and returns when the call is done. */
static int64_t reserve(int number, int is_slow, int64_t from, int64_t bytes, int writes)
{
    struct clock *clock = &bed.clocks[number];
    double factor = is_slow ? bed.factor : 1;
    int64_t time = (int64_t)(bytes * factor / bed.rate * 1e9), free = atomic_load(&clock->free), end;
    do
        end = (free > from ? free : from) + time;
    while (!atomic_compare_exchange_weak(&clock->free, &free, end));
    atomic_fetch_add(&clock->calls, 1);
    atomic_fetch_add(writes ? &clock->written : &clock->read, bytes);
    return end + (int64_t)(bed.latency * factor * 1e9);
}

/* Waits until a call is done that began at `from`, and moved `bytes` from `offset` on (-1: up to the file's position). */
static void finish(int file, int64_t from, ssize_t bytes, off_t offset, int writes)
{
    static __thread int is_exact;
    int error = errno;
    int64_t end = 0;
    if (from == 0 || bytes <= 0)
        return;
    if (!is_exact) {
        prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
        is_exact = 1;
    }
    if (!bed.servers) {
        end = reserve(0, bed.slow == bed.host, from, bytes, writes);
    } else {
        int64_t at = offset >= 0 ? offset : lseek(file, 0, SEEK_CUR) - bytes, last = at + bytes;
        while (at < last) {
            int64_t next = (at / STRIPE + 1) * STRIPE, part = (next < last ? next : last) - at;
            int server = at / STRIPE % bed.servers;
            int64_t done = reserve(server, bed.slow == server, from, part, writes);
            end = done > end ? done : end;
            at += part;
        }
    }
    struct timespec until = {end / 1000000000, end % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
    errno = error;
}

#define READS 0
#define WRITES 1
/* Defines `name` with the parameters and arguments after the descriptor. */
#define SLOW(name, direction, offset, parameters, arguments)                                                                    \
    ssize_t name parameters                                                                                                     \
    {                                                                                                                           \
        static ssize_t(*next) parameters;                                                                                       \
        if (!next)                                                                                                              \
            next = (ssize_t(*) parameters)dlsym(RTLD_NEXT, #name);                                                              \
        int64_t from = begin(file);                                                                                             \
        ssize_t moved = next arguments;                                                                                         \
        finish(file, from, moved, offset, direction);                                                                           \
        return moved;                                                                                                           \
    }
SLOW(read, READS, -1, (int file, void *to, size_t size), (file, to, size))
SLOW(write, WRITES, -1, (int file, const void *from_, size_t size), (file, from_, size))
SLOW(readv, READS, -1, (int file, const struct iovec *parts, int count), (file, parts, count))
SLOW(writev, WRITES, -1, (int file, const struct iovec *parts, int count), (file, parts, count))
SLOW(pread, READS, at, (int file, void *to, size_t size, off_t at), (file, to, size, at))
SLOW(pread64, READS, at, (int file, void *to, size_t size, off64_t at), (file, to, size, at))
SLOW(pwrite, WRITES, at, (int file, const void *from_, size_t size, off_t at), (file, from_, size, at))
SLOW(pwrite64, WRITES, at, (int file, const void *from_, size_t size, off64_t at), (file, from_, size, at))
SLOW(preadv, READS, at, (int file, const struct iovec *parts, int count, off_t at), (file, parts, count, at))
SLOW(preadv64, READS, at, (int file, const struct iovec *parts, int count, off64_t at), (file, parts, count, at))
SLOW(pwritev, WRITES, at, (int file, const struct iovec *parts, int count, off_t at), (file, parts, count, at))
SLOW(pwritev64, WRITES, at, (int file, const struct iovec *parts, int count, off64_t at), (file, parts, count, at))
SLOW(preadv2, READS, at, (int file, const struct iovec *parts, int count, off_t at, int flags), (file, parts, count, at, flags))
SLOW(preadv64v2, READS, at, (int file, const struct iovec *parts, int count, off64_t at, int flags),
     (file, parts, count, at, flags))
SLOW(pwritev2, WRITES, at, (int file, const struct iovec *parts, int count, off_t at, int flags),
     (file, parts, count, at, flags))
SLOW(pwritev64v2, WRITES, at, (int file, const struct iovec *parts, int count, off64_t at, int flags),
     (file, parts, count, at, flags))
/* What compilers make of them with _FORTIFY_SOURCE. */
SLOW(__read_chk, READS, -1, (int file, void *to, size_t size, size_t room), (file, to, size, room))
SLOW(__pread_chk, READS, at, (int file, void *to, size_t size, off_t at, size_t room), (file, to, size, at, room))
SLOW(__pread64_chk, READS, at, (int file, void *to, size_t size, off64_t at, size_t room), (file, to, size, at, room))
