/* A peer for `trib compare`: the lists of a pattern through the interface of GIO, the library below PnetCDF from 1.15 on.
 *
 * gio_peer --lists PREFIX --file PATH [--parts write,read] [--repeats N] [--budget SECONDS]
 *          [--write-hint KEY=VALUE]... [--read-hint KEY=VALUE]...
 *
 * One source for both engines: linked with libgio it is GIO's own, with libtributary_gio ours. From this folder:
 *
 * mpicc -O2 -o gio_peer gio_peer.c options.c lists.c plan.c payload.c usage.c record.c -I GIO/include GIO/lib/libgio.a -lm
 *
 * Every step of the lists is a GIO_write_all or a GIO_read_all. What is timed and printed is as in program.c; the arrays that
 * GIO takes are made before, as datatypes are there. */
#include "compare.h"
#include <fcntl.h>
#include <gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A list as GIO takes it. */
struct pairs {
    MPI_Offset count, *offsets, *lengths;
};

/* One call. */
struct transfer {
    struct pairs file, memory;
    long long bytes;
    size_t span; /* of the memory */
    char *data;
};

/* All calls. */
struct transfers {
    struct transfer *all;
    int count;
    long long bytes;
};

/* 0 or more: a number of bytes, or GIO_NOERR. */
static MPI_Offset fine(MPI_Offset code, const char *call)
{
    if (code < 0)
        stop(call, GIO_strerror((int)code), "a call that succeeds");
    return code;
}

static struct pairs make_pairs(struct list list)
{
    struct pairs pairs = {list.count, grab(list.count * sizeof(MPI_Offset)), grab(list.count * sizeof(MPI_Offset))};
    for (long long i = 0; i < list.count; i++) {
        pairs.offsets[i] = list.pairs[2 * i];
        pairs.lengths[i] = list.pairs[2 * i + 1];
    }
    free(list.pairs);
    return pairs;
}

/* One piece without gaps, or none. */
static struct pairs one_piece(long long bytes)
{
    struct list list = {bytes > 0, grab(2 * sizeof(long long))};
    list.pairs[0] = 0;
    list.pairs[1] = bytes;
    return make_pairs(list);
}

static long long sum(const struct pairs *pairs)
{
    long long bytes = 0;
    for (MPI_Offset i = 0; i < pairs->count; i++)
        bytes += pairs->lengths[i];
    return bytes;
}

static struct transfer read_transfer(int step)
{
    struct transfer transfer = {0};
    char name[4096];
    name_list(name, sizeof name, step, "file");
    transfer.file = make_pairs(read_list(name));
    transfer.bytes = sum(&transfer.file);
    name_list(name, sizeof name, step, "memory");
    struct list gaps = {0};
    if (access(name, R_OK) == 0)
        gaps = read_list(name);
    /* Of ranks without gaps the list of those that have some is empty. */
    if (gaps.count == 0) {
        free(gaps.pairs);
        transfer.memory = one_piece(transfer.bytes);
    } else
        transfer.memory = make_pairs(gaps);
    if (sum(&transfer.memory) != transfer.bytes)
        stop("list", name, "as many bytes as in the file");
    for (MPI_Offset i = 0; i < transfer.memory.count; i++) {
        size_t end = transfer.memory.offsets[i] + transfer.memory.lengths[i];
        transfer.span = end > transfer.span ? end : transfer.span;
    }
    transfer.data = grab(transfer.span);
    return transfer;
}

static struct transfers read_transfers(void)
{
    struct transfers transfers = {0};
    char name[4096];
    for (int step = 0; name_list(name, sizeof name, step, "file"), step == 0 || access(name, R_OK) == 0; step++) {
        transfers.all = realloc(transfers.all, (step + 1) * sizeof *transfers.all);
        if (!transfers.all)
            stop("memory", "steps", "less");
        transfers.all[step] = read_transfer(step);
        transfers.bytes += transfers.all[step].bytes;
        transfers.count = step + 1;
    }
    return transfers;
}

