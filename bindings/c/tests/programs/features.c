/* Every function does what the header says: random lists against a reference, operations in flight, independent calls,
 * sizes, hints, statistics, texts. */
#include "check.h"

static const char *path;

/* Numbers that are the same on all ranks (Knuth's MMIX generator). */
static uint64_t state;
static uint64_t next(uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

enum { PIECES = 400, LONGEST = 60, SIZE = PIECES * LONGEST };

/* One rank's part of a file. The file is cut into random pieces, and random ranks own most of them. A rank's pieces are
 * in random order, with gaps between them in memory. */
typedef struct {
    int64_t count, bytes, offsets[PIECES], lengths[PIECES], places[PIECES];
    unsigned char *memory;
} part;

/* The byte at an offset of the file; 0 where nothing is written. */
static unsigned char expected[SIZE];

static part cut(uint64_t seed) {
    part own;
    own.count = own.bytes = 0;
    int64_t at = 0, end = 0;
    state = seed;
    memset(expected, 0, sizeof expected);
    for (int piece = 0; piece < PIECES; piece++) {
        int64_t length = (int64_t)next(LONGEST);
        uint64_t owner = next((uint64_t)ranks + 1); /* `ranks` stands for a hole */
        for (int64_t i = 0; owner < (uint64_t)ranks && i < length; i++)
            expected[at + i] = (unsigned char)(1 + (at + i) * 7 % 251);
        if (owner == (uint64_t)rank) {
            int64_t where = (int64_t)next((uint64_t)own.count + 1);
            own.offsets[own.count] = own.offsets[where], own.lengths[own.count] = own.lengths[where];
            own.offsets[where] = at, own.lengths[where] = length;
            own.count++, own.bytes += length;
        } else {
            next(1);
        }
        at += length;
    }
    own.memory = calloc(1, 2 * SIZE + 2);
    for (int64_t i = 0; i < own.count; i++) { /* the last piece comes first; one byte between pieces */
        end += own.lengths[i] + 1;
        own.places[i] = 2 * SIZE - end;
    }
    return own;
}

static void fill(part own) {
    for (int64_t i = 0; i < own.count; i++)
        for (int64_t j = 0; j < own.lengths[i]; j++)
            own.memory[own.places[i] + j] = expected[own.offsets[i] + j];
}

/* Memory holds what the file holds, and the bytes between the pieces are not changed. */
static void compare(part own) {
    int64_t others = 2 * SIZE + 2 - own.bytes;
    for (int64_t i = 0; i < own.count; i++)
        for (int64_t j = 0; j < own.lengths[i]; j++)
            EXPECT(own.memory[own.places[i] + j] == expected[own.offsets[i] + j]);
    for (int64_t i = 0; i < 2 * SIZE + 2; i++)
        others -= own.memory[i] == 0;
    EXPECT(others == 0);
}

static void check_file(const char *name) {
    static unsigned char found[SIZE];
    memset(found, 0, sizeof found);
    FILE *stream = fopen(name, "rb");
    EXPECT(stream != NULL && fread(found, 1, SIZE, stream) <= SIZE && fclose(stream) == 0);
    EXPECT(memcmp(found, expected, SIZE) == 0);
}

static const char *HINTS[4] = {NULL, "romio_cb_write=enable;romio_cb_read=enable;trib_tiny_call=0;cb_buffer_size=1024",
                               "romio_cb_write=disable;romio_cb_read=disable;trib_tiny_call=0",
                               "trib_driver=lustre;striping_unit=700;striping_factor=3;cb_nodes=1;trib_tiny_call=0"};

static void random_lists(void) {
    for (uint64_t trial = 0; trial < 12; trial++) {
        trib_file *file;
        int64_t bytes;
        part own = cut(trial);
        fill(own);
        OK(trib_open(MPI_COMM_WORLD, path, TRIB_CREATE, HINTS[trial % 4], &file));
        OK(trib_write_all(file, own.count, own.offsets, own.lengths, own.count, own.places, own.lengths, own.memory,
                          &bytes));
        EXPECT(bytes == own.bytes);
        check_file(path);
        MPI_Barrier(MPI_COMM_WORLD);
        memset(own.memory, 0, 2 * SIZE + 2);
        OK(trib_read_all(file, own.count, own.offsets, own.lengths, own.count, own.places, own.lengths, own.memory,
                         &bytes));
        EXPECT(bytes == own.bytes);
        compare(own);

        /* The same as extents. Then every rank reads the whole file into contiguous memory. */
        trib_extents *in_file, *in_memory;
        int64_t count, whole = 0, offset = 0, length = SIZE;
        OK(trib_extents_create(&in_file));
        OK(trib_extents_create(&in_memory));
        OK(trib_extents_add_list(in_file, own.count, own.offsets, own.lengths));
        OK(trib_extents_add_list(in_memory, own.count, own.places, own.lengths));
        OK(trib_extents_total(in_file, &count, &bytes));
        EXPECT(count <= own.count && bytes == own.bytes);
        OK(trib_write_all_extents(file, in_file, in_memory, own.memory, NULL));
        memset(own.memory, 0, 2 * SIZE + 2);
        OK(trib_read_all_extents(file, in_file, in_memory, own.memory, &bytes));
        EXPECT(bytes == own.bytes);
        compare(own);
        OK(trib_get_size(file, &whole));
        memset(own.memory, 9, SIZE);
        OK(trib_read_all(file, 1, &offset, &length, 0, NULL, NULL, own.memory, &bytes));
        EXPECT(bytes == whole && memcmp(own.memory, expected, (size_t)whole) == 0);
        for (int64_t i = whole; i < SIZE; i++)
            EXPECT(own.memory[i] == 9); /* beyond the end of the file nothing is touched */
        OK(trib_extents_free(&in_memory));
        OK(trib_extents_free(&in_file));
        free(own.memory);
        OK(trib_close(&file));
    }
}

/* Runs and subarrays expand to the right extents. */
static void shapes(void) {
    trib_extents *extents;
    int64_t count, bytes;
    const int64_t sizes[3] = {4, 5, 6}, subsizes[3] = {2, 3, 4}, starts[3] = {1, 2, 1};
    static unsigned char buffer[500];
    trib_file *file;
    OK(trib_open(MPI_COMM_WORLD, path, TRIB_CREATE, NULL, &file));
    OK(trib_extents_create(&extents));
    OK(trib_extents_add_subarray(extents, 10, 2, 3, sizes, subsizes, starts));
    OK(trib_extents_add_run(extents, 400, 3, -10, 5));
    OK(trib_extents_total(extents, &count, &bytes));
    EXPECT(count == 2 * 3 + 5 && bytes == 2 * 2 * 3 * 4 + 15);
    for (int i = 0; i < 63; i++)
        buffer[i] = (unsigned char)(i + 1);
    OK(trib_write_all_extents(file, rank == 0 ? extents : NULL, NULL, buffer, &bytes));
    EXPECT(bytes == (rank == 0 ? 63 : 0));
    memset(buffer, 0, sizeof buffer);
    OK(trib_read_at(file, 0, buffer, sizeof buffer, &bytes));
    EXPECT(bytes == 403);
    int next_byte = 1, sum = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 8; k++)
                EXPECT(buffer[10 + 2 * (((1 + i) * 5 + 2 + j) * 6 + 1) + k] == next_byte++);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++)
            EXPECT(buffer[400 - 10 * i + k] == next_byte++);
    for (int i = 0; i < 500; i++)
        sum += buffer[i];
    EXPECT(sum == 63 * 64 / 2); /* and no other byte is set */
    OK(trib_extents_free(&extents));
    OK(trib_close(&file));
}

