/* sieve_beside FILE ROUNDS HOW PIECE HOLE PIECES [multiple]: odd ranks write their pieces by a collective call in which even ranks have no bytes. Even
 * ranks write the holes between these pieces by independent strided writes. No byte is written twice, so the accesses do not conflict, and every byte must
 * be in the file (MPI 4.1, section 14.6.1). An MPI library may write a strided access by data sieving: it reads a range of the file, replaces the pieces and
 * writes the range back. DS_WRITE is the hint romio_ds_write of the file of all ranks. HOW says when the even ranks write, and with which function:
 *   iwrite, split   while the collective call is in flight
 *   pointer, nonblocking, shared   likewise, by MPI_File_write, MPI_File_iwrite_at, MPI_File_write_shared (two ranks: the pointer is one rank's)
 *   ordered         all ranks by MPI_File_write_ordered while a call is in flight, odd ranks without bytes
 *   handle          likewise, through a handle of their own (MPI_COMM_SELF)
 *   alone           every rank through such a handle, none in a call of all ranks: odd ranks by a collective call of one rank
 *   apart           as `alone`, but even ranks write through the handle of all ranks
 *   apart_read      as `apart`, and every odd rank reads first
 *   mixed           no call of all ranks: even ranks write by MPI_File_write_at, odd ranks by MPI_File_iwrite_at
 *   before          before they enter the blocking call, which the odd ranks are in already
 *   before_iwrite   before they start the non-blocking call
 *   after_ordered   as `before`, but by MPI_File_write_ordered of all ranks, from which odd ranks may return earlier */
#include <mpi.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IS(text) (strcmp(how, text) == 0)

int main(int argc, char **argv)
{
    int rank, ranks, level, lost = 0;
    const char *name = argv[1], *how = argv[3];
    int rounds = atoi(argv[2]), piece = atoi(argv[4]), hole = atoi(argv[5]), pieces = atoi(argv[6]);
    MPI_Init_thread(&argc, &argv, argc > 7 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int odd = rank % 2, pair = rank / 2;
    long step = (piece + hole) * (long)(ranks / 2), size = step * pieces;
    int len = odd ? piece : hole, mine = len * pieces;
    char *own = malloc(mine);
    unsigned char *all = malloc(size);
    MPI_Datatype strided;
    MPI_Type_create_hvector(pieces, len, step, MPI_BYTE, &strided);
    MPI_Type_commit(&strided);
    MPI_Offset start = (MPI_Offset)(piece + hole) * pair + (odd ? 0 : piece);
    MPI_File file, beside;
    MPI_Info info = MPI_INFO_NULL;
    if (getenv("DS_WRITE")) MPI_Info_create(&info), MPI_Info_set(info, "romio_ds_write", getenv("DS_WRITE"));
    if (rank == 0 && strncmp(name, "nfs/", 4) == 0) mkdir("nfs", 0755);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_File_set_view(file, start, MPI_BYTE, strided, "native", MPI_INFO_NULL);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &beside);
    MPI_File_set_view(beside, start, MPI_BYTE, strided, "native", MPI_INFO_NULL);
    for (int round = 0; round < rounds; round++) {
        MPI_Request request = MPI_REQUEST_NULL, other = MPI_REQUEST_NULL;
        MPI_Status status;
        memset(own, 1 + (rank * 50 + round) % 250, mine);
        MPI_File_seek(file, 0, MPI_SEEK_SET);
        MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
        MPI_Barrier(MPI_COMM_WORLD);
        int count = odd ? mine : 0, splits = IS("split"), starts = !splits && !IS("alone") && strncmp(how, "apart", 5) && !IS("mixed") && !IS("before") && !IS("before_iwrite") && !IS("after_ordered");
        if (starts) MPI_File_iwrite_at_all(file, 0, own, count, MPI_BYTE, &request);
        if (splits) MPI_File_write_at_all_begin(file, 0, own, count, MPI_BYTE);
        if (IS("ordered") || IS("after_ordered")) MPI_File_write_ordered(file, own, odd ? 0 : mine, MPI_BYTE, &status);
        else if (!odd) {
            if (IS("pointer")) MPI_File_write(file, own, mine, MPI_BYTE, &status);
            else if (IS("shared")) MPI_File_write_shared(file, own, mine, MPI_BYTE, &status);
            else if (IS("nonblocking")) MPI_File_iwrite_at(file, 0, own, mine, MPI_BYTE, &other);
            else if (IS("handle") || IS("alone")) MPI_File_write_at(beside, 0, own, mine, MPI_BYTE, &status);
            else MPI_File_write_at(file, 0, own, mine, MPI_BYTE, &status);
        }
        if (odd && IS("apart_read")) MPI_File_read_at_all(beside, 0, own, mine, MPI_BYTE, &status), memset(own, 1 + (rank * 50 + round) % 250, mine);
        if (odd && IS("mixed")) MPI_File_iwrite_at(file, 0, own, mine, MPI_BYTE, &other);
        if (odd && (IS("alone") || !strncmp(how, "apart", 5))) MPI_File_write_at_all(beside, 0, own, mine, MPI_BYTE, &status);
        if (IS("before") || IS("after_ordered")) MPI_File_write_at_all(file, 0, own, count, MPI_BYTE, &status);
        if (IS("before_iwrite")) MPI_File_iwrite_at_all(file, 0, own, count, MPI_BYTE, &request);
        if (splits) MPI_File_write_at_all_end(file, own, &status);
        MPI_Wait(&other, &status);
        MPI_Wait(&request, &status);
        MPI_File_sync(file);
        MPI_File_sync(beside);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            int fd = open(strncmp(name, "nfs:", 4) ? name : name + 4, O_RDONLY);
            long bad = pread(fd, all, size, 0) != size;
            close(fd);
            for (long at = 0; at < size; at++) {
                long in = at % step % (piece + hole);
                int writer = at % step / (piece + hole) * 2 + (in < piece);
                bad += all[at] != 1 + (writer * 50 + round) % 250;
            }
            lost += bad != 0;
            if (bad && lost < 3) printf("round %d: %ld of %ld bytes are wrong\n", round, bad, size);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_close(&beside);
    MPI_File_close(&file);
    MPI_Type_free(&strided);
    if (rank == 0 && lost) printf("bytes were lost in %d of %d rounds\n", lost, rounds);
    if (rank == 0 && !lost) printf("ok\n");
    MPI_Finalize();
    return 0;
}
