// The error handlers of files throw C++ exceptions, which the callers of MPI catch: what the C++ bindings'
// MPI::ERRORS_THROW_EXCEPTIONS did. MPI does not promise that it works; with MPICH and Open MPI's shared libraries it does. After
// each exception the file still works: collective and independent calls move the right bytes, and the file can be closed.
//   throws PATH [write | iwrite | split | sync | close]: with an argument, the one call of the file system that a test makes fail
#include <mpi.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <unistd.h>

static int rank, ranks, bad;
static MPI_File file;

static void handler(MPI_File *, int *code, ...) { throw std::runtime_error("code " + std::to_string(*code)); }

static void wrong(const char *what, const char *why)
{
    bad = 1;
    std::printf("rank %d: %s: %s\n", rank, what, why);
}

// The call throws, and the file still works: what was written is read back, also at the file pointer, which has not moved.
template <class Call> static void throws(const char *what, Call call)
{
    static int number;
    MPI_Offset before = -1, after = -1;
    MPI_File_get_position(file, &before);
    bool caught = false;
    try {
        call();
    } catch (const std::exception &) {
        caught = true;
    }
    if (!caught)
        wrong(what, "no exception");
    MPI_File_get_position(file, &after);
    if (before != after)
        wrong(what, "the file pointer has moved");
    int data[2] = {rank + 100 * ++number, -number}, back[2] = {0, 0}, alone[2] = {0, 0};
    MPI_Status status;
    try {
        MPI_File_write_at_all(file, 2 * rank, data, 2, MPI_INT, &status);
        MPI_File_sync(file);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_File_read_at_all(file, 2 * rank, back, 2, MPI_INT, &status);
        MPI_File_seek(file, 2 * rank, MPI_SEEK_SET);
        MPI_File_read(file, alone, 2, MPI_INT, &status);
    } catch (const std::exception &e) {
        wrong(what, e.what());
    }
    if (memcmp(data, back, sizeof data) || memcmp(data, alone, sizeof data))
        wrong(what, "other bytes");
    MPI_Barrier(MPI_COMM_WORLD);
}

// One call of the file system fails, on rank 0, which need not be the one that writes: the call of MPI throws on all ranks.
static void fails(const std::string &what)
{
    static int data[1000];
    MPI_Status status;
    throws(what.c_str(), [&] {
        for (int i = 0; i < 50; i++) {
            if (rank == 0)
                usleep(2000); // The last rank to come writes.
            if (what == "iwrite") {
                MPI_Request request;
                MPI_File_iwrite_at_all(file, rank * 1000, data, 1000, MPI_INT, &request);
                MPI_Wait(&request, &status);
            } else if (what == "split") {
                MPI_File_write_at_all_begin(file, rank * 1000, data, 1000, MPI_INT);
                MPI_File_write_at_all_end(file, data, &status);
            } else {
                MPI_File_write_at_all(file, rank * 1000, data, 1000, MPI_INT, &status);
            }
            if (what == "sync")
                MPI_File_sync(file);
        }
    });
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int data = 1, any;
    MPI_Errhandler own;
    MPI_Status status;
    MPI_File_create_errhandler(handler, &own);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_set_errhandler(file, own);

    if (argc > 2) {
        if (strcmp(argv[2], "close"))
            fails(argv[2]);
        else
            MPI_File_write_at_all(file, rank, &data, 1, MPI_INT, &status);
        bool caught = false;
        try {
            MPI_File_close(&file);
        } catch (const std::exception &) {
            // MPI's file is still there.
            caught = true;
            MPI_File_close(&file);
        }
        if (caught && strcmp(argv[2], "close"))
            wrong("close", "an exception");
        MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (rank == 0)
            std::printf(any ? "wrong\n" : "ok\n");
        MPI_Finalize();
        return any;
    }
    // MPI's own functions, which pass through; before the first collective call, and after it.
    for (int round = 0; round < 2; round++) {
        throws("seek", [] { MPI_File_seek(file, -5, MPI_SEEK_SET); });
        throws("seek from the end", [] { MPI_File_seek(file, -500000, MPI_SEEK_END); });
        throws("read_at", [&] { MPI_File_read_at(file, 0, &data, -1, MPI_INT, MPI_STATUS_IGNORE); });
        throws("read", [&] { MPI_File_read(file, &data, -1, MPI_INT, MPI_STATUS_IGNORE); });
        throws("iwrite", [&] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_File_iwrite(file, &data, -1, MPI_INT, &request);
        });
        throws("set_view", [] { MPI_File_set_view(file, 0, MPI_INT, MPI_DATATYPE_NULL, "native", MPI_INFO_NULL); });
        MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
        throws("set_size", [] { MPI_File_set_size(file, -1); });
        MPI_File_set_errhandler(MPI_FILE_NULL, own);
        throws("open", [&] {
            MPI_File other;
            MPI_File_open(MPI_COMM_WORLD, (std::string(argv[1]) + ".nowhere/file").c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &other);
        });
        MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
        // Refused by this library, as MPI refuses it.
        throws("write_at_all", [&] { MPI_File_write_at_all(file, 0, &data, -1, MPI_INT, MPI_STATUS_IGNORE); });
        throws("read_all", [&] { MPI_File_read_all(file, &data, -1, MPI_INT, MPI_STATUS_IGNORE); });
    }
    // In atomic mode MPI runs the calls.
    MPI_File_set_atomicity(file, 1);
    throws("write_all in atomic mode", [&] { MPI_File_write_all(file, &data, -1, MPI_INT, MPI_STATUS_IGNORE); });
    MPI_File_set_atomicity(file, 0);
    // Where the error comes: at the start or at the end. With a message under way beside it.
    throws("iwrite_at_all", [&] {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        int from = -1;
        MPI_Irecv(&from, 1, MPI_INT, (rank + 1) % ranks, 7, MPI_COMM_WORLD, &requests[1]);
        MPI_Request sent;
        MPI_Isend(&rank, 1, MPI_INT, (rank + ranks - 1) % ranks, 7, MPI_COMM_WORLD, &sent);
        MPI_Wait(&sent, &status);
        struct Waits {
            MPI_Request *request;
            ~Waits() { MPI_Wait(request, MPI_STATUS_IGNORE); }
        } waits = {&requests[1]};
        MPI_File_iwrite_at_all(file, 0, &data, -1, MPI_INT, &requests[0]);
        MPI_Wait(&requests[0], &status);
    });
    throws("iread_all and Waitall", [&] {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_File_iread_all(file, &data, -1, MPI_INT, &request);
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    });
    throws("write_at_all_begin", [&] {
        MPI_File_write_at_all_begin(file, 0, &data, -1, MPI_INT);
        MPI_File_write_at_all_end(file, &data, &status);
    });
    MPI_File_close(&file);
    if (file != MPI_FILE_NULL)
        wrong("close", "the handle is there");

    // The calls are gone, and other files work.
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    MPI_File_set_errhandler(file, own);
    bool caught = false;
    try {
        MPI_File_write_all(file, &data, 1, MPI_INT, MPI_STATUS_IGNORE);
    } catch (const std::exception &) {
        caught = true;
    }
    if (!caught)
        wrong("a write to a file that is only read", "no exception");
    data = 0;
    MPI_File_read_at_all(file, 0, &data, 1, MPI_INT, MPI_STATUS_IGNORE);
    if (data % 100 != 0 || data == 0)
        wrong("the file that is only read", "other bytes");
    MPI_File_close(&file);
    MPI_Errhandler_free(&own);
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        std::printf(any ? "wrong\n" : "ok\n");
    MPI_Finalize();
    return any;
}
