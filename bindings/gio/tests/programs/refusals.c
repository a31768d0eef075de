/* What is wrong on one rank is the same code on all ranks, and the file goes on to be usable. */
#include "check.h"
#include <unistd.h>

static GIO_File fh;
static char buf[64];
static MPI_Offset zero = 0, eight = 8;

/* A write and a read with one bad list on the last rank. */
static void refused(MPI_Offset file_npairs, const MPI_Offset *file_offs, const MPI_Offset *file_lens,
                    MPI_Offset buf_npairs, const MPI_Offset *buf_offs, const MPI_Offset *buf_lens, void *memory,
                    int code) {
    MPI_Offset mine = 8 * rank;
    if (rank == ranks - 1) {
        IS(GIO_write(fh, memory, file_npairs, file_offs, file_lens, buf_npairs, buf_offs, buf_lens), code);
        IS(GIO_write_all(fh, memory, file_npairs, file_offs, file_lens, buf_npairs, buf_offs, buf_lens), code);
        IS(GIO_read_all(fh, memory, file_npairs, file_offs, file_lens, buf_npairs, buf_offs, buf_lens), code);
        IS(GIO_read(fh, memory, file_npairs, file_offs, file_lens, buf_npairs, buf_offs, buf_lens), code);
    } else {
        IS(GIO_write_all(fh, buf, 1, &mine, &eight, 1, &zero, &eight), code);
        IS(GIO_read_all(fh, buf, 1, &mine, &eight, 1, &zero, &eight), code);
    }
    IS(GIO_write_all(fh, buf, 1, &mine, &eight, 1, &zero, &eight), 8);
}

static void lists(void) {
    MPI_Offset offs[2] = {0, 16}, lens[2] = {8, 8}, sixteen = 16;
    MPI_Offset back[2] = {16, 0}, over[2] = {0, 4}, below[2] = {-8, 8}, negative[2] = {8, -8};
    refused(2, back, lens, 1, &zero, &sixteen, buf, GIO_EFILEVIEW);
    refused(2, over, lens, 1, &zero, &sixteen, buf, GIO_EFILEVIEW);
    refused(2, offs, negative, 0, NULL, NULL, buf, GIO_ENEGATIVECNT);
    refused(2, offs, lens, 2, offs, negative, buf, GIO_ENEGATIVECNT);
    refused(2, below, lens, 1, &zero, &sixteen, buf, GIO_EINVAL);
    refused(2, offs, lens, 1, &zero, &eight, buf, GIO_EINVAL);
    refused(2, offs, lens, 0, NULL, NULL, buf, GIO_EINVAL);
    refused(-1, offs, lens, 1, &zero, &sixteen, buf, GIO_EINVAL);
    refused(2, offs, lens, -1, &zero, &sixteen, buf, GIO_EINVAL);
    refused(2, NULL, lens, 1, &zero, &sixteen, buf, GIO_EINVAL);
    refused(2, offs, NULL, 1, &zero, &sixteen, buf, GIO_EINVAL);
    refused(2, offs, lens, 1, NULL, &sixteen, buf, GIO_EINVAL);
    refused(2, offs, lens, 1, &zero, NULL, buf, GIO_EINVAL);
    refused(2, offs, lens, 1, &zero, &sixteen, NULL, GIO_EINVAL);
}

