/* Files on what passes for Lustre, opened with hints of stripes: what they tell, and what MPI_File_get_info tells of them on every
 * rank, before the first collective call and after it. */
#include "program.h"
#include "stripes.h"

static void tell(MPI_File file)
{
    static const char *keys[] = {"striping_unit", "striping_factor"};
    MPI_Info info;
    MUST(MPI_File_get_info(file, &info));
    for (int i = 0; i < 2; i++) {
        char value[MPI_MAX_INFO_VAL + 1];
        int found;
        MUST(MPI_Info_get(info, keys[i], MPI_MAX_INFO_VAL, value, &found));
        say(" %s", found ? value : "none");
    }
    MUST(MPI_Info_free(&info));
}

static void through(const char *name, int amode, const char *unit, const char *factor)
{
    const char *path = on_lustre(NULL, name);
    int number = value(rank, 0);
    struct stat told;
    MPI_Info info;
    MPI_File file;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "striping_unit", (char *)unit));
    MUST(MPI_Info_set(info, "striping_factor", (char *)factor));
    MUST(MPI_Info_set(info, "start_iodevice", "2"));
    int code = MPI_File_open(MPI_COMM_WORLD, (char *)path, amode, info, &file);
    MUST(MPI_Info_free(&info));
    say("%s: %s, the file %s, info", name, class_of(code), stripes_of(path));
    if (code == MPI_SUCCESS) {
        tell(file);
        say(", then");
        MUST(MPI_File_write_at_all(file, 4 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
        tell(file);
        MUST(MPI_File_close(&file));
        TRUE(stat(path, &told) == 0 && told.st_size >= 4 * ranks);
        say(", mode %o", told.st_mode & 0777);
    }
    say("\n");
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    const int new = MPI_MODE_CREATE | MPI_MODE_RDWR;
    umask(002);
    start(&argc, &argv);
    through("new", new, "131072", "3");
    through("new", new, "262144", "2");
    through("new", MPI_MODE_RDWR, "262144", "2");
    through("new", new | MPI_MODE_EXCL, "262144", "2");
    through("exclusive", new | MPI_MODE_EXCL, "131072", "3");
    through("wide", new, "131072", "100");
    through("absent", MPI_MODE_RDWR, "131072", "3");
    through("odd", new, "1000", "3");
    through("refused", new, "131072", "3");
    finish();
}
