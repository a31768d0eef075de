/* Lists of every kind, collective and independent, written and read back; the file is compared byte for byte. */
#include "check.h"

enum { ROWS = 37, PIECE = 17, GAP = 5 };

/* The byte that belongs at an offset of the file. */
static unsigned char byte_at(MPI_Offset offset) {
    return (unsigned char)(offset * 7 + offset / 251 + 1);
}

/* The whole file, as rank 0 reads it alone; the same on all ranks. */
static void compare(GIO_File fh, MPI_Offset from, MPI_Offset to, const char *written) {
    MPI_Offset zero = 0, len = to - from;
    unsigned char *all = malloc((size_t)len);
    MPI_Barrier(MPI_COMM_WORLD);
    IS(GIO_read(fh, all, 1, &from, &len, 1, &zero, &len), len);
    for (MPI_Offset i = 0; i < len; i++)
        IS(all[i], written[i] ? byte_at(from + i) : 0);
    free(all);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Pieces of 17 bytes dealt to the ranks in turn; memory in reverse order, with gaps, from its middle on. */
static void dealt(GIO_File fh, int everybody) {
    MPI_Offset file_offs[ROWS], file_lens[ROWS], buf_offs[ROWS], buf_lens[ROWS];
    const int room = ROWS * (PIECE + GAP), middle = room / 2;
    unsigned char *buf = malloc((size_t)room), *back = malloc((size_t)room);
    const int have = everybody || rank % 2 == 0 ? ROWS : 0;
    memset(buf, 0xee, (size_t)room);
    memset(back, 0xee, (size_t)room);
    for (int i = 0; i < ROWS; i++) {
        const int at = (ROWS - 1 - i) * (PIECE + GAP);
        file_offs[i] = (MPI_Offset)(i * ranks + rank) * PIECE;
        buf_offs[i] = at - middle;
        file_lens[i] = buf_lens[i] = PIECE;
        for (int k = 0; k < PIECE; k++)
            buf[at + k] = byte_at(file_offs[i] + k);
    }
    IS(GIO_write_all(fh, buf + middle, have, file_offs, file_lens, have, buf_offs, buf_lens), have * PIECE);
    IS(GIO_read_all(fh, back + middle, have, file_offs, file_lens, have, buf_offs, buf_lens), have * PIECE);
    IS(memcmp(buf, back, (size_t)room), have ? 0 : memcmp(buf, back, (size_t)room));
    for (int i = 0; i < room && !have; i++)
        IS(back[i], 0xee);
    free(buf);
    free(back);
}

int main(int argc, char **argv) {
    GIO_File fh, other;
    MPI_Offset size, zero = 0, offset, length;
    MPI_Offset npairs, *offs, *lens;
    start(&argc, &argv);
    const char *path = argv[1];
    const MPI_Offset all = (MPI_Offset)ROWS * ranks * PIECE;
    char *written = calloc((size_t)all, 1);

    OK(GIO_open(MPI_COMM_WORLD, path, O_CREAT | O_RDWR, MPI_INFO_NULL, &fh));
    OK(GIO_get_size(fh, &size));
    IS(size, 0);
    /* Nobody has anything. */
    IS(GIO_write_all(fh, NULL, 0, NULL, NULL, 0, NULL, NULL), 0);
    IS(GIO_read_all(fh, NULL, 0, NULL, NULL, 0, NULL, NULL), 0);
    IS(GIO_write(fh, NULL, 0, NULL, NULL, 0, NULL, NULL), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(GIO_set_size(fh, all));
    /* Every other rank, so that there are holes. */
    dealt(fh, 0);
    for (MPI_Offset i = 0; i < all; i++)
        written[i] = (i / PIECE) % ranks % 2 == 0;
    compare(fh, 0, all, written);
    dealt(fh, 1);
    memset(written, 1, (size_t)all);
    compare(fh, 0, all, written);
    OK(GIO_sync(fh));

    /* Many pieces of one rank alone, in a part of the file of its own, between which others write at the same time. */
    {
        enum { MANY = 500 };
        MPI_Offset file_offs[MANY], lengths[MANY], buf_offs[MANY];
        unsigned char buf[2 * MANY], back[2 * MANY];
        memset(back, 0xee, sizeof back);
        for (int i = 0; i < MANY; i++) {
            file_offs[i] = all + (MPI_Offset)i * ranks + rank;
            lengths[i] = 1;
            buf_offs[i] = 2 * i;
            buf[2 * i] = byte_at(file_offs[i]);
            buf[2 * i + 1] = 0xee;
        }
        IS(GIO_write(fh, buf, MANY, file_offs, lengths, MANY, buf_offs, lengths), MANY);
        IS(GIO_read(fh, back, MANY, file_offs, lengths, MANY, buf_offs, lengths), MANY);
        IS(memcmp(buf, back, sizeof buf), 0);
        MPI_Barrier(MPI_COMM_WORLD);
        written = realloc(written, (size_t)all + MANY * (size_t)ranks);
        memset(written, 1, (size_t)all + MANY * (size_t)ranks);
        OK(GIO_get_size(fh, &size));
        IS(size, all + MANY * ranks);
        compare(fh, 0, size, written);
    }

    /* A read that goes beyond the end: what the file has, and no more. */
    offset = size - 10;
    length = 30;
    {
        unsigned char back[30];
        memset(back, 0xee, sizeof back);
        IS(GIO_read(fh, back, 1, &offset, &length, 1, &zero, &length), 10);
        IS(back[9], byte_at(size - 1));
        IS(back[10], 0xee);
        IS(GIO_read_all(fh, back, 1, &offset, &length, 1, &zero, &length), 10);
        IS(back[10], 0xee);
    }

    /* The same file, opened by one rank for itself, as PnetCDF does. */
    OK(GIO_open(MPI_COMM_SELF, path, O_RDONLY, MPI_INFO_NULL, &other));
    OK(GIO_get_size(other, &size));
    IS(GIO_sync(other), GIO_NOERR);
    OK(GIO_close(&other));
    MPI_Barrier(MPI_COMM_WORLD);

    OK(GIO_set_size(fh, 100));
    OK(GIO_get_size(fh, &size));
    IS(size, 100);
    OK(GIO_close(&fh));
    IS(fh == GIO_FILE_NULL, 1);

    /* A subarray of three dimensions, both sides of it. */
    {
        int sizes[3] = {4, 6, 5 * ranks}, part[3] = {4, 3, 5}, from[3] = {0, 2, 5 * rank};
        unsigned char buf[60], back[60];
        OK(GIO_flatten_subarray(3, 1, 1000, sizes, part, from, &npairs, &offs, &lens));
        IS(npairs, 12);
        for (int i = 0; i < 60; i++)
            buf[i] = byte_at(offs[i / 5] + i % 5);
        length = 60;
        OK(GIO_open(MPI_COMM_WORLD, path, O_RDWR, MPI_INFO_NULL, &fh));
        IS(GIO_write_all(fh, buf, npairs, offs, lens, 1, &zero, &length), 60);
        IS(GIO_read_all(fh, back, npairs, offs, lens, 1, &zero, &length), 60);
        IS(memcmp(buf, back, 60), 0);
        OK(GIO_close(&fh));
        free(offs);
        free(lens);
    }

    if (rank == 0)
        OK(GIO_delete(path));
    MPI_Barrier(MPI_COMM_WORLD);
    IS(GIO_open(MPI_COMM_WORLD, path, O_RDWR, MPI_INFO_NULL, &fh), GIO_ENOENT);
    free(written);
    return finish();
}