static void opening(const char *path) {
    GIO_File none = NULL;
    const int last = rank == ranks - 1;
    char below[4096];
    IS(GIO_open(MPI_COMM_NULL, path, O_RDWR, MPI_INFO_NULL, &none), GIO_EINVAL);
    IS(GIO_open(MPI_COMM_WORLD, last ? NULL : path, O_RDWR, MPI_INFO_NULL, &none), GIO_EBAD_FILE);
    IS(GIO_open(MPI_COMM_WORLD, last ? "" : path, O_RDWR, MPI_INFO_NULL, &none), GIO_EBAD_FILE);
    IS(GIO_open(MPI_COMM_WORLD, path, O_RDWR, MPI_INFO_NULL, last ? NULL : &none), GIO_EINVAL);
    IS(GIO_open(MPI_COMM_WORLD, path, last ? O_RDWR | O_APPEND : O_RDWR, MPI_INFO_NULL, &none), GIO_EINVAL);
    if (ranks > 1)
        IS(GIO_open(MPI_COMM_WORLD, path, last ? O_RDONLY : O_RDWR, MPI_INFO_NULL, &none), GIO_EMULTIDEFINE_AMODE);
    IS(GIO_open(MPI_COMM_WORLD, path, O_RDWR | O_CREAT | O_EXCL, MPI_INFO_NULL, &none), GIO_EEXIST);
    IS(GIO_open(MPI_COMM_WORLD, "/", O_RDWR, MPI_INFO_NULL, &none), GIO_EBAD_FILE);
    snprintf(below, sizeof below, "%s/below", path);
    IS(GIO_open(MPI_COMM_WORLD, below, O_RDWR | O_CREAT, MPI_INFO_NULL, &none), GIO_EBAD_FILE);
    snprintf(below, sizeof below, "%s.none", path);
    IS(GIO_open(MPI_COMM_WORLD, below, O_RDONLY, MPI_INFO_NULL, &none), GIO_ENOENT);
    memset(below, 'x', 4000);
    below[4000] = 0;
    IS(GIO_open(MPI_COMM_WORLD, below, O_RDWR | O_CREAT, MPI_INFO_NULL, &none), GIO_EBAD_FILE);
    IS(GIO_open(MPI_COMM_WORLD, "daos:f", O_RDWR | O_CREAT, MPI_INFO_NULL, &none), GIO_EBAD_FILE);
    IS(GIO_open(MPI_COMM_WORLD, "Pvfs2:f", O_RDWR | O_CREAT, MPI_INFO_NULL, &none), GIO_EBAD_FILE);
    IS(access("daos:f", F_OK) == 0 || access("Pvfs2:f", F_OK) == 0, 0);
    IS(none == GIO_FILE_NULL, 1);
    IS(GIO_delete(NULL), GIO_EBAD_FILE);
    IS(GIO_delete("/nothing/here"), GIO_ENOENT);
}

static void handles(void) {
    GIO_File none = NULL, stale;
    MPI_Offset size;
    MPI_Info info;
    IS(GIO_close(&none), GIO_EINVAL);
    IS(GIO_close(NULL), GIO_EINVAL);
    IS(GIO_sync(none), GIO_EINVAL);
    IS(GIO_set_size(none, 0), GIO_EINVAL);
    IS(GIO_get_size(none, &size), GIO_EINVAL);
    IS(GIO_get_size(fh, NULL), GIO_EINVAL);
    IS(GIO_get_info(none, &info), GIO_EINVAL);
    IS(GIO_get_info(fh, NULL), GIO_EINVAL);
    IS(GIO_write_all(none, buf, 1, &zero, &eight, 1, &zero, &eight), GIO_EINVAL);
    IS(GIO_read(none, buf, 1, &zero, &eight, 1, &zero, &eight), GIO_EINVAL);
    stale = fh;
    OK(GIO_close(&fh));
    IS(GIO_sync(stale), GIO_EINVAL);
    IS(GIO_close(&stale), GIO_EINVAL);
}

/* A prefix of ROMIO is no part of a file's name; anything else before a colon is. */
static void prefixes(const char *path) {
    const char *all[][2] = {{"ufs:%s", "%s"}, {"LUSTRE:%s", "%s"}, {"Bg:%s", "%s"}, {"%s_15:00.nc", "%s_15:00.nc"},
                            {"ufs:%s_15:00.nc", "%s_15:00.nc"}};
    char given[4096], made[4096];
    MPI_Offset size;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        snprintf(given, sizeof given, all[i][0], path);
        snprintf(made, sizeof made, all[i][1], path);
        OK(GIO_open(MPI_COMM_WORLD, given, O_RDWR | O_CREAT, MPI_INFO_NULL, &fh));
        OK(GIO_get_size(fh, &size));
        IS(access(made, F_OK), 0);
        OK(GIO_close(&fh));
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0 && strcmp(made, path) != 0)
            OK(GIO_delete(given));
        MPI_Barrier(MPI_COMM_WORLD);
        IS(access(made, F_OK) == 0, strcmp(made, path) == 0);
    }
}

