/* A small file, written, synchronised, read and closed: small PATH. Every rank says what each call returned, and goes on. */
#include "program.h"

enum { COUNT = 500 };

int main(int argc, char **argv)
{
    int written[COUNT], read[COUNT] = {0}, code;
    MPI_File file;
    MPI_Datatype view;
    MPI_Request request = MPI_REQUEST_NULL;
    start(&argc, &argv);
    for (int i = 0; i < COUNT; i++)
        written[i] = value(rank, i);
    MUST(MPI_Type_vector(COUNT, 1, ranks, MPI_INT, &view));
    MUST(MPI_Type_commit(&view));
    code = MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    say("open: %s\n", class_of(code));
    if (code == MPI_SUCCESS) {
        say("set_view: %s\n", class_of(MPI_File_set_view(file, 4 * rank, MPI_INT, view, "native", MPI_INFO_NULL)));
        code = MPI_File_iwrite_at_all(file, 0, written, COUNT, MPI_INT, &request);
        say("iwrite_at_all: %s\n", class_of(code));
        say("wait: %s\n", class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)));
        say("write_all: %s\n", class_of(MPI_File_write_all(file, written, COUNT, MPI_INT, MPI_STATUS_IGNORE)));
        say("begin: %s\n", class_of(MPI_File_write_at_all_begin(file, 0, written, COUNT, MPI_INT)));
        say("end: %s\n", class_of(MPI_File_write_at_all_end(file, written, MPI_STATUS_IGNORE)));
        say("sync: %s\n", class_of(MPI_File_sync(file)));
        code = MPI_File_read_at_all(file, 0, read, COUNT, MPI_INT, MPI_STATUS_IGNORE);
        say("read_at_all: %s%s\n", class_of(code), code || !memcmp(read, written, sizeof read) ? "" : ", other bytes");
        say("close: %s\n", class_of(MPI_File_close(&file)));
    }
    MUST(MPI_Type_free(&view));
    finish();
    return 0;
}
