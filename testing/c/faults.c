/* A library to preload that makes calls fail: TRIB_TEST_FAULT=KIND:RANK:N lets the N-th call of that kind fail on that rank
 * (N 0: none; rank -1: on all). At its end such a rank says how many calls of the kind it saw. Kinds:
 *
 *   mpi           any of the functions below that Tributary calls; a row of calls that look for messages is one call, for how
 *                 many there are depends on the time
 *   memory        a request for memory that Tributary makes
 *   sync, close   of the file "small" once it holds something, whoever calls
 *   write, space  a write of "small", whoever calls: EIO, ENOSPC
 *   read          a read of it: EIO
 *   short         every N-th read or write of it moves half of the bytes
 *   interrupted   every N-th read or write of it is interrupted: EINTR
 *   slow          every write, truncation and deletion of it takes 0.1 s
 *   kill          the rank is killed in that write of "small"
 *   stop          it is stopped there, for a second */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char kind[16];
static long fails, rank = -1, mine = -1;
static atomic_long seen;
static uintptr_t low, high;

static int find(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    if (!info->dlpi_name || (!strstr(info->dlpi_name, "tributary") && !strstr(info->dlpi_name, "libgio")))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            if (!low || from < low)
                low = from;
            if (from + info->dlpi_phdr[i].p_memsz > high)
                high = from + info->dlpi_phdr[i].p_memsz;
        }
    return 0;
}

