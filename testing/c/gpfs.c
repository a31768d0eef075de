/* A library to preload that has the function by which GPFS is told of ranges, and says what it was told: all its numbers, in the
 * order of the structures. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int gpfs_fcntl(int fd, void *argument)
{
    int32_t head[6], end[2] = {0, 0};
    int64_t range[2];
    memcpy(head, argument, sizeof head);
    memcpy(range, (char *)argument + 24, sizeof range);
    if (head[0] != 16 + head[4] || (head[4] != 24 && head[4] != 32))
        return errno = EINVAL, -1;
    memcpy(end, (char *)argument + 40, head[4] - 24);
    dprintf(2, "gpfs: version %d, %d %d, type %d, range %lld %lld, %d %d\n", head[1], head[2], head[3], head[5], (long long)range[0],
            (long long)range[1], end[0], end[1]);
    return fd < 0 ? -1 : 0;
}
