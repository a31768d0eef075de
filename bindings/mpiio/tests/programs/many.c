/* Files that are opened, written together and closed, so many on a communicator: many world|self|group COUNT ... Every rank
 * says what it has more of than after the first of them: descriptors, threads, mappings, bytes in use of the heap. (What is
 * resident jumps by megabytes where the kernel takes large pages.) */
#include "program.h"

#include <dirent.h>
#include <malloc.h>

enum { INTS = 64, FIRST = 60 };

struct have {
    long descriptors, threads, mappings, bytes;
};

static long entries(const char *path)
{
    long n = 0;
    DIR *folder = opendir(path);
    TRUE(folder);
    while (readdir(folder))
        n++;
    TRUE(closedir(folder) == 0);
    return n;
}

static long lines(const char *path)
{
    long n = 0;
    FILE *file = fopen(path, "r");
    TRUE(file);
    for (int c = getc(file); c != EOF; c = getc(file))
        n += c == '\n';
    TRUE(fclose(file) == 0);
    return n;
}

static struct have look(void)
{
    struct mallinfo2 heap = mallinfo2();
    return (struct have){entries("/proc/self/fd"), entries("/proc/self/task"), lines("/proc/self/maps"),
                         heap.uordblks + heap.hblkhd};
}

static void once(MPI_Comm comm, const char *path, int round)
{
    int data[INTS], of, all;
    MPI_File file;
    MPI_Status status;
    MUST(MPI_Comm_rank(comm, &of));
    MUST(MPI_Comm_size(comm, &all));
    for (int i = 0; i < INTS; i++)
        data[i] = value(rank, round + i);
    MUST(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_write_at_all(file, (MPI_Offset)of * sizeof data, data, INTS, MPI_INT, &status));
    TRUE(bytes_of(&status) == sizeof data);
    MUST(MPI_File_close(&file));
}

static void through(const char *name, long count)
{
    char path[50];
    MPI_Comm comm = MPI_COMM_WORLD;
    struct have before, now;
    if (!strcmp(name, "self"))
        comm = MPI_COMM_SELF;
    else if (strcmp(name, "world"))
        MUST(MPI_Comm_split(MPI_COMM_WORLD, rank < ranks - 1, rank, &comm));
    snprintf(path, sizeof path, "%s-%d", name, comm == MPI_COMM_WORLD ? 0 : comm == MPI_COMM_SELF ? rank : rank < ranks - 1);
    for (int i = 0; i < FIRST; i++)
        once(comm, path, i);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    before = look();
    for (int i = FIRST; i < count; i++)
        once(comm, path, i);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    now = look();
    say("%s: %ld descriptors, %ld threads, %ld mappings, %ld bytes\n", name, now.descriptors - before.descriptors,
        now.threads - before.threads, now.mappings - before.mappings, now.bytes - before.bytes);
    if (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF)
        MUST(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int i = 1; i + 1 < argc; i += 2)
        through(argv[i], atol(argv[i + 1]));
    finish();
    return 0;
}
