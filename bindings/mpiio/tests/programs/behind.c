/* Calls that MPI runs see what a collective write has buffered: of this rank, on the same handle, without a sync. The
 * file is "small". */
#include "program.h"

#include <unistd.h>

enum { COUNT = 500, ROUNDS = 3 };

int main(int argc, char **argv)
{
    static int own[COUNT], read[COUNT];
    char budget[MPI_MAX_INFO_VAL + 1] = "not there";
    MPI_Datatype view;
    MPI_File file;
    MPI_Info info;
    MPI_Offset size, end;
    int is_there;
    start(&argc, &argv);
    MUST(MPI_Type_vector(COUNT, 1, ranks, MPI_INT, &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_open(MPI_COMM_WORLD, "small", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 4 * rank, MPI_INT, view, "native", MPI_INFO_NULL));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++)
            own[i] = value(rank, i + round);
        MUST(MPI_File_write_at_all(file, 0, own, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        /* Independent: the last elements, all elements, at the file pointer; then a write, which stays. */
        MUST(MPI_File_read_at(file, COUNT - 7, read, 7, MPI_INT, MPI_STATUS_IGNORE));
        TRUE(memcmp(read, own + COUNT - 7, 7 * sizeof *own) == 0);
        MUST(MPI_File_write_at_all(file, 0, own, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        MUST(MPI_File_seek(file, 0, MPI_SEEK_SET));
        MUST(MPI_File_read(file, read, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        TRUE(memcmp(read, own, sizeof own) == 0);
        MUST(MPI_File_write_at_all(file, 0, own, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        own[round] = -1;
        MUST(MPI_File_write_at(file, round, own + round, 1, MPI_INT, MPI_STATUS_IGNORE));
        MUST(MPI_File_read_at_all(file, 0, read, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        TRUE(memcmp(read, own, sizeof own) == 0);
    }
    /* The size, the end, and a new size. */
    MUST(MPI_File_write_at_all(file, COUNT, own, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_get_size(file, &size));
    MUST(MPI_File_seek(file, 0, MPI_SEEK_END));
    MUST(MPI_File_get_position(file, &end));
    say("size %lld, end %lld\n", (long long)size, (long long)end);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_write_at_all(file, COUNT, own, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_set_size(file, 4 * COUNT * ranks + 4));
    MUST(MPI_File_get_size(file, &size));
    say("size %lld\n", (long long)size);
    /* Another view of the same bytes. */
    own[1] = -3;
    MUST(MPI_File_write_at_all(file, 0, own, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < 3; i++) {
        MUST(MPI_File_read_at(file, i * ranks + rank, read + i, 1, MPI_INT, MPI_STATUS_IGNORE));
        TRUE(read[i] == own[i]);
    }
    /* More space: the bytes stay. (OMPIO writes them again, in the pieces of the view.) */
    MUST(MPI_File_write_at_all(file, rank * COUNT, own, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_preallocate(file, 20000));
    MUST(MPI_File_get_size(file, &size));
    say("size %lld\n", (long long)size);
    MUST(MPI_File_read_at(file, rank * COUNT, read, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    TRUE(memcmp(read, own, sizeof own) == 0);
    MUST(MPI_File_set_view(file, 4 * rank, MPI_INT, view, "native", MPI_INFO_NULL));
    MUST(MPI_File_get_info(file, &info));
    MUST(MPI_Info_get(info, "trib_write_behind", MPI_MAX_INFO_VAL, budget, &is_there));
    say("budget %s\n", budget);
    MUST(MPI_Info_free(&info));
    /* In atomic mode, where MPI runs all calls. */
    own[0] = -2;
    MUST(MPI_File_write_at_all(file, 0, own, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_set_atomicity(file, 1));
    MUST(MPI_File_read_at_all(file, 0, read, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    TRUE(memcmp(read, own, sizeof own) == 0);
    MUST(MPI_File_set_atomicity(file, 0));
    /* A file that is deleted with buffered bytes. */
    MUST(MPI_File_write_at_all(file, 0, own, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        MUST(MPI_File_delete("small", MPI_INFO_NULL));
    MUST(MPI_File_close(&file));
    TRUE(access("small", F_OK) != 0);
    MUST(MPI_Type_free(&view));
    finish();
    return 0;
}
