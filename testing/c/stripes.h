/* For programs under `lustre.c`: a folder on what passes for Lustre, and what a file there tells of itself. */
#ifndef STRIPES_H
#define STRIPES_H

#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The path of a file in the folder `path`.lustre, or else lustre, which is made. Collective. */
__attribute__((unused)) static const char *on_lustre(const char *path, const char *name)
{
    static char whole[4096];
    const char *slash = path ? strrchr(path, '/') : NULL;
    int length = slash ? (int)(slash - path) + 1 : 0;
    snprintf(whole, sizeof whole, "%.*slustre", length, path ? path : "");
    mkdir(whole, 0700); /* one rank makes it */
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(whole + strlen(whole), sizeof whole - strlen(whole), "/%s", name);
    return whole;
}

/* The stripe size, the number of stripes and the first server of a file, as text, with the number of servers if there are more
 * stripes than servers; "no file" where there is none. */
__attribute__((unused)) static const char *stripes_of(const char *path)
{
    static char text[64];
    struct {
        uint32_t magic, pattern;
        uint64_t object[2];
        uint32_t unit;
        uint16_t count, first;
        struct {
            uint32_t id[5], server;
        } objects[64];
    } lov;
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return "no file";
    if (fgetxattr(fd, "lustre.lov", &lov, sizeof lov) < 32)
        abort();
    close(fd);
    int length = snprintf(text, sizeof text, "%u %u %u", lov.unit, lov.count, lov.first);
    uint64_t servers = 0;
    for (int i = 0; lov.pattern == 0x201 && i < lov.count; i++)
        servers |= 1ull << lov.objects[i].server;
    if (servers)
        snprintf(text + length, sizeof text - length, " on %d servers", __builtin_popcountll(servers));
    return text;
}

#endif
