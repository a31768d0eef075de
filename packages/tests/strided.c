/* Every rank writes every so-many-th integer of a file in one collective call, reads them back and compares: strided PATH. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000 };

int main(int argc, char **argv)
{
    int rank, ranks, wrong = 0, all_wrong, written[COUNT], read[COUNT];
    MPI_File file;
    MPI_Datatype view;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < COUNT; i++) {
        written[i] = i * ranks + rank;
        read[i] = -1;
    }
    MPI_Type_vector(COUNT, 1, ranks, MPI_INT, &view);
    MPI_Type_commit(&view);
    if (argc != 2 || MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file))
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_File_set_view(file, (MPI_Offset)sizeof(int) * rank, MPI_INT, view, "native", MPI_INFO_NULL);
    wrong += MPI_File_write_all(file, written, COUNT, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    wrong += MPI_File_read_at_all(file, 0, read, COUNT, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    for (int i = 0; i < COUNT; i++)
        wrong += read[i] != written[i];
    wrong += MPI_File_close(&file) != MPI_SUCCESS;
    MPI_Type_free(&view);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d wrong of %d\n", all_wrong, COUNT * ranks);
    MPI_Finalize();
    return all_wrong != 0;
}
