/* Bad input: every call returns the right code and message. A collective call returns the same on all ranks, whichever
 * rank had the bad input, and the next call succeeds. */
#include "check.h"
#include <sys/stat.h>
#include <unistd.h>

static const char *path;

/* The last rank has the bad arguments. */
static int bad(void) { return rank == ranks - 1; }

/* Opening fails on all ranks; the last rank has the first arguments, the others the second. */
static void open_fails(const char *name, int mode, const char *hints, trib_status status, const char *words) {
    trib_file *file = (trib_file *)&file;
    FAILS(bad() ? trib_open(MPI_COMM_WORLD, name, mode, hints, &file)
                : trib_open(MPI_COMM_WORLD, path, TRIB_CREATE, NULL, &file),
          status, words);
    EXPECT(file == NULL);
}

/* Words with the last rank in them. */
static const char *expected(const char *words) {
    static char text[200];
    snprintf(text, sizeof text, words, ranks - 1);
    return text;
}

static void all_fail_to_open(const char *name, int mode, const char *hints, trib_status status, const char *words) {
    trib_file *file = (trib_file *)&file;
    FAILS(trib_open(MPI_COMM_WORLD, name, mode, hints, &file), status, words);
    EXPECT(file == NULL);
}

static void opening(void) {
    trib_file *file = (trib_file *)&file;
    FAILS(trib_open(MPI_COMM_NULL, path, TRIB_CREATE, NULL, &file), TRIB_ERR_ARGUMENT, "communicator: MPI_COMM_NULL");
    EXPECT(file == NULL);
    FAILS(trib_open(MPI_COMM_WORLD, path, TRIB_CREATE, NULL, bad() ? NULL : &file), TRIB_ERR_ARGUMENT, "file: NULL");
    EXPECT(file == NULL);
    if (ranks > 1) {
        MPI_Comm half, inter;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &inter);
        FAILS(trib_open(inter, path, TRIB_CREATE, NULL, &file), TRIB_ERR_ARGUMENT, "an intercommunicator");
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
        open_fails("elsewhere", TRIB_CREATE, NULL, TRIB_ERR_ARGUMENT, expected("path: rank %d opens elsewhere, rank 0 /"));
        open_fails(path, TRIB_UPDATE, NULL, TRIB_ERR_ARGUMENT, expected("mode: update on rank %d, create on rank 0"));
        open_fails(path, TRIB_CREATE, "cb_buffer_size=1MiB", TRIB_ERR_ARGUMENT, expected("hint cb_buffer_size: 1048576 on rank %d, auto on rank 0"));
    }
    open_fails(NULL, TRIB_CREATE, NULL, TRIB_ERR_ARGUMENT, "path: NULL");
    open_fails(path, 0, NULL, TRIB_ERR_ARGUMENT, "mode: 0; allowed: TRIB_CREATE, TRIB_UPDATE, TRIB_READ");
    open_fails(path, 4, NULL, TRIB_ERR_ARGUMENT, "mode: 4");
    open_fails(path, TRIB_CREATE, "cb_nodes=-1", TRIB_ERR_HINT, "cb_nodes: `-1`");
    open_fails(path, TRIB_CREATE, "trib_throtle_data=1", TRIB_ERR_HINT, "did you mean trib_throttle_data?");
    open_fails(path, TRIB_CREATE, "balanced", TRIB_ERR_ARGUMENT, "key=value");
    open_fails(path, TRIB_CREATE, "cb_nodes=\xff", TRIB_ERR_ARGUMENT, "UTF-8");

    char other[4096];
    all_fail_to_open("", TRIB_READ, NULL, TRIB_ERR_NO_SUCH_FILE, "No such file");
    snprintf(other, sizeof other, "%s.missing", path);
    all_fail_to_open(other, TRIB_READ, NULL, TRIB_ERR_NO_SUCH_FILE, other);
    snprintf(other, sizeof other, "%s.missing/file", path);
    all_fail_to_open(other, TRIB_CREATE, NULL, TRIB_ERR_NO_SUCH_FILE, "No such file");
    all_fail_to_open(".", TRIB_CREATE, NULL, TRIB_ERR_BAD_FILE, "directory");
}

