/* Rows of numbers, and the line of JSON that they become. */
#include "compare.h"
#include <stdio.h>
#include <stdlib.h>

static const char *const NAMES[NUMBERS] = {"wall", "open", "close", "cpu", "voluntary", "involuntary", "minor", "major", "peak",
                                           "growth"};

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

static void print_numbers(const struct record *record, const double *rows, const char *what)
{
    printf(", \"%s\": {", what);
    for (int n = 0; n < NUMBERS; n++) {
        printf("%s\"%s\": [", n ? ", " : "", NAMES[n]);
        for (int r = 0; r < record->repeats; r++)
            printf("%s%.9g", r ? ", " : "", rows[r * NUMBERS + n]);
        printf("]");
    }
    printf("}");
}

void print_record(const struct record *record, const char *part, const struct plan *plan, int right)
{
    long long mine = plan ? bytes_of_rank(plan) : 0, bytes;
    MUST(MPI_Reduce(&mine, &bytes, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    if (rank != 0)
        return;
    printf("{\"part\": \"%s\", \"set\": %d, \"pattern\": \"%s\", \"ranks\": %d, \"calls\": %d, \"bytes\": %lld, \"verified\": %s", part,
           options.set, options.pattern, ranks, plan ? plan->count : 0, bytes, right < 0 ? "null" : right ? "true" : "false");
    print_numbers(record, record->max, "max");
    print_numbers(record, record->sum, "sum");
    printf("}\n");
    fflush(stdout);
}
