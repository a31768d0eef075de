/* Hints that the library sets by itself are for its own calls: the program sees them, and OMPIO, whose ordered writes lose
 * bytes if it has several aggregators (docs/ompio.md), does not. ordered PATH [KEY VALUE]: a collective write, a view, and
 * ordered writes of a few bytes, after which the whole file is checked. Prints what OMPIO is told when a view is set, if
 * `infos` is preloaded, and what MPI_File_get_info returns. */
#include "program.h"

enum { BYTES = 100, ROUNDS = 60 };

static void show(MPI_File file, const char *when)
{
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL + 1] = "-";
    int is_set;
    MUST(MPI_File_get_info(file, &info));
    MUST(MPI_Info_get(info, "cb_nodes", MPI_MAX_INFO_VAL, value, &is_set));
    MUST(MPI_Info_free(&info));
    if (rank == 0)
        say("%s: cb_nodes %s\n", when, is_set ? value : "-");
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Info info;
    char data[BYTES], found[BYTES];
    int lost = 0;
    start(&argc, &argv);
    MUST(MPI_Info_create(&info));
    if (argc > 3)
        MUST(MPI_Info_set(info, argv[2], argv[3]));
    MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    show(file, "opened");
    memset(data, 0, BYTES);
    MUST(MPI_File_write_at_all(file, rank * BYTES, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    show(file, "written");
    MUST(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    show(file, "viewed");
    for (int round = 0; round < ROUNDS; round++) {
        memset(data, 1 + (round * ranks + rank) % 250, BYTES);
        MUST(MPI_File_write_ordered(file, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    settle(file);
    for (int block = 0; rank == 0 && block < ROUNDS * ranks; block++) {
        MUST(MPI_File_read_at(file, block * BYTES, found, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
        memset(data, 1 + block % 250, BYTES);
        lost += memcmp(data, found, BYTES) != 0;
    }
    if (rank == 0)
        say("%d lost\n", lost);
    MUST(MPI_File_close(&file));
    MUST(MPI_Info_free(&info));
    finish();
    return 0;
}
