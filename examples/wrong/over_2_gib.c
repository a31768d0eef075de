/* Writes 2 GiB and 1 MiB by one rank in one collective call, through aggregators. Most of the memory is never touched, so it takes no space,
 * but the file does, until the end of the program.   over_2_gib FILE */
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>

static const long MIB = 1L << 20, BYTES = (2L << 30) + (1L << 20);

int main(int argc, char **argv)
{
    int rank, error, is_wrong = 0;
    long places[] = {0, (1L << 20) + 5, (2L << 30) - 1, 2L << 30, BYTES - 1};
    MPI_File file;
    MPI_Info info;
    MPI_Datatype mebibyte;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (int i = 0; i < 5; i++)
        data[places[i]] = i + 1;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_Type_contiguous(MIB, MPI_BYTE, &mebibyte);
    MPI_Type_commit(&mebibyte);
    error = MPI_File_write_at_all(file, 0, data, rank == 0 ? BYTES / MIB : 0, mebibyte, MPI_STATUS_IGNORE);
    MPI_Type_free(&mebibyte);
    MPI_Info_free(&info);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) {
        FILE *stream = fopen(argv[1], "r");
        if (error != MPI_SUCCESS)
            puts("wrong: the write fails");
        is_wrong = error != MPI_SUCCESS;
        for (int i = 0; i < 5 && !is_wrong; i++) {
            fseek(stream, places[i], SEEK_SET);
            int found = fgetc(stream);
            is_wrong = found != i + 1;
            if (is_wrong)
                printf("wrong: byte %ld is %d, expected %d\n", places[i], found, i + 1);
        }
        fclose(stream);
        remove(argv[1]);
        if (!is_wrong)
            puts("right");
    }
    MPI_Finalize();
    return is_wrong;
}
