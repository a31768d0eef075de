/* What is timed, rows of its numbers, and the line of JSON that they become. */
#include "compare.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const NAMES[NUMBERS] = {"wall", "open", "close", "cpu", "voluntary", "involuntary", "minor", "major", "peak",
                                           "growth", "pss", "p50", "p99"};

void record_row(struct record *record, const double row[NUMBERS])
{
    double *max, *sum;
    record->repeats++;
    record->max = realloc(record->max, record->repeats * NUMBERS * sizeof(double));
    record->sum = realloc(record->sum, record->repeats * NUMBERS * sizeof(double));
    if (!record->max || !record->sum)
        stop("memory", "rows", "less");
    max = record->max + (record->repeats - 1) * NUMBERS;
    sum = record->sum + (record->repeats - 1) * NUMBERS;
    MUST(MPI_Reduce(row, max, NUMBERS, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
    MUST(MPI_Reduce(row, sum, NUMBERS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
}

/* Whether all ranks could tell a number in every repetition. */
static int is_told(const struct record *record, int number)
{
    for (int r = 0; r < record->repeats; r++)
        if (isinf(record->sum[r * NUMBERS + number]))
            return 0;
    return 1;
}

static void print_numbers(const struct record *record, const double *rows, const char *what)
{
    printf(", \"%s\": {", what);
    for (int n = 0; n < NUMBERS; n++) {
        if (!is_told(record, n))
            continue;
        printf("%s\"%s\": [", n ? ", " : "", NAMES[n]);
        for (int r = 0; r < record->repeats; r++)
            printf("%s%.9g", r ? ", " : "", rows[r * NUMBERS + n]);
        printf("]");
    }
    printf("}");
}

void print_record(const struct record *record, const char *part, int right)
{
    long long bytes;
    MUST(MPI_Reduce(&record->bytes, &bytes, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    if (rank != 0)
        return;
    printf("{\"part\": \"%s\", \"set\": %d, \"pattern\": \"%s\", \"ranks\": %d, \"calls\": %d, \"bytes\": %lld, \"verified\": %s", part,
           options.set, options.pattern, ranks, record->calls, bytes, right < 0 ? "null" : right ? "true" : "false");
    print_numbers(record, record->max, "max");
    print_numbers(record, record->sum, "sum");
    printf("}\n");
    fflush(stdout);
}

/* A system call that does nothing, for one who traces to see where the timed part begins and ends. */
static void mark(const char *what, int reading)
{
    char name[64];
    snprintf(name, sizeof name, "/trib-compare/%s-%s", what, reading ? "read" : "write");
    (void)!access(name, F_OK);
}

void begin_timed(struct timed *timed, int reading)
{
    forget_peak();
    timed->resident = resident_bytes();
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    timed->before = usage_now();
    mark("begin", reading);
    timed->begin = now();
}

void end_timed(const struct timed *timed, int reading, double row[NUMBERS])
{
    row[WALL] = now() - timed->begin;
    mark("end", reading);
    struct usage after = usage_now();
    row[CPU] = after.cpu - timed->before.cpu;
    row[VOLUNTARY] = after.voluntary - timed->before.voluntary;
    row[INVOLUNTARY] = after.involuntary - timed->before.involuntary;
    row[MINOR] = after.minor - timed->before.minor;
    row[MAJOR] = after.major - timed->before.major;
    row[PEAK] = peak_bytes();
    row[GROWTH] = row[PEAK] - timed->resident;
    /* When all have done the last call, and hold what they share. */
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    row[PSS] = shared_out_bytes();
    row[P50] = row[P99] = -INFINITY;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Percentiles of fewer calls say nothing. */
#define FEWEST_CALLS 20

void note_calls(double *seconds, int count, double row[NUMBERS])
{
    if (count < FEWEST_CALLS)
        return;
    qsort(seconds, count, sizeof *seconds, ascending);
    row[P50] = seconds[count / 2];
    row[P99] = seconds[(int)(0.99 * (count - 1) + 0.5)];
}

void repeat_part(const char *part, int (*once)(int, struct record *))
{
    int reading = !strcmp(part, "read"), right = -1, go_on = 1;
    struct record record = {0};
    double begin = now();
    for (int repeat = 0; repeat < options.repeats && go_on; repeat++) {
        int now_right = once(reading, &record);
        right = right == 0 ? 0 : now_right;
        go_on = now() - begin < options.budget;
        MUST(MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    print_record(&record, part, right);
    free(record.max), free(record.sum);
}
