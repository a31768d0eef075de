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

static void fill_file(FILE *file, long long bytes)
{
    char block[1 << 16];
    memset(block, 'Z', sizeof block);
    for (long long at = 0; at < bytes; at += sizeof block)
        if (fwrite(block, bytes - at < (long long)sizeof block ? (size_t)(bytes - at) : sizeof block, 1, file) != 1)
            stop("file", options.path, "a file system with room for it");
    if (fclose(file) != 0)
        stop("file", options.path, "a file system with room for it");
}

/* Creates the file, empty or filled. */
static void prepare_file(const struct plan *plan)
{
    if (rank == 0) {
        unlink(options.path);
        FILE *file = plan->fills ? fopen(options.path, "w") : NULL;
        if (plan->fills && !file)
            stop("file", options.path, "a file that can be created");
        if (file)
            fill_file(file, plan->fill_bytes);
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* Opens the file, runs the steps and closes it. What is timed begins before or after the opening, and ends accordingly. */
static void run_steps(const struct plan *plan, int reading, double row[NUMBERS])
{
    struct timed timed;
    char second[4096];
    double *calls = grab(plan->count * sizeof *calls), begin;
    snprintf(second, sizeof second, "%s.second", options.path);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (plan->whole)
        begin_timed(&timed, reading);
    begin = now();
    MPI_File file = open_file(options.path, reading);
    move_header(file, plan, reading);
    row[OPEN] = now() - begin;
    if (!plan->whole)
        begin_timed(&timed, reading);
    for (int i = 0; i < plan->count; i++)
        calls[i] = run_step(file, &plan->steps[i], reading, second);
    if (!plan->whole)
        end_timed(&timed, reading, row);
    begin = now();
    MUST(MPI_File_close(&file));
    row[CLOSE] = now() - begin;
    if (plan->whole)
        end_timed(&timed, reading, row);
    note_calls(calls, plan->count, row);
    if (plan->count > 0 && plan->steps[0].kind == FIRST_MOVE)
        for (int i = row[WALL] = 0; i < plan->count; i++)
            row[WALL] += calls[i];
    free(calls);
}

/* One repetition, timed. */
static int repeat_once(int reading, struct record *record)
{
    struct plan plan = {0};
    double row[NUMBERS];
    int right = -1;
    make_plan(&plan);
    give_memory(&plan);
    reading ? clear(&plan) : fill(&plan);
    if (!reading)
        prepare_file(&plan);
    run_steps(&plan, reading, row);
    record->calls = plan.count;
    record->bytes = bytes_of_rank(&plan);
    record_row(record, row);
    if (reading && has_data(&plan))
        right = is_right(&plan);
    release(&plan);
    return right;
}

/* How many hosts there are, by the names that the MPI library gives them, on rank 0. */
static int count_hosts(void)
{
    enum { ROOM = MPI_MAX_PROCESSOR_NAME };
    char own[ROOM] = "", *all = grab((size_t)ranks * ROOM);
    int length, hosts = 0;
    MUST(MPI_Get_processor_name(own, &length));
    MUST(MPI_Gather(own, ROOM, MPI_CHAR, all, ROOM, MPI_CHAR, 0, MPI_COMM_WORLD));
    for (int i = 0; i < ranks && rank == 0; i++) {
        int before = 0;
        while (before < i && strcmp(all + before * ROOM, all + i * ROOM))
            before++;
        hosts += before == i;
    }
    free(all);
    return hosts;
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
    int hosts = count_hosts();
    if (rank == 0)
        printf("{\"part\": \"about\", \"ranks\": %d, \"hosts\": %d, \"library\": \"%s\"}\n", ranks, hosts, text);
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
