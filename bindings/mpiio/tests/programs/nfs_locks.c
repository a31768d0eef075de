/* Locks of a program survive collective writes on NFS: nfs_locks FOLDER/FILE. Each rank locks a byte of the file, as ROMIO does in another
 * thread, through a handle of its own. After each collective write another process asks whether the lock is still there. */
#include "program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT = 1000, CALLS = 4 };

/* A byte far past the end of the data, one for each rank. */
static struct flock byte_of(int owner, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = (1L << 40) + owner, .l_len = 1};
    return lock;
}

int main(int argc, char **argv)
{
    int data[COUNT];
    MPI_File file;
    MPI_Datatype view;
    start(&argc, &argv);
    if (rank == 0) {
        char *folder = strdup(argv[1]);
        *strrchr(folder, '/') = 0;
        mkdir(folder, 0777);
        free(folder);
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Type_vector(COUNT, 1, ranks, MPI_INT, &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 4 * (MPI_Offset)rank, MPI_INT, view, "native", MPI_INFO_NULL));
    int own = open(argv[1], O_RDWR);
    TRUE(own >= 0);
    for (int call = 0; call < CALLS; call++) {
        /* Anew in each call: the first one opens the file, and rank 0 then closes a handle. */
        struct flock lock = byte_of(rank, F_WRLCK);
        TRUE(fcntl(own, F_SETLK, &lock) == 0);
        for (int i = 0; i < COUNT; i++)
            data[i] = value(rank, i + call);
        MUST(MPI_File_write_at_all(file, 0, data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        struct flock other = byte_of((rank + 1) % ranks, F_WRLCK);
        TRUE(fcntl(own, F_GETLK, &other) == 0);
        if (call > 0)
            say("call %d: %s\n", call, other.l_type == F_UNLCK ? "the lock is lost" : "locked");
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
    close(own);
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&view));
    finish();
    return 0;
}
