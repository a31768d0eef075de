/* A library to preload that passes for DAOS's dfuse: for the folder "dfuse" in the working folder, statfs tells the type of FUSE, and
 * the table of mounts has a mount of dfuse. With TRIB_TEST_PIL4DFS, statfs leaves the type alone, as DAOS's libpil4dfs does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { FUSE = 0x65735546 };
static const char TABLE[] = "/proc/self/mountinfo";

int statfs(const char *path, struct statfs *told)
{
    int (*next)(const char *, struct statfs *) = (int (*)(const char *, struct statfs *))dlsym(RTLD_NEXT, "statfs");
    char whole[PATH_MAX];
    long before = told->f_type;
    int code = next(path, told);
    if (code == 0 && realpath(path, whole) && strstr(whole, "/dfuse"))
        told->f_type = getenv("TRIB_TEST_PIL4DFS") ? before : FUSE;
    return code;
}

/* The table of mounts with one more. */
static int table(void)
{
    char folder[PATH_MAX], line[PATH_MAX + 100], bytes[4096];
    int from = openat(AT_FDCWD, TABLE, O_RDONLY), to = memfd_create("mounts", 0);
    ssize_t count;
    while ((count = read(from, bytes, sizeof bytes)) > 0)
        if (write(to, bytes, count) != count)
            abort();
    close(from);
    if (!getcwd(folder, sizeof folder))
        abort();
    int length = snprintf(line, sizeof line, "999 1 0:999 / %s/dfuse rw,nosuid - fuse.daos dfuse rw\n", folder);
    if (write(to, line, length) != length)
        abort();
    lseek(to, 0, SEEK_SET);
    return to;
}

static int opened(const char *name, const char *path, int flags, int mode)
{
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
    return strcmp(path, TABLE) == 0 ? table() : next(path, flags, mode);
}

static int mode_of(int flags, va_list rest)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int mode = mode_of(flags, rest);
    va_end(rest);
    return opened("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int mode = mode_of(flags, rest);
    va_end(rest);
    return opened("open64", path, flags, mode);
}
