/* The resources that the process has used so far: processor time, context switches, page faults, memory. */
#define _GNU_SOURCE
#include "compare.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

struct usage usage_now(void)
{
    struct rusage all;
    getrusage(RUSAGE_SELF, &all);
    return (struct usage){
        .cpu = all.ru_utime.tv_sec + all.ru_stime.tv_sec + (all.ru_utime.tv_usec + all.ru_stime.tv_usec) / 1e6,
        .voluntary = all.ru_nvcsw,
        .involuntary = all.ru_nivcsw,
        .minor = all.ru_minflt,
        .major = all.ru_majflt,
    };
}

/* A line of a file of /proc/self in bytes; -1 where there is none. */
static double told(const char *path, const char *name)
{
    char line[256];
    double kilobytes = -1;
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            sscanf(line + strlen(name), " %lf", &kilobytes);
    fclose(file);
    return kilobytes < 0 ? -1 : kilobytes * 1024;
}

void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file)
        return;
    fputs("5", file);
    fclose(file);
}

double resident_bytes(void)
{
    return told("/proc/self/status", "VmRSS:");
}

double peak_bytes(void)
{
    struct rusage all;
    double peak = told("/proc/self/status", "VmHWM:");
    if (peak >= 0)
        return peak;
    getrusage(RUSAGE_SELF, &all);
    return all.ru_maxrss * 1024.0;
}

double shared_out_bytes(void)
{
    double bytes = told("/proc/self/smaps_rollup", "Pss:");
    return bytes >= 0 ? bytes : -INFINITY;
}
