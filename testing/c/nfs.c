/* A library to preload that passes for NFS: in folders whose names begin with "nfs", statfs and fstatfs tell the type of NFS. What the
 * process asks of such files is told on standard error: locks ("nfs: lock") and handles that go past the cache ("nfs: direct"),
 * which stay as they are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { NFS = 0x6969 };

static int is_nfs(int fd)
{
    char link[64], name[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, name, PATH_MAX - 1);
    if (length < 0)
        return 0;
    name[length] = 0;
    return strstr(name, "/nfs/") != NULL;
}

int statfs(const char *path, struct statfs *told)
{
    int (*next)(const char *, struct statfs *) = (int (*)(const char *, struct statfs *))dlsym(RTLD_NEXT, "statfs");
    char whole[PATH_MAX + 1];
    int code = next(path, told);
    if (code == 0 && realpath(path, whole) && strstr(strcat(whole, "/"), "/nfs/"))
        told->f_type = NFS;
    return code;
}

int statfs64(const char *path, struct statfs64 *told)
{
    return statfs(path, (struct statfs *)told);
}

int fstatfs(int fd, struct statfs *told)
{
    int (*next)(int, struct statfs *) = (int (*)(int, struct statfs *))dlsym(RTLD_NEXT, "fstatfs");
    int code = next(fd, told);
    if (code == 0 && is_nfs(fd))
        told->f_type = NFS;
    return code;
}

static int controlled(const char *name, int fd, int command, void *argument)
{
    int (*next)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
    int is_lock = command == F_SETLK || command == F_SETLKW;
    if (is_lock && is_nfs(fd))
        dprintf(2, "nfs: lock\n");
    if (command == F_SETFL && ((long)argument & O_DIRECT) && is_nfs(fd)) {
        dprintf(2, "nfs: direct\n");
        return 0;
    }
    return next(fd, command, argument);
}

int fcntl(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return controlled("fcntl", fd, command, argument);
}

int fcntl64(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return controlled("fcntl64", fd, command, argument);
}