/* A call with these lists on the last rank and good ones on the others: write and read, blocking and non-blocking. */
static void lists_fail(trib_file *file, int64_t count, const int64_t *offsets, const int64_t *lengths,
                       int64_t memory_count, const int64_t *places, const int64_t *memory_lengths, void *buffer,
                       const char *words) {
    static char good[16];
    const int64_t start = 16 * (int64_t)rank, length = 16;
    int64_t bytes = -1;
    int done;
    if (!bad()) {
        count = 1, offsets = &start, lengths = &length, memory_count = 0, places = memory_lengths = NULL, buffer = good;
    }
    FAILS(trib_write_all(file, count, offsets, lengths, memory_count, places, memory_lengths, buffer, &bytes),
          TRIB_ERR_ARGUMENT, words);
    /* Whose it is. */
    if (ranks > 1)
        EXPECT(strstr(trib_last_error_message(), expected("rank %d: ")) == trib_last_error_message());
    EXPECT(bytes == 0);
    bytes = -1;
    FAILS(trib_read_all(file, count, offsets, lengths, memory_count, places, memory_lengths, buffer, &bytes),
          TRIB_ERR_ARGUMENT, words);
    EXPECT(bytes == 0);
    OK(trib_start_write_all(file, count, offsets, lengths, memory_count, places, memory_lengths, buffer));
    FAILS(trib_wait(file, NULL), TRIB_ERR_ARGUMENT, words);
    OK(trib_start_read_all(file, count, offsets, lengths, memory_count, places, memory_lengths, buffer));
    trib_status status;
    do
        status = trib_test(file, &done, NULL);
    while (!done);
    FAILS(status, TRIB_ERR_ARGUMENT, words);
    OK(trib_write_all(file, 1, &start, &length, 0, NULL, NULL, good, &bytes));
    EXPECT(bytes == length);
}

static void lists(trib_file *file) {
    static char buffer[64];
    const int64_t offsets[2] = {0, 8}, lengths[2] = {8, 8}, longer[2] = {8, 9}, negative[2] = {8, -8};
    const int64_t far[2] = {0, INT64_MAX - 7}, huge[2] = {INT64_MAX, INT64_MAX};
    lists_fail(file, -1, offsets, lengths, 0, NULL, NULL, buffer, "file_count: -1; allowed: 0 or more");
    lists_fail(file, 2, NULL, lengths, 0, NULL, NULL, buffer, "file_offsets: NULL, with file_count 2");
    lists_fail(file, 2, offsets, NULL, 0, NULL, NULL, buffer, "file_lengths: NULL");
    lists_fail(file, 2, negative, lengths, 0, NULL, NULL, buffer, "file_offsets[1]: -8");
    lists_fail(file, 2, offsets, negative, 0, NULL, NULL, buffer, "file_lengths[1]: -8");
    lists_fail(file, 2, far, lengths, 0, NULL, NULL, buffer, "offset 9223372036854775800, length 8");
    lists_fail(file, 2, (int64_t[2]){0, 0}, huge, 0, NULL, NULL, buffer, "offset + length <= 2^63 - 1");
    lists_fail(file, 2, offsets, lengths, 0, NULL, NULL, NULL, "buffer: NULL, for 16 bytes");
    lists_fail(file, 2, offsets, lengths, -2, offsets, lengths, buffer, "memory_count: -2");
    lists_fail(file, 2, offsets, lengths, 2, NULL, NULL, buffer, "memory_offsets: NULL");
    lists_fail(file, 2, offsets, lengths, 2, offsets, NULL, buffer, "memory_lengths: NULL");
    lists_fail(file, 2, offsets, lengths, 2, negative, lengths, buffer, "memory_offsets[1]: -8");
    lists_fail(file, 2, offsets, lengths, 2, offsets, negative, buffer, "memory_lengths[1]: -8");
    lists_fail(file, 2, offsets, lengths, 2, far, lengths, buffer, "2^63 - 1");
    lists_fail(file, 2, offsets, lengths, 2, offsets, longer, buffer, "lengths in memory: 17 bytes in all; allowed: 16");
    lists_fail(file, 2, offsets, lengths, 0, offsets, lengths, buffer, "lengths in memory: 0 bytes");
    lists_fail(file, 0, NULL, NULL, 2, offsets, lengths, buffer, "allowed: 0 bytes, as in the file");
    lists_fail(file, 2, offsets, lengths, 2, (int64_t[2]){0, INT64_MAX - 8}, lengths, (void *)UINTPTR_MAX,
               "address space");
}

