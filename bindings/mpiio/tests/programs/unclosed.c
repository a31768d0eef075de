/* Writes the file "small" collectively and does not close it: unclosed END. The program ends by MPI_Finalize (END is finalize) or by
 * exit; or (fork) a child ends by exit while bytes may be buffered, and the file is closed then. */
#include "program.h"

#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 500 };

int main(int argc, char **argv)
{
    static int written[COUNT];
    MPI_Datatype view;
    MPI_File file;
    start(&argc, &argv);
    TRUE(argc > 1);
    for (int i = 0; i < COUNT; i++)
        written[i] = value(rank, i);
    MUST(MPI_Type_vector(COUNT, 1, ranks, MPI_INT, &view));
    MUST(MPI_Type_commit(&view));
    MUST(MPI_File_open(MPI_COMM_WORLD, "small", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 4 * rank, MPI_INT, view, "native", MPI_INFO_NULL));
    MUST(MPI_File_write_all(file, written, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    if (!strcmp(argv[1], "exit"))
        exit(0);
    if (!strcmp(argv[1], "fork")) {
        int status;
        pid_t child = fork();
        TRUE(child >= 0);
        if (child == 0)
            exit(7);
        TRUE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
        MUST(MPI_File_close(&file));
    }
    MUST(MPI_Finalize());
    return 0;
}
