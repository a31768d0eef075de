/* What MPI_File_get_info tells of hints at every stage, on every rank. Arguments are variables, name=value, that rank 0 alone
 * has in its environment; with a number and a colon in front of it, the rank of that number. */
#include "program.h"

static void tell(MPI_File file, const char *when)
{
    static const char *keys[] = {"colour", "shade", "cb_nodes", "cb_buffer_size", "romio_cb_write"};
    MPI_Info info;
    MUST(MPI_File_get_info(file, &info));
    say("%s:", when);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char value[MPI_MAX_INFO_VAL + 1];
        int found;
        MUST(MPI_Info_get(info, keys[i], MPI_MAX_INFO_VAL, value, &found));
        say(" %s=%s", keys[i], found ? value : "none");
    }
    say("\n");
    MUST(MPI_Info_free(&info));
}

static MPI_Info info_of(const char *key, const char *value)
{
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, (char *)key, (char *)value));
    return info;
}

int main(int argc, char **argv)
{
    int number[4];
    MPI_File file;
    MPI_Info info;
    start(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        char *end, *given = argv[i];
        long of = strtol(given, &end, 10);
        if (end != given && *end == ':')
            given = end + 1;
        else
            of = 0;
        if (of == rank)
            putenv(given);
    }
    info = info_of("colour", "blue");
    MUST(MPI_Info_set(info, "cb_buffer_size", "1048576"));
    MUST(MPI_Info_set(info, "romio_cb_write", "perhaps"));
    MUST(MPI_File_open(MPI_COMM_WORLD, "out.nc", MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    MUST(MPI_Info_free(&info));
    tell(file, "open");
    info = info_of("shade", "dark");
    MUST(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", info));
    MUST(MPI_Info_free(&info));
    tell(file, "view");
    info = info_of("colour", "red");
    MUST(MPI_File_set_info(file, info));
    MUST(MPI_Info_free(&info));
    tell(file, "info");
    for (int i = 0; i < 4; i++)
        number[i] = value(rank, i);
    for (int i = 0; i < 2; i++)
        say("write: %s\n", class_of(MPI_File_write_at_all(file, 4 * rank, number, 4, MPI_INT, MPI_STATUS_IGNORE)));
    tell(file, "written");
    MUST(MPI_File_close(&file));
    finish();
}
