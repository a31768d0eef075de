/* What the whole program knows: its rank, the seed and step at which it is, and how it reports a difference. */
#pragma once
#include <mpi.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <unistd.h>

static struct Context {
    int rank = 0, ranks = 1;
    long seed = -1;
    int step = -1;
    /* The call that this rank is in. */
    const char *call = "";
    /* The steps up to now, for a report. */
    std::string trace;
    bool failed = false, verbose = false;
    long failures = 0;
    std::string library;
} at;

static std::string text(const char *format, ...)
{
    char line[2000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return line;
}

/* Adds a line to the trace of the program. */
static void note(const std::string &line)
{
    at.trace += "  " + line + "\n";
    if (at.verbose)
        fprintf(stderr, "[%d] %d: %s\n", at.rank, at.step, line.c_str());
}

/* Reports a difference: the first one of a program with the trace. */
static void differs(const std::string &what)
{
    at.failures = at.failed ? at.failures + 1 : 1;
    std::string line = text("seed %ld, step %d, rank %d of %d: ", at.seed, at.step, at.rank, at.ranks) + what + "\n";
    if (!at.failed)
        line += at.library + "\n" + at.trace;
    if (at.failures <= 5)
        fputs(line.c_str(), stderr);
    at.failed = true;
}

static void must(int code, const char *call, int line)
{
    char reason[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, reason, &length);
    differs(text("line %d: %s: %s", line, call, reason));
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* An MPI call that must succeed. */
#define MUST(...) (at.call = #__VA_ARGS__, must((__VA_ARGS__), #__VA_ARGS__, __LINE__))