static void extents(void) {
    trib_extents *extents = NULL;
    const int64_t sizes[2] = {4, 4}, subsizes[2] = {2, 3}, starts[2] = {1, 2}, negative[2] = {0, -1};
    int64_t count, bytes;
    FAILS(trib_extents_create(NULL), TRIB_ERR_ARGUMENT, "extents: NULL");
    FAILS(trib_extents_add_run(NULL, 0, 1, 1, 1), TRIB_ERR_ARGUMENT, "extents: NULL");
    FAILS(trib_extents_total(NULL, &count, &bytes), TRIB_ERR_ARGUMENT, "extents: NULL");
    OK(trib_extents_create(&extents));
    FAILS(trib_extents_add_run(extents, -1, 1, 1, 1), TRIB_ERR_ARGUMENT, "offset: -1");
    FAILS(trib_extents_add_run(extents, 0, -2, 1, 1), TRIB_ERR_ARGUMENT, "length: -2");
    FAILS(trib_extents_add_run(extents, 0, 1, 1, -3), TRIB_ERR_ARGUMENT, "count: -3");
    FAILS(trib_extents_add_run(extents, 10, 4, -6, 3), TRIB_ERR_ARGUMENT, "all within 0 and 2^63 - 1");
    FAILS(trib_extents_add_run(extents, 0, 4, INT64_MAX, 3), TRIB_ERR_ARGUMENT, "all within 0 and 2^63 - 1");
    FAILS(trib_extents_add_list(extents, 2, negative, sizes), TRIB_ERR_ARGUMENT, "extents_offsets[1]: -1");
    FAILS(trib_extents_add_list(extents, 2, NULL, sizes), TRIB_ERR_ARGUMENT, "extents_offsets: NULL");
    FAILS(trib_extents_add_subarray(extents, 0, 8, 2, sizes, subsizes, starts), TRIB_ERR_ARGUMENT, "subarray");
    FAILS(trib_extents_add_subarray(extents, 0, 8, -2, sizes, subsizes, starts), TRIB_ERR_ARGUMENT, "dimensions: -2");
    FAILS(trib_extents_add_subarray(extents, 0, 8, 2, sizes, subsizes, NULL), TRIB_ERR_ARGUMENT, "starts: NULL");
    FAILS(trib_extents_add_subarray(extents, 0, 8, 2, sizes, negative, starts), TRIB_ERR_ARGUMENT, "subsizes[1]: -1");
    OK(trib_extents_total(extents, &count, &bytes));
    EXPECT(count == 0 && bytes == 0); /* no failed call appended anything */
    OK(trib_extents_free(&extents));
    EXPECT(extents == NULL);
    OK(trib_extents_free(&extents));
    FAILS(trib_extents_free(NULL), TRIB_ERR_ARGUMENT, "extents: NULL");
}