/* Hints go in and come back, with what else the program has in its info. */
static void hints(const char *path) {
    MPI_Info given, used;
    char value[MPI_MAX_INFO_VAL + 1];
    int found;
    MPI_Info_create(&given);
    MPI_Info_set(given, "cb_buffer_size", "1048576");
    MPI_Info_set(given, "ds_write", "disable");
    MPI_Info_set(given, "cb_nodes", "0");
    MPI_Info_set(given, "nc_header_align_size", "512");
    /* The first rank's count. */
    if (rank > 0)
        MPI_Info_set(given, "cb_buffer_size", "2097152");
    OK(GIO_open(MPI_COMM_WORLD, path, O_RDWR, given, &fh));
    MPI_Info_free(&given);
    OK(GIO_get_info(fh, &used));
    const char *expected[][2] = {{"cb_buffer_size", "1048576"}, {"ds_write", "disable"}, {"romio_ds_write", "disable"},
                                 {"nc_header_align_size", "512"}, {"cb_nodes", "1"}, {"cb_node_list", "0"},
                                 {"file_system_type", "UFS:"}, {"cb_read", "automatic"}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        MPI_Info_get(used, expected[i][0], MPI_MAX_INFO_VAL, value, &found);
        IS(found, 1);
        if (strcmp(value, expected[i][1]) != 0)
            fprintf(stderr, "%s is %s, not %s\n", expected[i][0], value, expected[i][1]);
        IS(strcmp(value, expected[i][1]), 0);
    }
    MPI_Info_get(used, "striping_unit", MPI_MAX_INFO_VAL, value, &found);
    IS(found && atoi(value) > 0, 1);
    MPI_Info_free(&used);
    OK(GIO_close(&fh));
}

int main(int argc, char **argv) {
    MPI_Offset size = 0, mine, npairs, *offs, *lens;
    const int one = 1, two = 2;
    start(&argc, &argv);
    const char *path = argv[1];
    mine = 8 * rank;
    OK(GIO_open(MPI_COMM_WORLD, path, O_CREAT | O_RDWR, MPI_INFO_NULL, &fh));
    lists();
    IS(GIO_set_size(fh, rank == ranks - 1 ? -1 : 10), GIO_EINVAL);
    if (ranks > 1)
        IS(GIO_set_size(fh, rank), GIO_EMULTIDEFINE_FNC_ARGS);
    opening(path);
    handles();

    OK(GIO_open(MPI_COMM_WORLD, path, O_RDONLY, MPI_INFO_NULL, &fh));
    IS(GIO_write_all(fh, buf, 1, &mine, &eight, 1, &zero, &eight), GIO_EPERM);
    IS(GIO_write(fh, buf, 1, &mine, &eight, 1, &zero, &eight), GIO_EPERM);
    IS(GIO_set_size(fh, 0), GIO_EPERM);
    IS(GIO_read_all(fh, buf, 1, &mine, &eight, 1, &zero, &eight), 8);
    OK(GIO_close(&fh));
    OK(GIO_open(MPI_COMM_WORLD, path, O_WRONLY, MPI_INFO_NULL, &fh));
    IS(GIO_read_all(fh, buf, 1, &mine, &eight, 1, &zero, &eight), GIO_EINVAL);
    IS(GIO_write_all(fh, buf, 1, &mine, &eight, 1, &zero, &eight), 8);
    OK(GIO_close(&fh));
    OK(GIO_open(MPI_COMM_WORLD, path, O_RDWR | O_TRUNC, MPI_INFO_NULL, &fh));
    OK(GIO_get_size(fh, &size));
    IS(size, 0);
    OK(GIO_close(&fh));
    hints(path);
    prefixes(path);

    /* A full device. */
    OK(GIO_open(MPI_COMM_WORLD, "/dev/full", O_RDWR, MPI_INFO_NULL, &fh));
    IS(GIO_write_all(fh, buf, 1, &mine, &eight, 1, &zero, &eight), GIO_ENO_SPACE);
    IS(GIO_write(fh, buf, 1, &mine, &eight, 1, &zero, &eight), GIO_ENO_SPACE);
    OK(GIO_close(&fh));

    IS(GIO_flatten_subarray(1, 4, 0, NULL, &one, &one, &npairs, &offs, &lens), GIO_EINVAL);
    IS(GIO_flatten_subarray(1, 4, 0, &one, &two, &one, &npairs, &offs, &lens), GIO_EINVAL);
    IS(GIO_flatten_subarray(-1, 4, 0, &one, &two, &one, &npairs, &offs, &lens), GIO_EINVAL);
    OK(GIO_flatten_subarray(0, 4, 0, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(GIO_inq_malloc_size(&size), GIO_ENOTENABLED);
    IS(GIO_inq_malloc_max_size(&size), GIO_ENOTENABLED);
    IS(GIO_inq_malloc_list(), GIO_ENOTENABLED);
    IS(strcmp(GIO_strerrno(GIO_EFILEVIEW), "GIO_EFILEVIEW"), 0);
    IS(strstr(GIO_inq_libvers(), "Tributary") != NULL, 1);
    return finish();
}
