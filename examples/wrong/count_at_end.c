/* Reads past the end of the file, collectively and by a view with gaps. The file has 150 bytes; the view has every second byte of them, so
 * 75 bytes of the 100 that the call asks for. MPI 4.1, 14.4.1: the status has the number of bytes that were read.   count_at_end FILE */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 150, ASKED = 100, THERE = 75 };

int main(int argc, char **argv)
{
    int rank, count, is_wrong = 0;
    char buffer[BYTES];
    MPI_File file;
    MPI_Datatype every_second;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    memset(buffer, 7, BYTES);
    MPI_File_write_at_all(file, 0, buffer, rank == 0 ? BYTES : 0, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);

    MPI_Type_vector(ASKED, 1, 2, MPI_BYTE, &every_second);
    MPI_Type_commit(&every_second);
    MPI_File_set_view(file, 0, MPI_BYTE, every_second, "native", MPI_INFO_NULL);
    memset(buffer, 9, BYTES);
    MPI_File_read_at_all(file, 0, buffer, ASKED, MPI_BYTE, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    MPI_Type_free(&every_second);
    MPI_File_close(&file);

    if (rank == 0) {
        int at = 0;
        while (at < BYTES && buffer[at] == (at < THERE ? 7 : 9))
            at++;
        if (count != THERE)
            printf("wrong: the count is %d, expected %d; ", count, THERE);
        if (at < BYTES)
            printf("%sbyte %d of memory is %d, expected %d", count == THERE ? "wrong: " : "", at, buffer[at], at < THERE ? 7 : 9);
        is_wrong = count != THERE || at < BYTES;
        puts(is_wrong ? "" : "right");
    }
    MPI_Finalize();
    return is_wrong;
}
