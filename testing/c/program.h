/* What the test programs share: text of all ranks that comes out in the order of ranks, calls that must succeed, names for
 * error classes, and values that tell which rank wrote them where. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static char said[1 << 16];
static size_t said_length;

/* Adds to what this rank prints at the end. */
__attribute__((format(printf, 1, 2), unused)) static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    said_length += vsnprintf(said + said_length, sizeof said - said_length, format, arguments);
    va_end(arguments);
    if (said_length >= sizeof said) {
        fprintf(stderr, "rank %d has too much to say\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static void must(int code, const char *call, int line)
{
    char text[MPI_MAX_ERROR_STRING] = "false";
    int length;
    if (code == MPI_SUCCESS)
        return;
    if (code > 0)
        MPI_Error_string(code, text, &length);
    fprintf(stderr, "rank %d, line %d: %s: %s\n", rank, line, call, text);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* An MPI call that must succeed. */
#define MUST(call) must((call), #call, __LINE__)
/* A condition that must hold. */
#define TRUE(condition) must((condition) ? MPI_SUCCESS : -1, #condition, __LINE__)

/* The error class of a code, by its name in the standard. */
__attribute__((unused)) static const char *class_of(int code)
{
    static const struct {
        int class;
        const char *name;
    } names[] = {
#define NAME(x) {MPI_##x, #x}
        NAME(SUCCESS), NAME(ERR_ACCESS), NAME(ERR_AMODE), NAME(ERR_ARG), NAME(ERR_BAD_FILE), NAME(ERR_COUNT),
        NAME(ERR_FILE), NAME(ERR_FILE_EXISTS), NAME(ERR_FILE_IN_USE), NAME(ERR_IN_STATUS), NAME(ERR_IO), NAME(ERR_NO_MEM), NAME(ERR_NO_SPACE),
        NAME(ERR_NO_SUCH_FILE), NAME(ERR_OTHER), NAME(ERR_QUOTA), NAME(ERR_READ_ONLY), NAME(ERR_TYPE),
        NAME(ERR_UNSUPPORTED_OPERATION), NAME(ERR_UNSUPPORTED_DATAREP), NAME(ERR_INTERN), NAME(ERR_UNKNOWN),
#undef NAME
    };
    int class;
    MPI_Error_class(code, &class);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].class == class)
            return names[i].name;
    return "another class";
}

/* The bytes that a status tells. */
__attribute__((unused)) static long long bytes_of(MPI_Status *status)
{
    MPI_Count bytes;
    MUST(MPI_Get_elements_x(status, MPI_BYTE, &bytes));
    return bytes;
}

/* What `of` writes as its element `index`: never 0, so that a hole differs. */
__attribute__((unused)) static int value(int of, long index)
{
    return 1 + of + 1000 * (int)(index % 1000000);
}

__attribute__((unused)) static void start(int *argc, char ***argv)
{
    MUST(MPI_Init(argc, argv));
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
}

/* A file that holds `bytes` bytes which are nobody's: what MPI libraries write into holes of a new file is not the same twice.
 * Collective. */
__attribute__((unused)) static void fill_file(const char *path, long bytes)
{
    if (rank == 0) {
        FILE *file = fopen(path, "w");
        TRUE(file);
        for (long i = 0; i < bytes; i++)
            putc(0xa5, file);
        TRUE(fclose(file) == 0);
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* After it every rank reads what any has written: OMPIO of 4.1 reads old bytes without, also a rank's own. Collective. */
__attribute__((unused)) static void settle(MPI_File file)
{
    MUST(MPI_File_sync(file));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_sync(file));
}

/* Prints what the ranks said, in their order, and ends MPI. */
__attribute__((unused)) static void finish(void)
{
    static char line[sizeof said];
    for (int of = 0; of < ranks; of++) {
        if (rank == 0) {
            if (of > 0)
                MUST(MPI_Recv(line, sizeof line, MPI_CHAR, of, 999, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            printf("rank %d\n%s", of, of == 0 ? said : line);
        } else if (rank == of) {
            MUST(MPI_Send(said, said_length + 1, MPI_CHAR, 0, 999, MPI_COMM_WORLD));
        }
    }
    MUST(MPI_Finalize());
}

#endif
