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
    path = on_lustre(argv[1], "refused");
    IS(GIO_open(MPI_COMM_WORLD, path, O_CREAT | O_RDWR, info, &fh), GIO_ENO_SPACE);
    IS(strcmp(stripes_of(path), "no file"), 0);
    MPI_Info_free(&info);
    return finish();
}