__attribute__((constructor)) static void read_environment(void)
{
    const char *of_launcher[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK"};
    const char *fault = getenv("TRIB_TEST_FAULT");
    for (int i = 0; i < 2; i++)
        if (getenv(of_launcher[i]))
            mine = atol(getenv(of_launcher[i]));
    if (fault && sscanf(fault, "%15[a-z]:%ld:%ld", kind, &rank, &fails) != 3)
        abort();
}

static int is_rank(void)
{
    return mine >= 0 && (rank < 0 || mine == rank);
}

__attribute__((destructor)) static void tell(void)
{
    if (is_rank())
        dprintf(2, "faults: rank %ld: %ld calls\n", mine, (long)seen);
}

/* Whether Tributary makes a call. Open MPI loads it as a component only when the program opens a file. */
static int is_ours(void *caller)
{
    if (!low)
        dl_iterate_phdr(find, NULL);
    return (uintptr_t)caller >= low && (uintptr_t)caller < high;
}

/* Whether this call is the one to fail. */
static int is_due(const char *what, void *caller)
{
    if (!is_rank() || strcmp(what, kind))
        return 0;
    if (caller && !is_ours(caller))
        return 0;
    return ++seen == fails;
}

/* As is_due, of an MPI function: Tributary looks for messages by these, again and again while it waits. */
static int is_due_mpi(const char *name, void *caller)
{
    static atomic_int looked;
    int looks = !strcmp(name, "Testsome") || !strcmp(name, "Test") || !strcmp(name, "Iprobe");
    if (!is_ours(caller))
        return 0;
    return !(atomic_exchange(&looked, looks) && looks) && is_due("mpi", caller);
}

#define CALLER __builtin_return_address(0)

/* Both names of an MPI function: Tributary may call either. `result` is what they return if `due` is set. */
#define MPI_AS(name, parameters, result)                              \
    int MPI_##name parameters                                         \
    {                                                                 \
        static int(*next) parameters;                                 \
        if (!next)                                                    \
            next = (int(*) parameters)dlsym(RTLD_NEXT, "PMPI_" #name); \
        int due = is_due_mpi(#name, CALLER);                          \
        return result;                                                \
    }                                                                 \
    int PMPI_##name parameters                                        \
    {                                                                 \
        static int(*next) parameters;                                 \
        if (!next)                                                    \
            next = (int(*) parameters)dlsym(RTLD_NEXT, "PMPI_" #name); \
        int due = is_due_mpi(#name, CALLER);                          \
        return result;                                                \
    }

#define MPI(name, parameters, arguments) MPI_AS(name, parameters, due ? MPI_ERR_OTHER : next arguments)
/* A collective function fails after its ranks have met: inside it the others would wait for ever, whatever Tributary does. */
#define COLLECTIVE(name, parameters, arguments) MPI_AS(name, parameters, next arguments || due ? MPI_ERR_OTHER : MPI_SUCCESS)

MPI(Isend, (const void *at, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),
    (at, n, type, to, tag, comm, request))
MPI(Issend, (const void *at, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),
    (at, n, type, to, tag, comm, request))
MPI(Irecv, (void *at, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request),
    (at, n, type, from, tag, comm, request))
MPI(Testsome, (int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses), (n, requests, done, which, statuses))
MPI(Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status))
MPI(Wait, (MPI_Request * request, MPI_Status *status), (request, status))
MPI(Iprobe, (int from, int tag, MPI_Comm comm, int *found, MPI_Status *status), (from, tag, comm, found, status))
MPI(Get_count, (const MPI_Status *status, MPI_Datatype type, int *n), (status, type, n))
COLLECTIVE(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
COLLECTIVE(Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request), (comm, made, request))
MPI(Comm_rank, (MPI_Comm comm, int *to), (comm, to))
MPI(Comm_size, (MPI_Comm comm, int *to), (comm, to))
MPI(Comm_compare, (MPI_Comm a, MPI_Comm b, int *how), (a, b, how))
MPI(Query_thread, (int *level), (level))
MPI(Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler), (comm, handler))
MPI(File_get_position, (MPI_File file, MPI_Offset *offset), (file, offset))
MPI(File_seek, (MPI_File file, MPI_Offset offset, int whence), (file, offset, whence))
MPI(Type_get_envelope, (MPI_Datatype type, int *i, int *a, int *d, int *combiner), (type, i, a, d, combiner))
MPI(Type_get_contents,
    (MPI_Datatype type, int n, int m, int k, int integers[], MPI_Aint addresses[], MPI_Datatype types[]),
    (type, n, m, k, integers, addresses, types))
MPI(Type_dup, (MPI_Datatype type, MPI_Datatype *made), (type, made))
MPI(Grequest_start,
    (MPI_Grequest_query_function * query, MPI_Grequest_free_function *release, MPI_Grequest_cancel_function *cancel,
        void *state, MPI_Request *request),
    (query, release, cancel, state, request))
MPI(Grequest_complete, (MPI_Request request), (request))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    return is_due("memory", CALLER) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return is_due("memory", CALLER) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *at, size_t size)
{
    return is_due("memory", CALLER) ? NULL : __libc_realloc(at, size);
}

int posix_memalign(void **at, size_t alignment, size_t size)
{
    if (is_due("memory", CALLER))
        return ENOMEM;
    *at = __libc_memalign(alignment, size);
    return *at ? 0 : ENOMEM;
}

/* The bytes of the file that the program writes; -1 for another. */
static off_t bytes_of_file(int fd)
{
    char link[64], path[4096];
    struct stat told;
    if (fstat(fd, &told))
        return -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return -1;
    path[length] = 0;
    return length > 6 && !strcmp(path + length - 6, "/small") ? told.st_size : -1;
}

/* Once it holds something: some MPI libraries hang by themselves where opening fails on one rank. */
static int fail_end(const char *what, int fd)
{
    if (strcmp(what, kind) || bytes_of_file(fd) <= 0 || !is_due(what, NULL))
        return 0;
    errno = EIO;
    return 1;
}

#define SYSTEM(name, what)                               \
    int name(int fd)                                     \
    {                                                    \
        static int (*next)(int);                         \
        if (!next)                                       \
            next = (int (*)(int))dlsym(RTLD_NEXT, #name); \
        return fail_end(what, fd) ? -1 : next(fd);       \
    }

/* The files that MPI truncates and deletes may be empty. */
static void slow_down(int is_small)
{
    if (is_small && !strcmp(kind, "slow") && is_rank())
        usleep(100000);
}

#define TRUNCATION(name)                                            \
    int name(int fd, off_t length)                                  \
    {                                                               \
        static int (*next)(int, off_t);                             \
        if (!next)                                                  \
            next = (int (*)(int, off_t))dlsym(RTLD_NEXT, #name);    \
        slow_down(bytes_of_file(fd) >= 0);                          \
        return next(fd, length);                                    \
    }

TRUNCATION(ftruncate)
TRUNCATION(ftruncate64)

int unlink(const char *path)
{
    static int (*next)(const char *);
    size_t length = strlen(path);
    if (!next)
        next = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
    slow_down(length >= 5 && !strcmp(path + length - 5, "small"));
    return next(path);
}

SYSTEM(fsync, "sync")
SYSTEM(fdatasync, "sync")
SYSTEM(close, "close")

static void stop_for_a_second(void)
{
    if (fork() == 0) {
        sleep(1);
        kill(getppid(), SIGCONT);
        _exit(0);
    }
    raise(SIGSTOP);
}

/* What happens to a read or write of the file: 0 nothing, -1 it fails with errno, 1 it is short. */
static int effect(int fd, int writes)
{
    int is_short = !strcmp(kind, "short"), is_interrupted = !strcmp(kind, "interrupted"), saved = errno;
    int is_ours = is_short || is_interrupted || !strcmp(kind, "read") == !writes;
    if (!is_ours || !is_rank() || bytes_of_file(fd) < 0)
        return 0;
    errno = saved;
    if (!strcmp(kind, "slow")) {
        usleep(100000);
        return 0;
    }
    if (is_short || is_interrupted) {
        if (fails == 0 || ++seen % fails)
            return 0;
        errno = EINTR;
        return is_short ? 1 : -1;
    }
    for (const char **name = (const char *[]){"write", "space", "read", "kill", "stop", NULL}; *name; name++) {
        if (!is_due(*name, NULL))
            continue;
        if (!strcmp(kind, "kill"))
            raise(SIGKILL);
        if (!strcmp(kind, "stop")) {
            stop_for_a_second();
            return 0;
        }
        errno = strcmp(kind, "space") ? EIO : ENOSPC;
        return -1;
    }
    return 0;
}

#define HALF(n) ((n) > 1 ? (n) / 2 : (n))

#define MOVE(name, writes, buffer)                                                                          \
    ssize_t name(int fd, buffer at, size_t n, off_t offset)                                                 \
    {                                                                                                       \
        static ssize_t (*next)(int, buffer, size_t, off_t);                                                 \
        if (!next)                                                                                          \
            next = (ssize_t(*)(int, buffer, size_t, off_t))dlsym(RTLD_NEXT, #name);                         \
        int is = effect(fd, writes);                                                                        \
        return is < 0 ? -1 : next(fd, at, is ? HALF(n) : n, offset);                                        \
    }

MOVE(pwrite, 1, const void *)
MOVE(pwrite64, 1, const void *)
MOVE(pread, 0, void *)
MOVE(pread64, 0, void *)

#define MOVE_LIST(name, writes)                                                                             \
    ssize_t name(int fd, const struct iovec *list, int n, off_t offset)                                     \
    {                                                                                                       \
        static ssize_t (*next)(int, const struct iovec *, int, off_t);                                      \
        if (!next)                                                                                          \
            next = (ssize_t(*)(int, const struct iovec *, int, off_t))dlsym(RTLD_NEXT, #name);              \
        int is = effect(fd, writes);                                                                        \
        struct iovec half = {n > 0 ? list->iov_base : NULL, n > 0 ? HALF(list->iov_len) : 0};               \
        return is < 0 ? -1 : is && half.iov_len > 0 ? next(fd, &half, 1, offset) : next(fd, list, n, offset); \
    }

MOVE_LIST(pwritev, 1)
MOVE_LIST(pwritev64, 1)
MOVE_LIST(preadv, 0)
MOVE_LIST(preadv64, 0)
