/* `trib compare`'s program: runs one access pattern through MPI-IO, times it, checks what it read.
 *
 * program --pattern NAME --file PATH [--value N]... [--lists PREFIX] [--parts about,write,read,floor-write,floor-read]
 *         [--repeats N] [--budget SECONDS] [--write-hint KEY=VALUE]... [--read-hint KEY=VALUE]...
 *         [--set NAME [--write-hint KEY=VALUE]... [--read-hint KEY=VALUE]...]...
 *
 * With --set, all parts are run with each set of hints in turn. Rank 0 prints a line of JSON for every part: the most of any rank, and the sum over ranks, in every repetition. */
#include "compare.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int rank, ranks;
struct options options = {.parts = "write", .repeats = 3, .budget = 1e9};

void stop(const char *what, const char *value, const char *allowed)
{
    fprintf(stderr, "compare: %s: %s; allowed: %s\n", what, value, allowed);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

void must(int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "compare: rank %d: %s: %s\n", rank, call, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void *grab(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        stop("memory", "exhausted", "a smaller pattern");
    return memory;
}

static void set_hint(MPI_Info *info, char *text)
{
    char *equals = strchr(text, '=');
    if (!equals)
        stop("hint", text, "KEY=VALUE");
    *equals = 0;
    if (*info == MPI_INFO_NULL)
        MUST(MPI_Info_create(info));
    MUST(MPI_Info_set(*info, text, equals + 1));
}

static void parse(int argc, char **argv)
{
    int values = 0;
    for (int i = 0; i < SETS; i++)
        options.sets[i].write = options.sets[i].read = MPI_INFO_NULL;
    options.set_count = 1;
    for (int i = 1; i < argc; i += 2) {
        char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!value)
            stop("option", name, "an option and its value");
        if (!strcmp(name, "--pattern"))
            options.pattern = value;
        else if (!strcmp(name, "--file"))
            options.path = value;
        else if (!strcmp(name, "--lists"))
            options.lists = value;
        else if (!strcmp(name, "--parts"))
            options.parts = value;
        else if (!strcmp(name, "--value") && values < VALUES)
            options.values[values++] = atoll(value);
        else if (!strcmp(name, "--repeats"))
            options.repeats = atoi(value);
        else if (!strcmp(name, "--budget"))
            options.budget = atof(value);
        else if (!strcmp(name, "--write-hint"))
            set_hint(&options.sets[options.set_count - 1].write, value);
        else if (!strcmp(name, "--read-hint"))
            set_hint(&options.sets[options.set_count - 1].read, value);
        else if (!strcmp(name, "--set") && options.set_count < SETS)
            options.set_count++;
        else
            stop("option", name, "those named at the head of program.c");
    }
    if (!options.pattern || !options.path)
        stop("options", "not complete", "--pattern NAME --file PATH");
}

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

/* How often a rank that computes looks after its call. */
#define LOOK_SECONDS 50e-6

/* The rank computes, and looks after its call now and then, as programs do that have one thread. */
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

/* What is timed. */
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

/* A new file, or one that somebody has filled before. */
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

/* A system call that does nothing, for one who traces to see where the timed part begins and ends. */
static void mark(const char *what, int reading)
{
    char name[64];
    snprintf(name, sizeof name, "/trib-compare/%s-%s", what, reading ? "read" : "write");
    (void)!access(name, F_OK);
}

/* One repetition, timed. */
static int repeat_once(int reading, const char *second, struct record *record)
{
    struct plan plan = {0};
    double row[NUMBERS];
    int right = -1;
    make_plan(&plan);
    give_memory(&plan);
    reading ? clear(&plan) : fill(&plan);
    if (!reading)
        prepare_file(&plan);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    double begin = now();
    MPI_File file = open_file(options.path, reading);
    row[OPEN] = now() - begin;
    forget_peak();
    double resident = resident_bytes();
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    struct usage before = usage_now();
    mark("begin", reading);
    begin = now();
    for (int i = 0; i < plan.count; i++)
        run_step(file, &plan.steps[i], reading, second);
    row[WALL] = now() - begin;
    mark("end", reading);
    struct usage after = usage_now();
    row[CPU] = after.cpu - before.cpu;
    row[VOLUNTARY] = after.voluntary - before.voluntary;
    row[INVOLUNTARY] = after.involuntary - before.involuntary;
    row[MINOR] = after.minor - before.minor;
    row[MAJOR] = after.major - before.major;
    row[PEAK] = peak_bytes();
    row[GROWTH] = row[PEAK] - resident;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    begin = now();
    MUST(MPI_File_close(&file));
    row[CLOSE] = now() - begin;
    record_row(record, row);
    if (reading && has_data(&plan))
        right = is_right(&plan);
    release(&plan);
    return right;
}

static void run_part(const char *part)
{
    int reading = !strcmp(part, "read"), right = -1, go_on = 1;
    struct record record = {0};
    struct plan plan = {0};
    char second[4096];
    snprintf(second, sizeof second, "%s.second", options.path);
    double begin = now();
    for (int repeat = 0; repeat < options.repeats && go_on; repeat++) {
        int once = repeat_once(reading, second, &record);
        right = right == 0 ? 0 : once;
        go_on = now() - begin < options.budget;
        MUST(MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    make_plan(&plan);
    print_record(&record, part, &plan, right);
    release(&plan);
    free(record.max), free(record.sum);
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

static void run_parts(void)
{
    /* Not strtok, which MPI libraries use, too. */
    char *parts = strdup(options.parts), *rest;
    for (char *part = strtok_r(parts, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        if (!strcmp(part, "write") || !strcmp(part, "read"))
            run_part(part);
        else if (!strcmp(part, "floor-write") || !strcmp(part, "floor-read"))
            measure_floor(!strcmp(part, "floor-read"));
        else if (!strcmp(part, "about"))
            about();
        else
            stop("part", part, "about, write, read, floor-write, floor-read");
    }
    free(parts);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    parse(argc, argv);
    for (options.set = 0; options.set < options.set_count; options.set++)
        run_parts();
    MPI_Finalize();
    return 0;
}
