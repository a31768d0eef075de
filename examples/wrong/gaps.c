/* Writes bytes of value 65, then, past the end of the file, bytes of value 7 with gaps between them. Nobody writes the gaps. In a new part of
 * a file the system has zeros there; other values are data that the program never wrote there.   gaps FILE */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { FIRST = 40000, SECOND = 1000, FROM = 1000000 };

int main(int argc, char **argv)
{
    int rank, ranks, is_wrong = 0;
    static char data[FIRST];
    MPI_File file;
    MPI_Datatype turns, pieces;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);

    /* Ranks take turns, 10 bytes each. */
    MPI_Type_vector(FIRST / 10, 10, 10 * ranks, MPI_BYTE, &turns);
    MPI_Type_commit(&turns);
    MPI_File_set_view(file, 10 * rank, MPI_BYTE, turns, "native", MPI_INFO_NULL);
    memset(data, 65, FIRST);
    MPI_File_write_at_all(file, 0, data, FIRST, MPI_BYTE, MPI_STATUS_IGNORE);

    /* One byte each, in every fourth place of the two. */
    MPI_Type_vector(SECOND, 1, 4 * ranks, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    MPI_File_set_view(file, FROM + 4 * rank, MPI_BYTE, pieces, "native", MPI_INFO_NULL);
    memset(data, 7, SECOND);
    MPI_File_write_at_all(file, 0, data, SECOND, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Type_free(&turns);
    MPI_Type_free(&pieces);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) {
        FILE *stream = fopen(argv[1], "r");
        fseek(stream, FROM, SEEK_SET);
        for (long at = 0; at < 4L * ranks * (SECOND - 1) && !is_wrong; at++) {
            int found = fgetc(stream), expected = at % 4 ? 0 : 7;
            is_wrong = found != expected;
            if (is_wrong)
                printf("wrong: byte %ld is %d, expected %d\n", FROM + at, found, expected);
        }
        fclose(stream);
        if (!is_wrong)
            puts("right");
    }
    MPI_Finalize();
    return is_wrong;
}
