/* A library to preload that passes for a Lustre of SERVERS servers: for files in folders whose names begin with "lustre", statfs
 * tells Lustre's type, an ioctl gives a new file its stripes, and an extended attribute tells them. They are kept beside the file,
 * with ".stripes" behind its name. More stripes than servers name the server of each (as from Lustre 2.13 on). As on Lustre, a file that was opened as usual has its stripes already: one, of 1 MiB. A file
 * with "refused" in its name gets none. The lock of a group is told on standard error when it is taken; each handle has it once,
 * and none when the program ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { SERVERS = 4, MAGIC = 0x0BD00BD0, LOV_V1 = 0x0BD10BD0, NAMED = 0x0BD50BD0, GRAIN = 65536, ANY = 0xFFFF };
enum { OVERSTRIPED = 0x201, MOST = 64 };
static const unsigned long SET_STRIPES = _IOW('f', 154, long), LOCK = _IOW('f', 158, long), UNLOCK = _IOW('f', 159, long);

/* Whether a handle has the lock of a group. */
static char locked[1024];

/* struct lov_user_md_v1; of a request that names servers, lov_user_md_v3. */
struct object {
    uint32_t id[5], server;
};

struct lov {
    uint32_t magic, pattern;
    uint64_t object[2];
    uint32_t unit;
    uint16_t count, first;
    struct object objects[MOST];
};

struct named {
    char head[offsetof(struct lov, objects)], pool[16];
    struct object objects[MOST];
};

/* The size of what a file tells: where each stripe is, if there are more than servers. */
static size_t size_of(const struct lov *stripes)
{
    return offsetof(struct lov, objects) + (stripes->pattern == OVERSTRIPED ? stripes->count : 0) * sizeof(struct object);
}

/* The name of a file's stripes; 0 if the file is not on Lustre. */
static int beside(int fd, char *name)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, name, PATH_MAX - 1);
    if (length < 0)
        return 0;
    name[length] = 0;
    if (!strstr(name, "/lustre") || length + 9 > PATH_MAX)
        return 0;
    strcat(name, ".stripes");
    return 1;
}

static int set_stripes(int fd, const void *asked)
{
    struct lov stripes;
    const struct named *named = asked;
    char name[PATH_MAX];
    memset(&stripes, 0, sizeof stripes);
    memcpy(&stripes, asked, offsetof(struct lov, objects));
    /* O_LOV_DELAY_CREATE has O_ASYNC, which stays. */
    if (!beside(fd, name) || !(fcntl(fd, F_GETFL) & O_ASYNC) || access(name, F_OK) == 0)
        return errno = EEXIST, -1;
    int is_named = stripes.magic == NAMED && stripes.pattern == OVERSTRIPED && stripes.count <= MOST;
    for (int i = 0; is_named && i < stripes.count; i++) {
        stripes.objects[i] = named->objects[i];
        if (named->objects[i].server >= SERVERS || named->objects[0].server != stripes.first)
            return errno = EINVAL, -1;
    }
    if ((stripes.magic != LOV_V1 && !is_named) || stripes.unit % GRAIN || (stripes.first != ANY && stripes.first >= SERVERS))
        return errno = EINVAL, -1;
    if (strstr(name, "refused"))
        return errno = ENOSPC, -1;
    stripes.magic = LOV_V1;
    stripes.pattern = is_named ? OVERSTRIPED : 1;
    if (stripes.unit == 0)
        stripes.unit = 1 << 20;
    if (stripes.count == 0)
        stripes.count = 1;
    if (stripes.count > SERVERS && !is_named)
        stripes.count = SERVERS;
    int kept = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (kept < 0 || write(kept, &stripes, size_of(&stripes)) != (ssize_t)size_of(&stripes))
        abort();
    return close(kept);
}

static int set_lock(int fd, char taken, int group)
{
    if (fd >= (int)sizeof locked || locked[fd] == taken || group == 0)
        abort();
    locked[fd] = taken;
    if (taken)
        dprintf(2, "lock of group %d\n", group);
    return 0;
}

__attribute__((destructor)) static void all_is_given_back(void)
{
    if (memchr(locked, 1, sizeof locked))
        abort();
}

int ioctl(int fd, unsigned long request, ...)
{
    static int (*next)(int, unsigned long, void *);
    char name[PATH_MAX];
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (request == SET_STRIPES && beside(fd, name))
        return set_stripes(fd, argument);
    if ((request == LOCK || request == UNLOCK) && beside(fd, name))
        return set_lock(fd, request == LOCK, (int)(intptr_t)argument);
    if (!next)
        next = (int (*)(int, unsigned long, void *))dlsym(RTLD_NEXT, "ioctl");
    return next(fd, request, argument);
}

ssize_t fgetxattr(int fd, const char *attribute, void *value, size_t size)
{
    static ssize_t (*next)(int, const char *, void *, size_t);
    struct lov stripes = {LOV_V1, 1, {0, 0}, 1 << 20, 1, 0, {{{0}, 0}}};
    char name[PATH_MAX];
    if (!strcmp(attribute, "lustre.lov") && beside(fd, name)) {
        int kept = open(name, O_RDONLY);
        if (kept >= 0 && (read(kept, &stripes, sizeof stripes) != (ssize_t)size_of(&stripes) || close(kept)))
            abort();
        if (size < size_of(&stripes))
            return errno = ERANGE, -1;
        memcpy(value, &stripes, size_of(&stripes));
        return size_of(&stripes);
    }
    if (!next)
        next = (ssize_t(*)(int, const char *, void *, size_t))dlsym(RTLD_NEXT, "fgetxattr");
    return next(fd, attribute, value, size);
}

#define STATFS(name)                                                               \
    int name(const char *path, struct name *told)                                  \
    {                                                                              \
        static int (*next)(const char *, struct name *);                           \
        char real[PATH_MAX];                                                       \
        if (!next)                                                                 \
            next = (int (*)(const char *, struct name *))dlsym(RTLD_NEXT, #name);  \
        int code = next(path, told);                                               \
        if (code == 0 && realpath(path, real) && strstr(real, "/lustre"))          \
            told->f_type = MAGIC;                                                  \
        return code;                                                               \
    }

STATFS(statfs)
STATFS(statfs64)
