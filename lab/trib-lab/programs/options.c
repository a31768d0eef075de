/* What the programs have in common: their options, how they stop, and their parts in turn. */
#include "compare.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void parse(int argc, char **argv)
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
            stop("option", name, "those named at the head of the program's source");
    }
}

void each_part(void (*run)(const char *))
{
    /* Not strtok, which MPI libraries use, too. */
    char *parts = strdup(options.parts), *rest;
    for (char *part = strtok_r(parts, ",", &rest); part; part = strtok_r(NULL, ",", &rest))
        run(part);
    free(parts);
}
