/* A view that begins 5 GiB into the file, and offsets that reach 2^33 bytes: written, read back, and looked at by the system's
 * own calls. The file goes at the end. */
#include "program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT = 4000 };

static const MPI_Offset displacement = 5LL << 30, far = (1LL << 33) - 4096;

static int data[COUNT], back[COUNT];

static void move(MPI_File file, MPI_Offset at, int seed)
{
    MPI_Status status;
    for (int i = 0; i < COUNT; i++)
        data[i] = value(rank, seed + i);
    if (at < 0) {
        MUST(MPI_File_seek(file, 0, MPI_SEEK_SET));
        MUST(MPI_File_write_all(file, data, COUNT, MPI_INT, &status));
        settle(file);
        MUST(MPI_File_seek(file, 0, MPI_SEEK_SET));
        MUST(MPI_File_read_all(file, back, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    } else {
        MUST(MPI_File_write_at_all(file, at, data, COUNT, MPI_INT, &status));
        settle(file);
        MUST(MPI_File_read_at_all(file, at, back, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    }
    say("%lld bytes\n", bytes_of(&status));
    TRUE(memcmp(data, back, sizeof data) == 0);
}

/* What the system says of the file, and a sum of its bytes from an offset on. */
static void look(const char *path, MPI_Offset from)
{
    int found, fd = open(path, O_RDONLY);
    unsigned sum = 0;
    struct stat told;
    TRUE(fd >= 0 && fstat(fd, &told) == 0);
    for (int i = 0; i < COUNT * ranks; i++) {
        TRUE(pread(fd, &found, sizeof found, from + (MPI_Offset)i * sizeof found) == sizeof found);
        sum = sum * 31 + found;
    }
    say("%lld bytes, less than 100 MB of them on disk: %d; from %lld on %08x\n", (long long)told.st_size,
        told.st_blocks < 200000, (long long)from, sum);
    TRUE(close(fd) == 0);
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Datatype blocks, view;
    start(&argc, &argv);
    MUST(MPI_File_open(MPI_COMM_WORLD, "far", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    MUST(MPI_Type_contiguous(10, MPI_INT, &blocks));
    MUST(MPI_Type_create_resized(blocks, 0, 40L * ranks, &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_set_view(file, displacement + 40 * rank, MPI_INT, view, "native", MPI_INFO_NULL));
    move(file, -1, 0);
    MUST(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    move(file, far + (MPI_Offset)rank * sizeof data, 7);
    MUST(MPI_File_sync(file));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    look("far", displacement);
    look("far", far);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_close(&file));
    say("still there: %d\n", access("far", F_OK) == 0);
    MUST(MPI_Type_free(&blocks));
    MUST(MPI_Type_free(&view));
    finish();
    return 0;
}