/* Two files with an operation each, tested in turn. The lists and extents are freed meanwhile. */
static void operations(void) {
    char other[4096];
    trib_file *files[2];
    snprintf(other, sizeof other, "%s.other", path);
    OK(trib_open(MPI_COMM_WORLD, path, TRIB_CREATE, HINTS[1], &files[0]));
    OK(trib_open(MPI_COMM_WORLD, other, TRIB_CREATE, HINTS[3], &files[1]));
    part *own = malloc(sizeof *own);
    *own = cut(77);
    part kept = *own;
    fill(kept);
    for (int reads = 0; reads < 2; reads++) {
        trib_extents *in_file, *in_memory;
        *own = kept;
        OK(trib_extents_create(&in_file));
        OK(trib_extents_create(&in_memory));
        OK(trib_extents_add_list(in_file, own->count, own->offsets, own->lengths));
        OK(trib_extents_add_list(in_memory, own->count, own->places, own->lengths));
        unsigned char *twin = calloc(1, 2 * SIZE + 2);
        if (!reads) {
            memcpy(twin, kept.memory, 2 * SIZE + 2);
            OK(trib_start_write_all(files[0], own->count, own->offsets, own->lengths, own->count, own->places,
                                    own->lengths, kept.memory));
            OK(trib_start_write_all_extents(files[1], in_file, in_memory, twin));
        } else {
            memset(kept.memory, 0, 2 * SIZE + 2);
            OK(trib_start_read_all(files[0], own->count, own->offsets, own->lengths, own->count, own->places,
                                   own->lengths, kept.memory));
            OK(trib_start_read_all_extents(files[1], in_file, in_memory, twin));
        }
        memset(own, 0xff, sizeof *own);
        OK(trib_extents_free(&in_file));
        OK(trib_extents_free(&in_memory));
        int done[2] = {0, 0};
        for (int turn = rank; !done[0] || !done[1]; turn++) {
            int64_t bytes;
            if (done[turn % 2])
                continue;
            OK(trib_test(files[turn % 2], &done[turn % 2], &bytes));
            EXPECT(bytes == (done[turn % 2] ? kept.bytes : 0));
        }
        compare(kept);
        EXPECT(memcmp(kept.memory, twin, 2 * SIZE + 2) == 0);
        free(twin);
    }
    free(kept.memory);
    free(own);
    OK(trib_close(&files[1]));
    OK(trib_close(&files[0]));
    check_file(path);
    check_file(other);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void alone(void) {
    trib_file *file;
    int64_t bytes, size;
    char text[11] = "0123456789";
    OK(trib_open(MPI_COMM_WORLD, path, TRIB_CREATE, NULL, &file));
    OK(trib_write_at(file, 10 * rank, text, 10, &bytes));
    EXPECT(bytes == 10);
    OK(trib_sync(file));
    OK(trib_get_size(file, &size));
    EXPECT(size == 10 * ranks);
    OK(trib_read_at(file, 10 * (ranks - 1) + 5, text, 10, &bytes));
    EXPECT(bytes == 5 && memcmp(text, "5678956789", 10) == 0);
    OK(trib_read_at(file, 1000, text, 10, &bytes));
    EXPECT(bytes == 0);
    OK(trib_write_at(file, 1000, NULL, 0, &bytes));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(trib_set_size(file, 7));
    OK(trib_get_size(file, &size));
    EXPECT(size == 7);
    OK(trib_close(&file));

    /* TRIB_UPDATE keeps the contents, TRIB_CREATE discards them. */
    const int modes[3] = {TRIB_READ, TRIB_UPDATE, TRIB_CREATE};
    for (int i = 0; i < 3; i++) {
        OK(trib_open(MPI_COMM_WORLD, path, modes[i], NULL, &file));
        OK(trib_get_size(file, &size));
        EXPECT(size == (modes[i] == TRIB_CREATE ? 0 : 7));
        OK(trib_close(&file));
    }
}

/* The test has set TRIB_HINTS_FILE (cb_buffer_size=1MiB;cb_nodes=1;trib_throttle_data=5) and TRIB_HINTS
 * (cb_buffer_size=2MiB;trib_throttle_data=6). */
static void hints(void) {
    trib_file *file;
    char value[64];
    const char *key, *its;
    size_t length;
    OK(trib_open(MPI_COMM_WORLD, path, TRIB_CREATE, "cb_buffer_size=3MiB # of the call\n striping_unit=4096", &file));
    OK(trib_get_hint(file, "cb_buffer_size", value, sizeof value, &length));
    EXPECT(strcmp(value, "3145728") == 0 && length == 7);
    OK(trib_get_hint(file, "trib_throttle_data", value, sizeof value, NULL));
    EXPECT(strcmp(value, "6") == 0);
    OK(trib_get_hint(file, "cb_nodes", value, sizeof value, NULL));
    EXPECT(strcmp(value, "1") == 0);
    OK(trib_get_hint(file, "striping_unit", value, sizeof value, NULL));
    EXPECT(strcmp(value, "4096") == 0);
    OK(trib_get_hint(file, "trib_driver", value, sizeof value, NULL)); /* the driver that was chosen */
    EXPECT(strcmp(value, "auto") != 0 && value[0] != '\0');
    OK(trib_get_hint(file, "cb_buffer_size", value, 4, &length));
    EXPECT(strcmp(value, "314") == 0 && length == 7);
    OK(trib_get_hint(file, "cb_buffer_size", NULL, 0, &length));
    EXPECT(length == 7);
    int found = 0;
    for (int64_t i = 0; i < trib_hint_count(file); i++) {
        OK(trib_hint_at(file, i, &key, &its));
        OK(trib_get_hint(file, key, value, sizeof value, NULL));
        EXPECT(strcmp(value, its) == 0);
        found += strcmp(key, "cb_buffer_size") == 0;
    }
    EXPECT(found == 1);
    OK(trib_close(&file));
}

static void statistics(void) {
    trib_file *file;
    trib_statistics told;
    char text[4096], again[4096];
    size_t length;
    const int64_t offset = 50 * (int64_t)rank, bytes = 50;
    char buffer[50] = "";
    OK(trib_open(MPI_COMM_WORLD, path, TRIB_CREATE, "trib_shared_memory=disable", &file));
    OK(trib_write_all(file, 1, &offset, &bytes, 0, NULL, NULL, buffer, NULL));
    OK(trib_get_statistics(file, &told));
    EXPECT(told.path == TRIB_PATH_ROOT && told.bytes_written == 50 * ranks && told.aggregators == 1);
    OK(trib_close(&file));
    OK(trib_open(MPI_COMM_WORLD, path, TRIB_CREATE,
                 "trib_shared_memory=disable; trib_tiny_call=0; cb_nodes=1; romio_cb_write=enable; romio_cb_read=enable", &file));
    memset(&told, 1, sizeof told);
    OK(trib_get_statistics(file, &told));
    EXPECT(told.calls == 0 && told.bytes == 0 && told.path == TRIB_PATH_NOTHING && told.seconds_total == 0);
    for (int call = 1; call <= 3; call++) {
        OK(call < 3 ? trib_write_all(file, 1, &offset, &bytes, 0, NULL, NULL, buffer, NULL)
                    : trib_read_all(file, 1, &offset, &bytes, 0, NULL, NULL, buffer, NULL));
        OK(trib_get_statistics(file, &told));
        EXPECT(told.calls == call && told.path == TRIB_PATH_EXCHANGE && told.plan_reused == (call > 1));
        EXPECT(told.bytes == 50 * ranks && told.requests == ranks && told.rounds == 1 && told.aggregators >= 1);
        EXPECT(told.bytes_written == (call < 3 ? 50 * ranks : 0) && told.bytes_read == (call < 3 ? 0 : 50 * ranks));
        EXPECT(told.seconds_total > 0);
    }
    OK(trib_report_json(file, text, sizeof text, &length));
    EXPECT(strlen(text) == length && strstr(text, "\"calls\":3") != NULL && strstr(text, "\"bytes_read\":") != NULL);
    memset(again, 1, sizeof again);
    OK(trib_report_json(file, again, 20, NULL));
    EXPECT(strlen(again) == 19 && memcmp(text, again, 19) == 0);
    OK(trib_close(&file));
    EXPECT(strcmp(trib_version(), getenv("TRIB_TEST_VERSION")) == 0);
}

/* The two halves of the ranks each have a communicator and a file, at the same time. */
static void halves(void) {
    MPI_Comm half;
    int within;
    char name[4096];
    trib_file *file;
    int64_t size;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &within);
    snprintf(name, sizeof name, "%s.half%d", path, rank % 2);
    OK(trib_open(half, name, TRIB_CREATE, NULL, &file));
    MPI_Comm_free(&half); /* the file has its own */
    const int64_t offset = 5 * (int64_t)within, length = 5;
    OK(trib_write_all(file, 1, &offset, &length, 0, NULL, NULL, "abcde", NULL));
    OK(trib_get_size(file, &size));
    EXPECT(size == 5 * ((ranks + 1 - rank % 2) / 2));
    OK(trib_close(&file));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    path = argv[1];
    random_lists();
    shapes();
    operations();
    alone();
    hints();
    statistics();
    halves();
    return finish();
}
