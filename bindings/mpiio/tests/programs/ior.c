/* As IOR writes: segments of a block of each rank, a block in several transfers. Once by explicit offsets, once at the
 * individual pointer of a strided view; with the functions of large counts where there are any. Each rank reads back what
 * the next one wrote. */
#include "program.h"

#define SEGMENTS 4
#define TRANSFERS 8  /* of a block */
#define TRANSFER 512 /* doubles */

#if MPI_VERSION >= 4
#define LARGE(name) name##_c
#else
#define LARGE(name) name
#endif

static double data[TRANSFER];

static void fill(int of, int segment, int transfer)
{
    for (int i = 0; i < TRANSFER; i++)
        data[i] = of + ((segment * TRANSFERS + transfer) * TRANSFER + i) / 1e6;
}

static void check(int of, int segment, int transfer)
{
    double read[TRANSFER];
    memcpy(read, data, sizeof data);
    fill(of, segment, transfer);
    TRUE(memcmp(read, data, sizeof data) == 0);
}

static MPI_Offset place(int of, int segment, int transfer)
{
    return (((MPI_Offset)segment * ranks + of) * TRANSFERS + transfer) * TRANSFER * sizeof(double);
}

static void by_offsets(int other)
{
    MPI_File file;
    MPI_Status status;
    long long bytes = 0;
    MUST(MPI_File_open(MPI_COMM_WORLD, "offsets", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_preallocate(file, place(0, SEGMENTS, 0)));
    for (int s = 0; s < SEGMENTS; s++)
        for (int t = 0; t < TRANSFERS; t++) {
            fill(rank, s, t);
            MUST(LARGE(MPI_File_write_at_all)(file, place(rank, s, t), data, TRANSFER, MPI_DOUBLE, &status));
            bytes += bytes_of(&status);
        }
    MUST(MPI_File_sync(file));
    say("by offsets: %lld bytes", bytes);
    for (int s = 0; s < SEGMENTS; s++)
        for (int t = 0; t < TRANSFERS; t++) {
            MUST(LARGE(MPI_File_read_at_all)(file, place(other, s, t), data, TRANSFER, MPI_DOUBLE, &status));
            bytes -= bytes_of(&status);
            check(other, s, t);
        }
    say(", less those read: %lld\n", bytes);
    MUST(MPI_File_close(&file));
}

static void set_view(MPI_File file, int of)
{
    MPI_Datatype transfer, strided;
    MUST(MPI_Type_contiguous(TRANSFER * TRANSFERS, MPI_DOUBLE, &transfer));
    MUST(MPI_Type_commit(&transfer));
    MUST(MPI_Type_create_resized(transfer, 0, place(0, 1, 0), &strided));
    MUST(MPI_Type_commit(&strided));
    MUST(MPI_File_set_view(file, place(of, 0, 0), transfer, strided, "native", MPI_INFO_NULL));
    MUST(MPI_Type_free(&transfer));
    MUST(MPI_Type_free(&strided));
}

static void by_view(int other)
{
    MPI_File file;
    MPI_Status status;
    MPI_Offset position;
    static double block[TRANSFERS][TRANSFER];
    MUST(MPI_File_open(MPI_COMM_WORLD, "view", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    set_view(file, rank);
    for (int s = 0; s < SEGMENTS; s++) {
        for (int t = 0; t < TRANSFERS; t++) {
            fill(rank, s, t);
            memcpy(block[t], data, sizeof data);
        }
        MUST(LARGE(MPI_File_write_all)(file, block, TRANSFER * TRANSFERS, MPI_DOUBLE, &status));
        MUST(MPI_File_get_position(file, &position));
        say("by view: segment %d, %lld bytes, pointer %lld\n", s, bytes_of(&status), (long long)position);
    }
    MUST(MPI_File_sync(file));
    set_view(file, other);
    for (int s = 0; s < SEGMENTS; s++) {
        MUST(LARGE(MPI_File_read_all)(file, block, TRANSFER * TRANSFERS, MPI_DOUBLE, &status));
        for (int t = 0; t < TRANSFERS; t++) {
            memcpy(data, block[t], sizeof data);
            check(other, s, t);
        }
    }
    MUST(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    by_offsets((rank + 1) % ranks);
    by_view((rank + 1) % ranks);
    finish();
    return 0;
}
