/* Half of the ranks write a file collectively and leave holes, the other half writes into the holes at the same time, each rank by
 * itself and without MPI: holes ROUNDS. When all have closed the file, nothing may be lost. Each rank prints in how many rounds something was. */
#include "program.h"

#include <fcntl.h>
#include <unistd.h>

enum { PIECE = 300, PIECES = 32, COUNT = PIECE * PIECES, TIMES = 2 };

static int written[COUNT], whole[2 * COUNT];

/* The first rank reads all, with calls of its own: the halves write pieces in turns, and of a half each rank its part. */
static int lost(int round, int half)
{
    FILE *file = fopen("holes", "r");
    int wrong = 0;
    /* Not what this host keeps of the round before. */
    TRUE(file && posix_fadvise(fileno(file), 0, 0, POSIX_FADV_DONTNEED) == 0);
    TRUE(fread(whole, sizeof(int), 2 * COUNT, file) == 2 * COUNT && fclose(file) == 0);
    for (int i = 0; i < 2 * COUNT; i++) {
        int piece = i / PIECE, of = piece % 2 * half + piece / 2 % half;
        wrong += whole[i] != value(of, i + round);
    }
    return wrong > 0;
}

int main(int argc, char **argv)
{
    int wrong = 0, half, second, plain;
    MPI_Comm mine;
    MPI_Datatype view;
    MPI_File file;
    start(&argc, &argv);
    TRUE(argc > 1 && ranks % 2 == 0);
    half = ranks / 2;
    second = rank >= half;
    TRUE(PIECES % half == 0);
    MUST(MPI_Comm_split(MPI_COMM_WORLD, second, 0, &mine));
    MUST(MPI_Type_vector(PIECES / half, PIECE, 2 * half * PIECE, MPI_INT, &view));
    MUST(MPI_Type_commit(&view));
    for (int round = 0; round < atoi(argv[1]); round++) {
        int first = (2 * (rank % half) + second) * PIECE, count = 0;
        for (int piece = 0; piece < PIECES / half; piece++)
            for (int i = 0; i < PIECE; i++)
                written[count++] = value(rank, first + piece * 2 * half * PIECE + i + round);
        /* The file is there before. */
        fill_file("holes", sizeof whole);
        if (second)
            TRUE((plain = open("holes", O_WRONLY)) >= 0);
        else
            MUST(MPI_File_open(mine, "holes", MPI_MODE_RDWR, MPI_INFO_NULL, &file));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        if (second) {
            for (int piece = 0; piece < PIECES / half; piece++) {
                long at = first + piece * 2L * half * PIECE, bytes = PIECE * sizeof(int);
                TRUE(pwrite(plain, written + piece * PIECE, bytes, at * sizeof(int)) == bytes);
            }
            TRUE(close(plain) == 0);
        } else {
            MUST(MPI_File_set_view(file, 4 * first, MPI_INT, view, "native", MPI_INFO_NULL));
            for (int time = 0; time < TIMES; time++)
                MUST(MPI_File_write_at_all(file, 0, written, count, MPI_INT, MPI_STATUS_IGNORE));
            MUST(MPI_File_close(&file));
        }
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        wrong += rank == 0 && lost(round, half);
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
    MUST(MPI_Type_free(&view));
    MUST(MPI_Comm_free(&mine));
    say("%d wrong\n", wrong);
    finish();
    return 0;
}
