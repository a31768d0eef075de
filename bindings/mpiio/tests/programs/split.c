/* Collective calls in two halves, with messages and computation between them. */
#include "program.h"

#define COUNT 3000 /* ints of a rank in a call */

static int data[COUNT], back[COUNT];

/* Something else that all ranks do meanwhile. */
static void meanwhile(void)
{
    int sum;
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    TRUE(sum == ranks * (ranks - 1) / 2);
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    MPI_Offset position;
    MPI_Datatype view;
    start(&argc, &argv);
    int sizes[2] = {60, 50 * ranks}, own[2] = {60, 50}, starts[2] = {0, 50 * rank};
    MUST(MPI_Type_create_subarray(2, sizes, own, starts, MPI_ORDER_C, MPI_INT, &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_open(MPI_COMM_WORLD, "split", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 0, MPI_INT, view, "native", MPI_INFO_NULL));
    MUST(MPI_Type_free(&view));

    for (int call = 0; call < 3; call++) {
        for (int i = 0; i < COUNT; i++)
            data[i] = value(rank, call * COUNT + i);
        if (call < 2)
            MUST(MPI_File_write_all_begin(file, data, COUNT, MPI_INT));
        else
            MUST(MPI_File_write_at_all_begin(file, 2 * COUNT, data, COUNT, MPI_INT));
        meanwhile();
        if (call < 2)
            MUST(MPI_File_write_all_end(file, data, &status));
        else
            MUST(MPI_File_write_at_all_end(file, data, &status));
        MUST(MPI_File_get_position(file, &position));
        say("write %d: %lld bytes, pointer %lld\n", call, bytes_of(&status), (long long)position);
    }
    MUST(MPI_File_sync(file));
    MUST(MPI_File_seek(file, COUNT, MPI_SEEK_SET));
    for (int call = 1; call < 3; call++) {
        memset(back, 0, sizeof back);
        if (call == 1)
            MUST(MPI_File_read_all_begin(file, back, COUNT, MPI_INT));
        else
            MUST(MPI_File_read_at_all_begin(file, 2 * COUNT, back, COUNT, MPI_INT));
        meanwhile();
        if (call == 1)
            MUST(MPI_File_read_all_end(file, back, &status));
        else
            MUST(MPI_File_read_at_all_end(file, back, &status));
        say("read %d: %lld bytes\n", call, bytes_of(&status));
        for (int i = 0; i < COUNT; i++)
            TRUE(back[i] == value(rank, call * COUNT + i));
    }
    MUST(MPI_File_close(&file));
    finish();
    return 0;
}
