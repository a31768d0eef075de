/* Files on what passes for Lustre: a new file has the hinted stripes, what a file tells wins over hints, and errors are those of all
 * ranks. */
#include "check.h"
#include "stripes.h"

static void has(const char *path, int mode, const char *hints, const char *unit, const char *factor) {
    static const char *keys[] = {"striping_unit", "striping_factor"};
    const char *due[] = {unit, factor};
    char value[64];
    trib_file *file;
    OK(trib_open(MPI_COMM_WORLD, path, mode, hints, &file));
    for (int i = 0; i < 2; i++) {
        OK(trib_get_hint(file, keys[i], value, sizeof value, NULL));
        EXPECT(strcmp(value, due[i]) == 0);
    }
    OK(trib_close(&file));
}

int main(int argc, char **argv) {
    trib_file *file;
    start(&argc, &argv);
    const char *path = on_lustre(argv[1], "new");
    has(path, TRIB_CREATE, "striping_unit=128k; striping_factor=3; start_iodevice=2", "131072", "3");
    EXPECT(strcmp(stripes_of(path), "131072 3 2") == 0);
    has(path, TRIB_CREATE, "striping_unit=1000; striping_factor=2", "131072", "3");
    has(path, TRIB_READ, "striping_factor=2", "131072", "3");
    path = on_lustre(argv[1], "wide");
    has(path, TRIB_UPDATE, "striping_factor=100; trib_driver=lustre", "1048576", "4");
    path = on_lustre(argv[1], "of another driver");
    has(path, TRIB_CREATE, "striping_factor=3; trib_driver=gpfs", "1048576", "1");
    EXPECT(strcmp(stripes_of(path), "1048576 3 65535") == 0);
    path = on_lustre(argv[1], "odd");
    FAILS(trib_open(MPI_COMM_WORLD, path, TRIB_CREATE, "striping_unit=1000", &file), TRIB_ERR_HINT, "65536");
    EXPECT(strcmp(stripes_of(path), "no file") == 0);
    path = on_lustre(argv[1], "refused");
    FAILS(trib_open(MPI_COMM_WORLD, path, TRIB_CREATE, "striping_factor=2", &file), TRIB_ERR_NO_SPACE, "setstripe");
    EXPECT(strcmp(stripes_of(path), "no file") == 0);
    return finish();
}
