/* A file of a session of MPI 4: of all its processes, without MPI_Init. */
#include "program.h"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)

enum { COUNT = 3000 };

static void write_and_read(MPI_Comm comm, const char *path)
{
    int written[COUNT], read[COUNT];
    MPI_Datatype view;
    MPI_File file;
    if (MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        if (rank == 0)
            printf("no files of sessions\n");
        return;
    }
    for (int i = 0; i < COUNT; i++)
        written[i] = value(rank, i);
    MUST(MPI_Type_vector(COUNT, 1, ranks, MPI_INT, &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_set_view(file, 4 * rank, MPI_INT, view, "native", MPI_INFO_NULL));
    MUST(MPI_File_write_all(file, written, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_sync(file));
    MUST(MPI_Barrier(comm));
    MUST(MPI_File_read_at_all(file, 0, read, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    TRUE(memcmp(read, written, sizeof read) == 0);
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&view));
    if (rank == 0)
        printf("%s: %d ranks\n", path, ranks);
}

int main(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    MUST(MPI_Comm_create_from_group(group, "tests", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    MUST(MPI_Comm_rank(comm, &rank));
    MUST(MPI_Comm_size(comm, &ranks));
    write_and_read(comm, "session");
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Session_finalize(&session));
    return 0;
}

#else

int main(int argc, char **argv)
{
    start(&argc, &argv);
    say("no files of sessions\n");
    finish();
    return 0;
}

#endif
