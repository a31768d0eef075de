/* Files on what passes for Lustre: a new file has the hinted stripes, what a file tells wins over hints, and errors are those of all
 * ranks. */
#include "check.h"
#include "stripes.h"

static MPI_Info info_of(const char *unit, const char *factor) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "striping_unit", unit);
    MPI_Info_set(info, "striping_factor", factor);
    MPI_Info_set(info, "start_iodevice", "2");
    return info;
}

static void has(const char *path, int amode, MPI_Info given, const char *unit, const char *factor) {
    static const char *keys[] = {"striping_unit", "striping_factor"};
    const char *due[] = {unit, factor};
    char value[MPI_MAX_INFO_VAL + 1];
    int found;
    MPI_Info used;
    GIO_File fh;
    OK(GIO_open(MPI_COMM_WORLD, path, amode, given, &fh));
    MPI_Info_free(&given);
    OK(GIO_get_info(fh, &used));
    for (int i = 0; i < 2; i++) {
        MPI_Info_get(used, keys[i], MPI_MAX_INFO_VAL, value, &found);
        IS(found, 1);
        IS(strcmp(value, due[i]), 0);
    }
    MPI_Info_free(&used);
    OK(GIO_close(&fh));
}

/* Makes a file with these hints, and compares its stripes. */
static void gets(const char *path, const char *factor, const char *ratio, const char *striping, const char *due) {
    const char *hints[][2] = {{"striping_factor", factor}, {"overstriping_ratio", ratio}, {"file_striping", striping}};
    MPI_Info info;
    GIO_File fh;
    MPI_Info_create(&info);
    for (int i = 0; i < 3; i++)
        if (hints[i][1])
            MPI_Info_set(info, hints[i][0], hints[i][1]);
    OK(GIO_open(MPI_COMM_WORLD, path, O_CREAT | O_RDWR, info, &fh));
    MPI_Info_free(&info);
    OK(GIO_close(&fh));
    if (strcmp(stripes_of(path), due) && rank == 0)
        fprintf(stderr, "%s: %s, due: %s\n", path, stripes_of(path), due);
    IS(strcmp(stripes_of(path), due), 0);
}

int main(int argc, char **argv) {
    MPI_Info info;
    GIO_File fh;
    start(&argc, &argv);
    const char *path = on_lustre(argv[1], "new");
    has(path, O_CREAT | O_RDWR | O_EXCL, info_of("131072", "3"), "131072", "3");
    IS(strcmp(stripes_of(path), "131072 3 2"), 0);
    has(path, O_CREAT | O_RDWR | O_TRUNC, info_of("262144", "2"), "131072", "3");
    has(path, O_RDONLY, info_of("262144", "2"), "131072", "3");
    info = info_of("262144", "2");
    IS(GIO_open(MPI_COMM_WORLD, path, O_CREAT | O_RDWR | O_EXCL, info, &fh), GIO_EEXIST);
    path = on_lustre(argv[1], "wide");
    has(path, O_CREAT | O_RDWR, info_of("131072", "100"), "131072", "4");
    /* Of 8 stripes each server gets 4, or 1 of as many as there are servers; with fewer servers than that needs, Lustre chooses. */
    gets(on_lustre(argv[1], "two"), "8", "4", NULL, "1048576 8 0 on 2 servers");
    gets(on_lustre(argv[1], "one"), "2", "4", NULL, "1048576 2 0 on 1 servers");
    gets(on_lustre(argv[1], "too many"), "60", "2", NULL, "1048576 4 65535");
    /* GIO gives a file a stripe for each host, which TRIB_HINTS makes of each rank here, unless it inherits those of its folder. */
    char due[64];
    snprintf(due, sizeof due, "1048576 %d 65535", ranks < 4 ? ranks : 4);
    gets(on_lustre(argv[1], "automatic"), NULL, NULL, "automatic", due);
    gets(on_lustre(argv[1], "unset"), NULL, NULL, NULL, due);
    if (ranks < 5) {
        snprintf(due, sizeof due, "1048576 %d 0 on %d servers", 3 * ranks, ranks);
        gets(on_lustre(argv[1], "over"), NULL, "3", NULL, due);
    }
    gets(on_lustre(argv[1], "inherited"), NULL, NULL, "inherit", "1048576 1 0");
    path = on_lustre(argv[1], "refused");
    IS(GIO_open(MPI_COMM_WORLD, path, O_CREAT | O_RDWR, info, &fh), GIO_ENO_SPACE);
    IS(strcmp(stripes_of(path), "no file"), 0);
    MPI_Info_free(&info);
    return finish();
}