static void release_transfers(struct transfers *transfers)
{
    for (int i = 0; i < transfers->count; i++) {
        struct transfer *one = &transfers->all[i];
        free(one->file.offsets), free(one->file.lengths), free(one->memory.offsets), free(one->memory.lengths);
        free(one->data);
    }
    free(transfers->all);
}

/* Copies between memory and packed bytes. */
static void place(const struct transfer *transfer, char *packed, int pack)
{
    for (MPI_Offset i = 0; i < transfer->memory.count; i++) {
        char *piece = transfer->data + transfer->memory.offsets[i];
        memcpy(pack ? packed : piece, pack ? piece : packed, transfer->memory.lengths[i]);
        packed += transfer->memory.lengths[i];
    }
}

/* Before a write the bytes that are due, before a read others. */
static void fill_transfers(struct transfers *transfers, int reading)
{
    for (int i = 0; i < transfers->count; i++) {
        struct transfer *transfer = &transfers->all[i];
        memset(transfer->data, 0xaa, transfer->span);
        if (reading)
            continue;
        char *packed = grab(transfer->bytes);
        words(packed, transfer->bytes, i);
        place(transfer, packed, 0);
        free(packed);
    }
}

/* Whether all ranks have read the bytes that are due. */
static int all_right(const struct transfers *transfers)
{
    int right = 1, all;
    for (int i = 0; i < transfers->count; i++) {
        const struct transfer *transfer = &transfers->all[i];
        char *due = grab(transfer->bytes), *found = grab(transfer->bytes);
        words(due, transfer->bytes, i);
        place(transfer, found, 1);
        right = right && memcmp(due, found, transfer->bytes) == 0;
        free(due), free(found);
    }
    MUST(MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    return all;
}

static void move(GIO_File file, const struct transfer *t, int reading)
{
    MPI_Offset moved =
        reading ? fine(GIO_read_all(file, t->data, t->file.count, t->file.offsets, t->file.lengths, t->memory.count,
                                    t->memory.offsets, t->memory.lengths),
                       "GIO_read_all")
                : fine(GIO_write_all(file, t->data, t->file.count, t->file.offsets, t->file.lengths, t->memory.count,
                                     t->memory.offsets, t->memory.lengths),
                       "GIO_write_all");
    if (moved != t->bytes)
        stop(reading ? "GIO_read_all" : "GIO_write_all", "fewer or more bytes", "those of the lists");
}

static int repeat_once(int reading, struct record *record)
{
    struct transfers transfers = read_transfers();
    struct timed timed;
    double row[NUMBERS];
    GIO_File file;
    fill_transfers(&transfers, reading);
    if (rank == 0 && !reading)
        unlink(options.path);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    double begin = now();
    fine(GIO_open(MPI_COMM_WORLD, options.path, reading ? O_RDONLY : O_CREAT | O_RDWR,
                  reading ? options.sets[0].read : options.sets[0].write, &file),
         "GIO_open");
    row[OPEN] = now() - begin;
    begin_timed(&timed, reading);
    for (int i = 0; i < transfers.count; i++)
        move(file, &transfers.all[i], reading);
    end_timed(&timed, reading, row);
    begin = now();
    fine(GIO_close(&file), "GIO_close");
    row[CLOSE] = now() - begin;
    record->calls = transfers.count;
    record->bytes = transfers.bytes;
    record_row(record, row);
    int right = reading ? all_right(&transfers) : -1;
    release_transfers(&transfers);
    return right;
}

static void run(const char *part)
{
    if (strcmp(part, "write") && strcmp(part, "read"))
        stop("part", part, "write, read");
    repeat_part(part, repeat_once);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    options.pattern = "lists";
    parse(argc, argv);
    if (!options.lists || !options.path)
        stop("options", "not complete", "--lists PREFIX --file PATH");
    each_part(run);
    MPI_Finalize();
    return 0;
}
