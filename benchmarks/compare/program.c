/* The program of `trib compare`: runs one access pattern through MPI-IO, times it, and checks what it reads.
 *
 * program --pattern NAME --file PATH [--value N]... [--lists PREFIX] [--parts about,write,read,floor-write,floor-read]
 *         [--repeats N] [--budget SECONDS] [--write-hint KEY=VALUE]... [--read-hint KEY=VALUE]...
 *         [--set NAME [--write-hint KEY=VALUE]... [--read-hint KEY=VALUE]...]...
 *
 * With --set, all parts are run with each set of hints in alternation. Rank 0 prints a line of JSON for every part, with the
 * maximum and the sum over ranks for every repetition. */
#include "compare.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static MPI_File open_file(const char *path, int reading)
{
    MPI_File file;
    int mode = reading ? MPI_MODE_RDONLY : MPI_MODE_CREATE | MPI_MODE_RDWR;
    MUST(MPI_File_open(MPI_COMM_WORLD, (char *)path, mode, reading ? options.sets[options.set].read : options.sets[options.set].write, &file));
    return file;
}

static void move(MPI_File file, const struct step *step, int reading)
{
    MPI_Status status;
    if (step->offset < 0 && reading)
        MUST(MPI_File_read_all(file, step->data, step->count, step->memory, &status));
    else if (step->offset < 0)
        MUST(MPI_File_write_all(file, step->data, step->count, step->memory, &status));
    else if (reading)
        MUST(MPI_File_read_at_all(file, step->offset, step->data, step->count, step->memory, &status));
    else
        MUST(MPI_File_write_at_all(file, step->offset, step->data, step->count, step->memory, &status));
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

/* Runs a step, which is timed. */
static void run_step(MPI_File file, const struct step *step, int reading, const char *second)
{
    if (step->view != MPI_DATATYPE_NULL)
        MUST(MPI_File_set_view(file, step->displacement, MPI_BYTE, step->view, "native", MPI_INFO_NULL));
    if (step->kind == TRANSFER)
        move(file, step, reading);
    else if (step->kind == OVERLAP)
        move_and_compute(file, step, reading);
    else if (step->kind == SYNC)
        MUST(MPI_File_sync(file));
    else if (step->kind == OPEN_CLOSE || step->kind == OPEN_MOVE_CLOSE) {
        MPI_File other = open_file(second, reading);
        if (step->kind == OPEN_MOVE_CLOSE)
            move(other, step, reading);
        MUST(MPI_File_close(&other));
    }
}

/* Creates the file, empty or filled. */
static void prepare_file(const struct plan *plan)
{
    if (rank == 0) {
        unlink(options.path);
        FILE *file = plan->fills ? fopen(options.path, "w") : NULL;
        if (plan->fills && !file)
            stop("file", options.path, "a file that can be created");
        for (long long at = 0; file && at < plan->fill_bytes; at++)
            putc('Z', file);
        if (file)
            fclose(file);
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* One repetition, timed. */
static int repeat_once(int reading, struct record *record)
{
    struct plan plan = {0};
    struct timed timed;
    double row[NUMBERS];
    char second[4096];
    int right = -1;
    snprintf(second, sizeof second, "%s.second", options.path);
    make_plan(&plan);
    give_memory(&plan);
    reading ? clear(&plan) : fill(&plan);
    if (!reading)
        prepare_file(&plan);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    double begin = now();
    MPI_File file = open_file(options.path, reading);
    row[OPEN] = now() - begin;
    begin_timed(&timed, reading);
    for (int i = 0; i < plan.count; i++)
        run_step(file, &plan.steps[i], reading, second);
    end_timed(&timed, reading, row);
    begin = now();
    MUST(MPI_File_close(&file));
    row[CLOSE] = now() - begin;
    record->calls = plan.count;
    record->bytes = bytes_of_rank(&plan);
    record_row(record, row);
    if (reading && has_data(&plan))
        right = is_right(&plan);
    release(&plan);
    return right;
}

/* Which MPI this is. */
static void about(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MUST(MPI_Get_library_version(text, &length));
    for (char *c = text; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            *c = *c == '\n' ? '|' : ' ';
    if (rank == 0)
        printf("{\"part\": \"about\", \"ranks\": %d, \"library\": \"%s\"}\n", ranks, text);
}

static void run(const char *part)
{
    if (!strcmp(part, "write") || !strcmp(part, "read"))
        repeat_part(part, repeat_once);
    else if (!strcmp(part, "floor-write") || !strcmp(part, "floor-read"))
        measure_floor(!strcmp(part, "floor-read"));
    else if (!strcmp(part, "about"))
        about();
    else
        stop("part", part, "about, write, read, floor-write, floor-read");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    parse(argc, argv);
    if (!options.pattern || !options.path)
        stop("options", "not complete", "--pattern NAME --file PATH");
    for (options.set = 0; options.set < options.set_count; options.set++)
        each_part(run);
    MPI_Finalize();
    return 0;
}
