/* One step of a plan: what is timed. */
#include "compare.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

MPI_File open_file(const char *path, int reading)
{
    MPI_File file;
    int mode = reading ? MPI_MODE_RDONLY : MPI_MODE_CREATE | MPI_MODE_RDWR;
    struct hints *hints = &options.sets[options.set];
    MUST(MPI_File_open(MPI_COMM_WORLD, (char *)path, mode, reading ? hints->read : hints->write, &file));
    return file;
}

/* Whether the hints say that no rank writes by itself. Then PnetCDF has all ranks join where rank 0 writes the header. */
static int is_collective_only(int reading)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0;
    MPI_Info hints = reading ? options.sets[options.set].read : options.sets[options.set].write;
    if (hints != MPI_INFO_NULL)
        MUST(MPI_Info_get(hints, "romio_no_indep_rw", MPI_MAX_INFO_VAL, value, &found));
    return found && !strcmp(value, "true");
}

void move_header(MPI_File file, const struct plan *plan, int reading)
{
    int collective = is_collective_only(reading), count = rank == 0 ? (int)plan->header : 0;
    MPI_Status status;
    if (plan->header == 0 || (!collective && rank != 0))
        return;
    char *header = grab(count);
    memset(header, 'H', count);
    if (reading)
        MUST((collective ? MPI_File_read_at_all : MPI_File_read_at)(file, 0, header, count, MPI_BYTE, &status));
    else
        MUST((collective ? MPI_File_write_at_all : MPI_File_write_at)(file, 0, header, count, MPI_BYTE, &status));
    free(header);
}

static void move(MPI_File file, const struct step *step, char *data, int count, MPI_Datatype memory, int reading)
{
    MPI_Status status;
    if (step->offset < 0 && reading)
        MUST(MPI_File_read_all(file, data, count, memory, &status));
    else if (step->offset < 0)
        MUST(MPI_File_write_all(file, data, count, memory, &status));
    else if (reading)
        MUST(MPI_File_read_at_all(file, step->offset, data, count, memory, &status));
    else
        MUST(MPI_File_write_at_all(file, step->offset, data, count, memory, &status));
}

/* Packs before a write, unpacks after a read: both belong to what a program waits for. */
static void pack_and_move(MPI_File file, const struct step *step, int reading)
{
    int bytes = (int)step->bytes, at = 0;
    char *packed = grab(bytes);
    if (!reading)
        MUST(MPI_Pack(step->data, step->count, step->memory, packed, bytes, &at, MPI_COMM_SELF));
    move(file, step, packed, bytes, MPI_BYTE, reading);
    if (reading)
        MUST(MPI_Unpack(packed, bytes, &at, step->data, step->count, step->memory, MPI_COMM_SELF));
    free(packed);
}

/* Where NetCDF's header has the number of records, and its bytes. */
enum { RECORDS_AT = 4, RECORDS_BYTES = 8 };

static void transfer(MPI_File file, const struct step *step, int reading)
{
    if (step->packs && step->memory != MPI_BYTE)
        pack_and_move(file, step, reading);
    else
        move(file, step, step->data, step->count, step->memory, reading);
    if (step->counts_records && !reading && rank == 0) {
        char records[RECORDS_BYTES] = {0};
        MPI_Status status;
        records[RECORDS_BYTES - 1] = (char)(step->stamp + 1);
        MUST(MPI_File_write_at(file, RECORDS_AT, records, RECORDS_BYTES, MPI_BYTE, &status));
    }
}

/* How often a computing rank tests its call. */
#define LOOK_SECONDS 50e-6

/* The rank computes and tests its call now and then, as single-threaded programs do. */
static void move_and_compute(MPI_File file, const struct step *step, int reading)
{
    MPI_Request request;
    MPI_Status status;
    int done = 0;
    if (reading)
        MUST(MPI_File_iread_at_all(file, step->offset, step->data, step->count, step->memory, &request));
    else
        MUST(MPI_File_iwrite_at_all(file, step->offset, step->data, step->count, step->memory, &request));
    double begin = now(), end = begin + step->micros * 1e-6;
    for (double look = begin; now() < end;)
        if (!done && now() > look) {
            MUST(MPI_Test(&request, &done, &status));
            look = now() + LOOK_SECONDS;
        }
    if (!done)
        MUST(MPI_Wait(&request, &status));
}

/* Opens a second file, moves data if it is asked for, closes it; returns the seconds of the move alone, or of all. */
static double with_second(const struct step *step, int reading, const char *second)
{
    double begin = now(), moved = 0;
    MPI_File other = open_file(second, reading);
    if (step->kind == FIRST_MOVE)
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (step->kind != OPEN_CLOSE) {
        moved = now();
        transfer(other, step, reading);
        moved = now() - moved;
    }
    MUST(MPI_File_close(&other));
    return step->kind == FIRST_MOVE ? moved : now() - begin;
}

double run_step(MPI_File file, const struct step *step, int reading, const char *second)
{
    double begin = now();
    if (step->view != MPI_DATATYPE_NULL)
        MUST(MPI_File_set_view(file, step->displacement, MPI_BYTE, step->view, "native", MPI_INFO_NULL));
    switch (step->kind) {
    case TRANSFER:
        transfer(file, step, reading);
        break;
    case OVERLAP:
        move_and_compute(file, step, reading);
        break;
    case SYNC:
        MUST(MPI_File_sync(file));
        break;
    case SET_VIEW:
        break;
    default:
        return with_second(step, reading, second);
    }
    return now() - begin;
}
