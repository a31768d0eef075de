/* A collective call that MPI runs, and then a collective call of the library. MPI lets a rank return from its call before
 * other ranks have done their part of it (the test makes the part of one rank slow), and the library lets a rank write before
 * the ranks agree. overtaken PATH CASE:
 *
 *   size    MPI 4.1, 14.2.4: MPI_File_set_size is collective and truncates the file; what a rank writes after its call stays
 *   hole    14.6.1: bytes that no other access touches are those of the one that wrote them, whatever happens beside them. A
 *           rank writes blocks with gaps in a call that MPI runs, and another one writes a gap in the next call
 *   ihole   the same, of a non-blocking call
 *   atomic  the same, of a call in atomic mode and one after it
 *   own     14.6.1: a rank reads what it has written itself, at the shared file pointer, and writes it again
 *   delete  14.2.1: a file that is deleted on close is gone when a rank returns from MPI_File_close; the file that the rank
 *           then makes under its name stays */
#include "program.h"

#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 65536, BLOCKS = 3, ROUNDS = 40 };

static MPI_File file;
static char *data;

/* A view of blocks of this rank with gaps between them, and a call that makes the library open the file. */
static void begin(void)
{
    MPI_Datatype blocks;
    MUST(MPI_Type_vector(BLOCKS, BLOCK, 3 * BLOCK, MPI_BYTE, &blocks));
    MUST(MPI_Type_commit(&blocks));
    if (rank == 1)
        MUST(MPI_File_set_view(file, 0, MPI_BYTE, blocks, "native", MPI_INFO_NULL));
    else
        MUST(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MUST(MPI_Type_free(&blocks));
    MUST(MPI_File_write_at_all(file, 20 * BLOCK, data, rank == 0 ? BLOCK : 0, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void size(const char *path)
{
    for (int round = 0; round < 3; round++) {
        struct stat found;
        MUST(MPI_File_set_size(file, 1000));
        MUST(MPI_File_write_at_all(file, (MPI_Offset)(rank + 1) * BLOCK, data, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
        settle(file);
        if (rank == 0 && (stat(path, &found) != 0 || found.st_size != (ranks + 1) * BLOCK))
            say("round %d: %lld bytes, not %d\n", round, (long long)found.st_size, (ranks + 1) * BLOCK);
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
}

/* Rank 1 writes its blocks in a call that MPI runs, and rank 0 the gap after the first in the next. */
static void hole(int is_atomic, int is_nonblocking)
{
    char found[2];
    MPI_Datatype far;
    MPI_Request request;
    begin();
    if (is_atomic)
        MUST(MPI_File_set_atomicity(file, 1));
    /* The library leaves calls to MPI whose bytes are further apart in memory than it can tell. */
    MUST(MPI_Type_create_hvector(3, 1, (MPI_Aint)1 << 62, MPI_BYTE, &far));
    MUST(MPI_Type_commit(&far));
    MPI_Datatype type = rank == 2 && !is_atomic ? far : MPI_BYTE;
    int length = rank == 1 ? BLOCKS * BLOCK : 0;
    if (is_nonblocking) {
        MUST(MPI_File_iwrite_at_all(file, 0, data, length, type, &request));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        MUST(MPI_File_write_at_all(file, 0, data, length, type, MPI_STATUS_IGNORE));
    }
    MUST(MPI_Type_free(&far));
    if (is_atomic)
        MUST(MPI_File_set_atomicity(file, 0));
    /* MPI of rank 1 may read the gaps first, to write them back with the blocks. */
    if (rank == 0)
        usleep(100000);
    MUST(MPI_File_write_at_all(file, BLOCK, data, rank == 0 ? BLOCK : 0, MPI_BYTE, MPI_STATUS_IGNORE));
    settle(file);
    MUST(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MUST(MPI_File_read_at(file, BLOCK - 1, found, 2, MPI_BYTE, MPI_STATUS_IGNORE));
    if (found[0] != 2 || found[1] != 1)
        say("bytes of ranks %d and %d, not 1 and 0\n", found[0] - 1, found[1] - 1);
}

static void own(void)
{
    int length = 40000, wrong[2] = {0, 0};
    char *found = malloc(length);
    begin();
    MUST(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Offset mine = ((MPI_Offset)round * ranks + rank) * length;
        memset(data, 2 * round + 1, length);
        MUST(MPI_File_write_ordered(file, data, length, MPI_BYTE, MPI_STATUS_IGNORE));
        MUST(MPI_File_read_at_all(file, mine, found, length, MPI_BYTE, MPI_STATUS_IGNORE));
        wrong[0] += memcmp(data, found, length) != 0;
        memset(data, 2 * round + 2, length);
        MUST(MPI_File_write_at_all(file, mine, data, length, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    settle(file);
    for (int round = 0; round < ROUNDS; round++) {
        MUST(MPI_File_read_at(file, ((MPI_Offset)round * ranks + rank) * length, found, length, MPI_BYTE, MPI_STATUS_IGNORE));
        memset(data, 2 * round + 2, length);
        wrong[1] += memcmp(data, found, length) != 0;
    }
    if (wrong[0] + wrong[1] > 0)
        say("of %d, %d wrong when read, %d written again\n", ROUNDS, wrong[0], wrong[1]);
    free(found);
}

static void make_another(const char *path)
{
    MPI_File another;
    if (rank == 1) {
        if (access(path, F_OK) == 0)
            say("the file is there after its close\n");
        MUST(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &another));
        MUST(MPI_File_close(&another));
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (access(path, F_OK) != 0)
        say("the file that rank 1 made is gone\n");
}

int main(int argc, char **argv)
{
    const char *path = argv[1], *what = argv[argc - 1];
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR, wrong, deletes;
    start(&argc, &argv);
    deletes = !strcmp(what, "delete");
    data = malloc(BLOCKS * BLOCK);
    memset(data, rank + 1, BLOCKS * BLOCK);
    if (rank == 0 && strstr(path, "nfs/"))
        mkdir("nfs", 0755);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_open(MPI_COMM_WORLD, path, mode | (deletes ? MPI_MODE_DELETE_ON_CLOSE : 0), MPI_INFO_NULL, &file));
    MUST(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
    if (!strcmp(what, "size"))
        size(path);
    else if (!strcmp(what, "hole") || !strcmp(what, "ihole") || !strcmp(what, "atomic"))
        hole(!strcmp(what, "atomic"), !strcmp(what, "ihole"));
    else if (!strcmp(what, "own"))
        own();
    MUST(MPI_File_close(&file));
    if (deletes)
        make_another(path);
    wrong = said_length > 0;
    MUST(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (rank == 0 && !wrong)
        puts("ok");
    free(data);
    finish();
    return 0;
}
