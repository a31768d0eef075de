/* A library to preload that makes one call of Tributary's fail: TRIB_TEST_FAULT=KIND:RANK:N lets the N-th call of that kind
 * fail on that rank (N 0: none). Kinds: `mpi`, any of the functions below that Tributary calls; `memory`, a request for memory
 * that it makes; `sync` and `close`, of the file "small" once it holds something, whoever calls. At its end every rank says how many such calls it saw. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char kind[16];
static long fails, rank = -1, mine;
static atomic_long seen;
static uintptr_t low, high;

static int find(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "libtributary"))
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
    dl_iterate_phdr(find, NULL);
}

__attribute__((destructor)) static void tell(void)
{
    if (mine == rank)
        dprintf(2, "faults: %ld calls\n", (long)seen);
}

/* Whether this call is the one to fail. */
static int is_due(const char *what, void *caller)
{
    if (mine != rank || strcmp(what, kind))
        return 0;
    if (caller && ((uintptr_t)caller < low || (uintptr_t)caller >= high))
        return 0;
    return ++seen == fails;
}

#define CALLER __builtin_return_address(0)

/* Both names of an MPI function: Tributary may call either. */
#define MPI(name, parameters, arguments)                                  \
    int MPI_##name parameters                                             \
    {                                                                     \
        static int(*next) parameters;                                     \
        if (!next)                                                        \
            next = (int(*) parameters)dlsym(RTLD_NEXT, "PMPI_" #name);    \
        return is_due("mpi", CALLER) ? MPI_ERR_OTHER : next arguments;    \
    }                                                                     \
    int PMPI_##name parameters                                            \
    {                                                                     \
        static int(*next) parameters;                                     \
        if (!next)                                                        \
            next = (int(*) parameters)dlsym(RTLD_NEXT, "PMPI_" #name);    \
        return is_due("mpi", CALLER) ? MPI_ERR_OTHER : next arguments;    \
    }

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
MPI(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
MPI(Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request), (comm, made, request))
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

/* The file that the program writes, once it has written: some MPI libraries hang by themselves where opening fails on one
 * rank. */
static int is_file(int fd)
{
    char link[64], path[4096];
    struct stat told;
    if (fstat(fd, &told) || !told.st_size)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return length > 6 && !strcmp(path + length - 6, "/small");
}

static int fail_io(const char *what, int fd)
{
    if (!is_file(fd) || !is_due(what, NULL))
        return 0;
    errno = EIO;
    return 1;
}

#define SYSTEM(name, what)                              \
    int name(int fd)                                    \
    {                                                   \
        static int (*next)(int);                        \
        if (!next)                                      \
            next = (int (*)(int))dlsym(RTLD_NEXT, #name); \
        return fail_io(what, fd) ? -1 : next(fd);       \
    }

SYSTEM(fsync, "sync")
SYSTEM(fdatasync, "sync")
SYSTEM(close, "close")
