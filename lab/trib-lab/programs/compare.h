/* The access patterns of `trib compare` as a plain MPI-IO program: declarations shared by its files. */
#ifndef COMPARE_H
#define COMPARE_H

#include <mpi.h>
#include <stddef.h>

/* The kinds of steps. */
enum kind {
    TRANSFER,       /* a collective write or read */
    OVERLAP,        /* a non-blocking one, and computing before it is waited for */
    SET_VIEW,       /* sets a view, moves nothing */
    SYNC,           /* MPI_File_sync */
    OPEN_CLOSE,     /* opens and closes a second file */
    OPEN_MOVE_CLOSE, /* opens a second file, writes or reads it once, closes it */
    FIRST_MOVE      /* the same, but only the write or read counts */
};

/* One timed step of a rank. */
struct step {
    enum kind kind;
    MPI_Offset displacement; /* of the view, if `view` is not MPI_DATATYPE_NULL */
    MPI_Datatype view;       /* MPI_DATATYPE_NULL: the view stays */
    MPI_Offset offset;       /* in bytes of the view; -1: at the individual pointer */
    char *data;              /* address of the bytes in memory */
    int count;               /* of `memory` */
    MPI_Datatype memory;     /* MPI_BYTE or a derived type */
    long long bytes;         /* of this rank in this step */
    int micros;              /* how long the rank computes */
    int stamp;               /* the input of the payload: the step's number, unless steps write the same place */
    int packs;               /* whether memory with gaps is packed into one piece for the call, as PnetCDF does */
    int counts_records;      /* whether rank 0 notes the number of records in the header after a write, as PnetCDF does */
};

/* The steps of a rank in one repetition. */
struct plan {
    struct step *steps;
    int count;
    int fills;           /* whether the file is filled before it is written: `fill_bytes` */
    long long fill_bytes;
    long long header;    /* bytes that rank 0 writes (or reads) when the file is open, before the steps */
    int whole;           /* whether opening, header and closing are timed too, as in the timers of some programs */
    char *buffer;        /* the memory that `data` points into */
    size_t buffer_bytes;
    MPI_Datatype *types; /* to be freed */
    int type_count;
};

#define VALUES 9
#define SETS 64

/* Hints for MPI_File_open, for the write and for the read. */
struct hints {
    MPI_Info write, read;
};

/* The options. */
struct options {
    const char *pattern;
    const char *path;      /* the file */
    const char *lists;     /* path prefix of the list files */
    const char *parts;     /* a list of write, read, floor-write, floor-read, about */
    long long values[VALUES];
    int repeats;
    double budget;         /* seconds after which a part is not repeated any more */
    struct hints sets[SETS]; /* all parts are run with each set, in alternation */
    int set_count, set;
};

extern int rank, ranks;
extern struct options options;

/* options.c */
void stop(const char *what, const char *value, const char *allowed); /* ends the program with one line */
#define MUST(call) must((call), #call)
void must(int code, const char *call);
void *grab(size_t bytes);
void parse(int argc, char **argv);
void each_part(void (*run)(const char *)); /* of options.parts */

/* plan.c: a plan grows step by step. */
struct step *add(struct plan *plan, enum kind kind);
MPI_Datatype keep(struct plan *plan, MPI_Datatype type); /* commits it; freed with the plan */
void give_memory(struct plan *plan);                     /* when all steps are there: lays out and allocates the buffer */
void release(struct plan *plan);
int has_data(const struct plan *plan);
long long bytes_of_rank(const struct plan *plan);

/* lists.c */
struct list {
    long long count, *pairs; /* offset, length, offset, length, ... */
};
void name_list(char *name, size_t room, int step, const char *what); /* of step, what: file or memory */
struct list read_list(const char *name);                              /* this rank's extents; `pairs` is to be freed */

/* steps.c */
MPI_File open_file(const char *path, int reading);
void move_header(MPI_File file, const struct plan *plan, int reading);
double run_step(MPI_File file, const struct step *step, int reading, const char *second); /* the seconds that count */

/* patterns.c, blocks.c, lists.c, netcdf.c: they add the steps. */
void make_plan(struct plan *plan);
void btio(struct plan *plan);
void block4d(struct plan *plan);
void lists(struct plan *plan);
void netcdf(struct plan *plan);
void s3d(struct plan *plan);
void btio_netcdf(struct plan *plan);
int cells_of_btio(int side, int at[][3]);           /* the rank's cells, one a layer: where they begin (z, y, x); their number */
MPI_Datatype cells_in_memory(int parts, int cell); /* the same in memory, ghost points around each; not committed */
MPI_Datatype together(MPI_Datatype *parts, const MPI_Aint *places, int count); /* combines types, each at its place */

/* payload.c */
void words(char *to, long long bytes, int step); /* those of this rank in a step, packed */
void fill(struct plan *plan);  /* every byte a function of rank, step and place */
void clear(struct plan *plan);
int is_right(struct plan *plan);

/* usage.c: the resources that the process has used. */
struct usage {
    double cpu, voluntary, involuntary, minor, major;
};
struct usage usage_now(void);
void forget_peak(void);
double resident_bytes(void);
double peak_bytes(void);
double shared_out_bytes(void); /* memory held now, what several processes share divided among them; -INFINITY: not told */
double now(void);

/* floor.c */
void measure_floor(int reading);

/* record.c: one row of numbers of every rank, a repetition; printed by rank 0 as one line of JSON. */
enum number { WALL, OPEN, CLOSE, CPU, VOLUNTARY, INVOLUNTARY, MINOR, MAJOR, PEAK, GROWTH, PSS, P50, P99, NUMBERS };
struct record {
    int repeats, calls; /* calls of a repetition */
    long long bytes;    /* of this rank in a repetition */
    double *max, *sum; /* repeats x NUMBERS, on rank 0 */
};
void record_row(struct record *record, const double row[NUMBERS]);
struct timed {
    struct usage before;
    double begin, resident;
};
void begin_timed(struct timed *timed, int reading);                       /* collective, as the next two */
void end_timed(const struct timed *timed, int reading, double row[NUMBERS]); /* all but those of open, close and calls */
void note_calls(double *seconds, int count, double row[NUMBERS]); /* median and 99th percentile of one rank's calls */
/* Repeats `once`, which adds a row, says calls and bytes, and returns whether what it read was right (-1: nothing to be read);
 * prints the part. */
void repeat_part(const char *part, int (*once)(int reading, struct record *record));
void print_record(const struct record *record, const char *part, int right);

#endif
