/* Views, memory types, counts, offsets and calls by chance: random HOW SEED ..., a file for each. All that a rank can see is
 * written first, then parts of it again, and parts are read: every byte is compared with what this rank wrote last, and with
 * what was beside the data in memory. HOW is "together", by MPI's collective calls, or "alone": every rank writes and reads its
 * elements itself, at the places that MPI tells of them. */
#include "program.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

enum { BLOCKS = 24, TILES = 3, CALLS = 6 };

/* Two sources of chance: what all ranks draw alike, and what each draws for itself. */
static uint64_t common, own;

static long draw(uint64_t *from, long below)
{
    uint64_t z = *from += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (long)((z ^ z >> 31) % (uint64_t)below);
}

static MPI_Datatype element(void)
{
    MPI_Datatype made;
    switch (draw(&common, 4)) {
    case 0: MUST(MPI_Type_dup(MPI_BYTE, &made)); break;
    case 1: MUST(MPI_Type_dup(MPI_INT, &made)); break;
    case 2: MUST(MPI_Type_dup(MPI_DOUBLE, &made)); break;
    default: MUST(MPI_Type_contiguous(3, MPI_INT, &made));
    }
    MUST(MPI_Type_commit(&made));
    return made;
}

/* Blocks one after the other, each of one rank or of none; the first ones are of all ranks, so that each has some. */
static MPI_Datatype dealt(MPI_Datatype of, long size)
{
    int lengths[BLOCKS], n = 0, turn = draw(&common, ranks), longest = 1 + draw(&common, 60);
    MPI_Aint places[BLOCKS], at = 0;
    MPI_Datatype blocks, made;
    for (int i = 0; i < BLOCKS; i++) {
        int length = 1 + draw(&common, longest), whose = i < ranks ? (i + turn) % ranks : draw(&common, ranks + 1);
        if (whose == rank)
            lengths[n] = length, places[n++] = at * size;
        at += length;
    }
    MUST(MPI_Type_create_hindexed(n, lengths, places, of, &blocks));
    MUST(MPI_Type_create_resized(blocks, 0, (at + draw(&common, 3)) * size, &made));
    MUST(MPI_Type_free(&blocks));
    return made;
}

/* Every rank's turn, a block each, `rows` times. */
static MPI_Datatype in_turns(MPI_Datatype of, long size)
{
    int length = 1 + draw(&common, 40), rows = 1 + draw(&common, 30);
    int one = 1;
    MPI_Aint at = (MPI_Aint)length * rank * size;
    MPI_Datatype row, moved, made;
    MUST(MPI_Type_vector(rows, length, length * ranks, of, &row));
    MUST(MPI_Type_create_hindexed(1, &one, &at, row, &moved));
    MUST(MPI_Type_create_resized(moved, 0, (MPI_Aint)length * ranks * rows * size, &made));
    MUST(MPI_Type_free(&row));
    MUST(MPI_Type_free(&moved));
    return made;
}

/* A part of a matrix, cut by columns. */
static MPI_Datatype columns(MPI_Datatype of)
{
    int width = 1 + draw(&common, 30), sizes[2] = {1 + draw(&common, 20), width * ranks};
    int parts[2] = {sizes[0], width}, starts[2] = {0, width * rank};
    MPI_Datatype made;
    MUST(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, of, &made));
    return made;
}

/* Memory for `bytes` bytes of data: where each is, and a type that says so. */
struct memory {
    char *buffer;
    size_t room;
    size_t *place;
    MPI_Datatype type;
    int count;
    void *address;
};

static void by_blocks(struct memory *m, long bytes, int absolute)
{
    int lengths[8], n = 0, order[8];
    MPI_Aint places[8], base = 0;
    long ends[8], left = bytes;
    while (left > 0) {
        lengths[n] = n == 7 ? left : 1 + draw(&own, left);
        left -= lengths[n++];
    }
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = draw(&own, i + 1), swapped = order[i];
        order[i] = order[j], order[j] = swapped;
    }
    if (absolute)
        MUST(MPI_Get_address(m->buffer, &base));
    size_t at = draw(&own, 9);
    for (int i = 0; i < n; i++) {
        places[order[i]] = base + at;
        ends[order[i]] = at;
        at += lengths[order[i]] + draw(&own, 9);
    }
    for (long i = 0, block = 0, in = 0; i < bytes; i++) {
        m->place[i] = ends[block] + in++;
        if (in == lengths[block])
            block++, in = 0;
    }
    MUST(MPI_Type_create_hindexed(n, lengths, places, MPI_BYTE, &m->type));
    m->count = 1;
    m->address = absolute ? MPI_BOTTOM : m->buffer;
}

static struct memory memory(MPI_Datatype of, long size, long count)
{
    struct memory m = {.room = count * size * 2 + 200, .count = count};
    m.buffer = malloc(m.room);
    m.address = m.buffer;
    m.place = malloc((count * size + 1) * sizeof *m.place);
    memset(m.buffer, 0x5a, m.room);
    int kind = count ? draw(&own, 4) : 0;
    if (kind >= 2) {
        by_blocks(&m, count * size, kind == 3);
    } else {
        long step = size + (kind == 1 ? draw(&own, size + 1) : 0);
        for (long i = 0; i < count * size; i++)
            m.place[i] = i / size * step + i % size;
        MUST(MPI_Type_create_resized(of, 0, step, &m.type));
    }
    MUST(MPI_Type_commit(&m.type));
    return m;
}

