/* A rank without memory: memory PATH RANK. This rank may have no more memory than it has while all write; then it may again.
 * Every rank says what the calls returned. */
#include "program.h"

#include <sys/resource.h>
#include <unistd.h>

enum { COUNT = 2 << 20, PIECES = 64 }; /* 8 MiB a rank */

/* The bytes of address space that this process has now. */
static rlim_t size_of_process(void)
{
    long pages;
    FILE *file = fopen("/proc/self/statm", "r");
    TRUE(file && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    return (rlim_t)pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
    int *data = malloc(2 * COUNT * sizeof *data);
    MPI_File file;
    MPI_Datatype view, memory;
    struct rlimit before, limit;
    start(&argc, &argv);
    for (int i = 0; i < 2 * COUNT; i++)
        data[i] = value(rank, i);
    MUST(MPI_Type_vector(PIECES, COUNT / PIECES, ranks * (COUNT / PIECES), MPI_INT, &view));
    MUST(MPI_Type_commit(&view));
    /* With gaps, so that a rank needs memory for what it sends. */
    MUST(MPI_Type_vector(PIECES, COUNT / PIECES, 2 * (COUNT / PIECES), MPI_INT, &memory));
    MUST(MPI_Type_commit(&memory));
    MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 4 * (MPI_Offset)rank * (COUNT / PIECES), MPI_INT, view, "native", MPI_INFO_NULL));
    /* The engine opens the file, and MPI its connections. */
    say("small: %s\n", class_of(MPI_File_write_at_all(file, 0, data, 100, MPI_INT, MPI_STATUS_IGNORE)));
    TRUE(getrlimit(RLIMIT_AS, &before) == 0);
    limit = before;
    limit.rlim_cur = size_of_process() + (1 << 20);
    if (rank == atoi(argv[2]))
        TRUE(setrlimit(RLIMIT_AS, &limit) == 0);
    say("without memory: %s\n", class_of(MPI_File_write_at_all(file, 0, data, 1, memory, MPI_STATUS_IGNORE)));
    TRUE(setrlimit(RLIMIT_AS, &before) == 0);
    say("with memory: %s\n", class_of(MPI_File_write_at_all(file, 0, data, 1, memory, MPI_STATUS_IGNORE)));
    say("close: %s\n", class_of(MPI_File_close(&file)));
    MUST(MPI_Type_free(&view));
    MUST(MPI_Type_free(&memory));
    free(data);
    finish();
    return 0;
}