static void null_files(void) {
    trib_file *none = NULL;
    trib_statistics statistics;
    int64_t number;
    int done;
    char text[8];
    OK(trib_close(&none));
    FAILS(trib_close(NULL), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_write_all(none, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_read_all(none, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_write_all_extents(none, NULL, NULL, NULL, NULL), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_read_all_extents(none, NULL, NULL, NULL, NULL), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_start_write_all(none, 0, NULL, NULL, 0, NULL, NULL, NULL), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_start_read_all(none, 0, NULL, NULL, 0, NULL, NULL, NULL), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_test(none, &done, NULL), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_wait(none, NULL), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_write_at(none, 0, text, 1, NULL), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_read_at(none, 0, text, 1, NULL), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_sync(none), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_set_size(none, 0), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_get_size(none, &number), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_get_hint(none, "cb_nodes", text, 8, NULL), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_get_statistics(none, &statistics), TRIB_ERR_ARGUMENT, "file: NULL");
    FAILS(trib_report_json(none, text, 8, NULL), TRIB_ERR_ARGUMENT, "file: NULL");
    EXPECT(trib_hint_count(none) == 0);
}

/* A copy of a handle whose file is closed. */
static void a_closed_file(void) {
    trib_file *file, *copy;
    trib_statistics statistics;
    int64_t number;
    int done;
    char text[8];
    OK(trib_open(MPI_COMM_WORLD, path, TRIB_UPDATE, NULL, &file));
    copy = file;
    OK(trib_close(&file));
    FAILS(trib_write_all(copy, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL), TRIB_ERR_ARGUMENT, "file: closed; allowed:");
    FAILS(trib_start_read_all(copy, 0, NULL, NULL, 0, NULL, NULL, NULL), TRIB_ERR_ARGUMENT, "file: closed");
    FAILS(trib_test(copy, &done, NULL), TRIB_ERR_ARGUMENT, "file: closed");
    FAILS(trib_wait(copy, NULL), TRIB_ERR_ARGUMENT, "file: closed");
    FAILS(trib_read_at(copy, 0, text, 1, NULL), TRIB_ERR_ARGUMENT, "file: closed");
    FAILS(trib_sync(copy), TRIB_ERR_ARGUMENT, "file: closed");
    FAILS(trib_set_size(copy, 0), TRIB_ERR_ARGUMENT, "file: closed");
    FAILS(trib_get_size(copy, &number), TRIB_ERR_ARGUMENT, "file: closed");
    FAILS(trib_get_statistics(copy, &statistics), TRIB_ERR_ARGUMENT, "file: closed");
    FAILS(trib_close(&copy), TRIB_ERR_ARGUMENT, "file: closed");
}

static void the_rest(trib_file *file) {
    int64_t bytes = -1;
    int done = -1;
    char text[8] = "";
    const char *key, *value;
    FAILS(trib_write_at(file, -1, text, 4, &bytes), TRIB_ERR_ARGUMENT, "offset: -1");
    EXPECT(bytes == 0);
    FAILS(trib_write_at(file, 0, text, -4, NULL), TRIB_ERR_ARGUMENT, "length: -4");
    FAILS(trib_write_at(file, 0, NULL, 4, NULL), TRIB_ERR_ARGUMENT, "buffer: NULL");
    FAILS(trib_write_at(file, INT64_MAX - 3, text, 4, NULL), TRIB_ERR_ARGUMENT, "2^63 - 1");
    FAILS(trib_read_at(file, -1, text, 4, NULL), TRIB_ERR_ARGUMENT, "offset: -1");
    FAILS(trib_read_at(file, 0, NULL, 4, NULL), TRIB_ERR_ARGUMENT, "buffer: NULL");
    FAILS(trib_set_size(file, bad() ? -5 : 5), TRIB_ERR_ARGUMENT, "size: -5");
    if (ranks > 1)
        FAILS(trib_set_size(file, bad() ? 6 : 5), TRIB_ERR_ARGUMENT, expected("length of the file: 6 on rank %d, 5 on rank 0"));
    FAILS(trib_get_size(file, NULL), TRIB_ERR_ARGUMENT, "size: NULL");
    FAILS(trib_get_hint(file, "no_hint", text, sizeof text, NULL), TRIB_ERR_HINT, "no_hint");
    FAILS(trib_get_hint(file, NULL, text, sizeof text, NULL), TRIB_ERR_ARGUMENT, "key: NULL");
    FAILS(trib_get_hint(file, "cb_nodes", NULL, 8, NULL), TRIB_ERR_ARGUMENT, "text: NULL");
    FAILS(trib_hint_at(file, -1, &key, &value), TRIB_ERR_ARGUMENT, "index: -1");
    FAILS(trib_hint_at(file, trib_hint_count(file), &key, &value), TRIB_ERR_ARGUMENT, "index");
    FAILS(trib_get_statistics(file, NULL), TRIB_ERR_ARGUMENT, "statistics: NULL");
    FAILS(trib_report_json(file, NULL, 8, NULL), TRIB_ERR_ARGUMENT, "text: NULL");

    /* Calls that need an operation in flight, and calls that allow none. */
    const int64_t offset = 4 * (int64_t)rank, length = 4;
    FAILS(trib_wait(file, NULL), TRIB_ERR_ARGUMENT, "no operation is in flight");
    FAILS(trib_test(file, &done, NULL), TRIB_ERR_ARGUMENT, "no operation is in flight");
    OK(trib_start_write_all(file, 1, &offset, &length, 0, NULL, NULL, "abcd"));
    FAILS(trib_test(file, NULL, NULL), TRIB_ERR_ARGUMENT, "done: NULL");
    FAILS(trib_start_read_all(file, 0, NULL, NULL, 0, NULL, NULL, NULL), TRIB_ERR_ARGUMENT, "in flight");
    FAILS(trib_write_all(file, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL), TRIB_ERR_ARGUMENT, "in flight");
    FAILS(trib_write_at(file, 0, text, 1, NULL), TRIB_ERR_ARGUMENT, "in flight");
    FAILS(trib_sync(file), TRIB_ERR_ARGUMENT, "in flight");
    FAILS(trib_set_size(file, 0), TRIB_ERR_ARGUMENT, "in flight");
    trib_file *same = file;
    FAILS(trib_close(&file), TRIB_ERR_ARGUMENT, "in flight");
    EXPECT(file == same);
    OK(trib_wait(file, &bytes));
    EXPECT(bytes == 4);
}

/* Errors that only the operating system finds. */
static void the_system(void) {
    trib_file *file;
    int64_t bytes = -1;
    const int64_t offset = 100 * (int64_t)rank, length = 100;
    char buffer[100] = "";
    OK(trib_open(MPI_COMM_WORLD, path, TRIB_READ, NULL, &file));
    FAILS(trib_write_all(file, 1, &offset, &length, 0, NULL, NULL, buffer, &bytes), TRIB_ERR_READ_ONLY, "TRIB_READ");
    EXPECT(bytes == 0);
    FAILS(trib_write_at(file, 0, buffer, 1, NULL), TRIB_ERR_READ_ONLY, "write");
    FAILS(trib_set_size(file, 1), TRIB_ERR_READ_ONLY, "truncate");
    OK(trib_read_all(file, 1, &offset, &length, 0, NULL, NULL, buffer, NULL));
    OK(trib_close(&file));
    EXPECT(file == NULL);

    /* A full device, by both paths. */
    const char *hints[2] = {"romio_cb_write=enable;trib_driver=posix", "romio_cb_write=disable;trib_tiny_call=0"};
    for (int i = 0; i < 2; i++) {
        OK(trib_open(MPI_COMM_WORLD, "/dev/full", TRIB_UPDATE, hints[i], &file));
        FAILS(trib_write_all(file, 1, &offset, &length, 0, NULL, NULL, buffer, NULL), TRIB_ERR_NO_SPACE, "No space");
        FAILS(trib_write_at(file, 0, buffer, 1, NULL), TRIB_ERR_NO_SPACE, "No space");
        OK(trib_close(&file));
    }
}

/* A file of another user without permissions. The ranks drop root's rights first: root may open every file. */
static void a_private_file(void) {
    char other[4096];
    snprintf(other, sizeof other, "%s.private", path);
    if (rank == 0) {
        FILE *private = fopen(other, "w");
        EXPECT(private != NULL && fclose(private) == 0 && chmod(other, 0) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    uid_t user = geteuid();
    EXPECT(user != 0 || seteuid(65534) == 0);
    all_fail_to_open(other, TRIB_UPDATE, NULL, TRIB_ERR_ACCESS, "denied");
    EXPECT(seteuid(user) == 0);
}

int main(int argc, char **argv) {
    trib_file *file;
    path = argv[1];
    EXPECT(trib_last_error_message()[0] == '\0');
    FAILS(trib_open(MPI_COMM_WORLD, path, TRIB_CREATE, NULL, &file), TRIB_ERR_ARGUMENT, "MPI is not initialised");
    FAILS(trib_open_fortran(0, path, TRIB_CREATE, NULL, &file), TRIB_ERR_ARGUMENT, "MPI is not initialised");
    start(&argc, &argv);
    for (int code = -1; code <= 14; code++) {
        const char *words = trib_error_string(code);
        EXPECT(words != NULL && words[0] != '\0');
        EXPECT((strcmp(words, "not a status of Tributary") == 0) == (code < TRIB_OK || code > TRIB_ERR_NO_MEMORY));
    }
    opening();
    extents();
    null_files();
    a_closed_file();
    OK(trib_open(MPI_COMM_WORLD, path, TRIB_CREATE, NULL, &file));
    lists(file);
    the_rest(file);
    OK(trib_close(&file));
    the_system();
    a_private_file();
    finish();
    FAILS(trib_open_fortran(0, path, TRIB_CREATE, NULL, &file), TRIB_ERR_ARGUMENT, "MPI is finalised");
    return 0;
}