static void release(struct memory *m)
{
    MUST(MPI_Type_free(&m->type));
    free(m->buffer);
    free(m->place);
}

static void write_by(int call, MPI_File file, MPI_Offset at, struct memory *m, MPI_Status *status)
{
    MPI_Request request;
    MUST(MPI_File_seek(file, at, MPI_SEEK_SET));
    switch (call) {
    case 0: MUST(MPI_File_write_all(file, m->address, m->count, m->type, status)); break;
    case 1: MUST(MPI_File_write_at_all(file, at, m->address, m->count, m->type, status)); break;
    case 2:
        MUST(MPI_File_iwrite_at_all(file, at, m->address, m->count, m->type, &request));
        MUST(MPI_Wait(&request, status));
        break;
    default:
        MUST(MPI_File_write_all_begin(file, m->address, m->count, m->type));
        MUST(MPI_File_write_all_end(file, m->address, status));
    }
}

static void read_by(int call, MPI_File file, MPI_Offset at, struct memory *m, MPI_Status *status)
{
    MPI_Request request;
    MUST(MPI_File_seek(file, at, MPI_SEEK_SET));
    switch (call) {
    case 0: MUST(MPI_File_read_all(file, m->address, m->count, m->type, status)); break;
    case 1: MUST(MPI_File_read_at_all(file, at, m->address, m->count, m->type, status)); break;
    case 2:
        MUST(MPI_File_iread_at_all(file, at, m->address, m->count, m->type, &request));
        MUST(MPI_Wait(&request, status));
        break;
    default:
        MUST(MPI_File_read_at_all_begin(file, at, m->address, m->count, m->type));
        MUST(MPI_File_read_at_all_end(file, m->address, status));
    }
}

/* The same without MPI's calls, element by element. */
static int is_alone;

static void move_alone(MPI_File file, const char *path, long at, long size, long bytes, int writes, struct memory *m)
{
    MPI_Offset place;
    int fd = open(path, O_RDWR);
    TRUE(fd >= 0);
    for (long i = 0; i < bytes; i++) {
        char *byte = m->buffer + m->place[i];
        MUST(MPI_File_get_byte_offset(file, at + i / size, &place));
        TRUE((writes ? pwrite(fd, byte, 1, place + i % size) : pread(fd, byte, 1, place + i % size)) == 1);
    }
    TRUE(close(fd) == 0);
}

/* One call on the elements from `at` on; `now` is what the file holds of this rank's. */
static void move(MPI_File file, const char *path, MPI_Datatype of, long size, long at, long count, int writes, char *now)
{
    struct memory m = memory(of, size, count);
    MPI_Status status;
    int call = draw(&common, 4);
    char *due = malloc(m.room);
    if (writes)
        for (long i = 0; i < count * size; i++)
            m.buffer[m.place[i]] = now[at * size + i] = 1 + draw(&own, 255);
    memcpy(due, m.buffer, m.room);
    for (long i = 0; i < count * size; i++)
        due[m.place[i]] = now[at * size + i];
    if (is_alone)
        move_alone(file, path, at, size, count * size, writes, &m);
    else
        (writes ? write_by : read_by)(call, file, at, &m, &status);
    TRUE(memcmp(due, m.buffer, m.room) == 0);
    say(" %s %d: %lld", writes ? "write" : "read", call, is_alone ? count * size : bytes_of(&status));
    free(due);
    release(&m);
}

static void through(long seed)
{
    char path[30];
    MPI_Datatype of, view;
    MPI_File file;
    MPI_Aint low, extent;
    int bytes, all, kind;
    common = seed;
    own = seed * 1000003 + rank;
    of = element();
    MUST(MPI_Type_size(of, &bytes));
    kind = draw(&common, 3);
    view = kind == 0 ? dealt(of, bytes) : kind == 1 ? in_turns(of, bytes) : columns(of);
    MUST(MPI_Type_commit(&view));
    MUST(MPI_Type_size(view, &all));
    long elements = (long)all / bytes * (1 + draw(&common, TILES));
    char *now = malloc(elements * bytes);
    MUST(MPI_Type_get_extent(view, &low, &extent));
    snprintf(path, sizeof path, "random-%ld", seed);
    fill_file(path, 1000 + TILES * extent);
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, draw(&common, 1000), of, view, "native", MPI_INFO_NULL));
    say("%ld:", seed);
    move(file, path, of, bytes, 0, elements, 1, now);
    for (int call = 0; call < CALLS; call++) {
        long at = draw(&own, elements), count = draw(&own, elements - at + 1);
        move(file, path, of, bytes, at, count, draw(&common, 3) == 0, now);
    }
    say("\n");
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&view));
    MUST(MPI_Type_free(&of));
    free(now);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    TRUE(argc > 1);
    is_alone = !strcmp(argv[1], "alone");
    for (int i = 2; i < argc; i++)
        through(atol(argv[i]));
    finish();
    return 0;
}
