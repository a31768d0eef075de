/* Memory that is not one buffer: datatypes with absolute addresses over arrays that were allocated one by one, with
 * displacements and lower bounds below 0. On both sides of each array is a page that may not be touched, so that a byte too
 * many ends the program. What is written, and what comes back, is what a message has of it.
 *
 * With the argument "resized" it does only what MPICH 4.0's own files get wrong: elements whose lower bound was set. */
#include "program.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define ARRAYS 5
#define BYTES 6000 /* of the first array; the others have more */

/* An array between two pages that may not be touched, next to the one or the other of them. */
struct array {
    char *pages, *bytes;
    size_t length, mapped;
};

static size_t page;

static struct array allocate(size_t length, int at_its_end)
{
    struct array a = {.length = length};
    size_t inner = (length + page - 1) / page * page;
    a.mapped = inner + 2 * page;
    a.pages = aligned_alloc(page, a.mapped);
    TRUE(a.pages);
    a.bytes = a.pages + page + (at_its_end ? inner - length : 0);
    memset(a.pages, 0x5a, a.mapped);
    TRUE(mprotect(a.pages, page, PROT_NONE) == 0);
    TRUE(mprotect(a.pages + page + inner, page, PROT_NONE) == 0);
    return a;
}

static void release(struct array *a)
{
    TRUE(mprotect(a->pages, a->mapped, PROT_READ | PROT_WRITE) == 0);
    free(a->pages);
}

/* Arrays of different lengths, so that they are not a regular pattern; multiples of 8. */
static void allocate_all(struct array *all)
{
    for (int i = 0; i < ARRAYS; i++)
        all[i] = allocate(BYTES + 1000 * i, i % 2);
}

static void fill(struct array *all, int seed)
{
    for (int i = 0; i < ARRAYS; i++)
        for (size_t at = 0; at < all[i].length; at++)
            all[i].bytes[at] = value(seed + 31 * rank + 7 * i, at / 3) % 251;
}

static MPI_Aint address(const void *place)
{
    MPI_Aint at;
    MUST(MPI_Get_address(place, &at));
    return at;
}

/* Parts of arrays: a type whose displacements count from `base`, of array i in the order 3, 0, 4, 1, 2. */
static const int order[ARRAYS] = {3, 0, 4, 1, 2};

static MPI_Datatype list(struct array *all, MPI_Aint base)
{
    int lengths[2 * ARRAYS];
    MPI_Aint places[2 * ARRAYS];
    MPI_Datatype type;
    for (int i = 0; i < ARRAYS; i++) {
        struct array *a = &all[order[i]];
        /* The end of the array first, then its start. */
        lengths[2 * i] = 300 + i, places[2 * i] = address(a->bytes + a->length - lengths[2 * i]) - base;
        lengths[2 * i + 1] = 2000 + 10 * i, places[2 * i + 1] = address(a->bytes) - base;
    }
    MUST(MPI_Type_create_hindexed(2 * ARRAYS, lengths, places, MPI_BYTE, &type));
    return type;
}

/* Whole arrays of several types, and every other element of one. */
static MPI_Datatype structure(struct array *all, MPI_Aint base)
{
    MPI_Datatype types[ARRAYS] = {MPI_INT, MPI_DOUBLE, MPI_SHORT, MPI_CHAR, MPI_DATATYPE_NULL}, type;
    int lengths[ARRAYS], sizes[ARRAYS] = {4, 8, 2, 1, 1};
    MPI_Aint places[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) {
        struct array *a = &all[order[i]];
        lengths[i] = a->length / sizes[i];
        places[i] = address(a->bytes) - base;
    }
    MUST(MPI_Type_vector(all[order[4]].length / 40, 10, 40, MPI_CHAR, &types[4]));
    lengths[4] = 1;
    MUST(MPI_Type_create_struct(ARRAYS, lengths, places, types, &type));
    MUST(MPI_Type_free(&types[4]));
    return type;
}

/* 700 bytes below the address of the buffer, and 50 from there on. */
static MPI_Datatype below(void)
{
    int lengths[2] = {50, 700};
    MPI_Aint places[2] = {0, -700};
    MPI_Datatype type;
    MUST(MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &type));
    return type;
}

/* The same as an element, of which the next is in the next array, `step` bytes on. */
static MPI_Datatype resized(MPI_Aint step)
{
    MPI_Datatype parts = below(), type;
    MUST(MPI_Type_create_resized(parts, -700, step, &type));
    MUST(MPI_Type_free(&parts));
    return type;
}

/* One in each array, `step` bytes on. */
static MPI_Datatype each(MPI_Aint step)
{
    MPI_Datatype parts = below(), type;
    MUST(MPI_Type_create_hvector(ARRAYS, 1, step, parts, &type));
    MUST(MPI_Type_free(&parts));
    return type;
}

/* What the call moved; and a number that every byte of the arrays counts in, those beside the data too. */
static void tell(const char *name, MPI_Status *status, struct array *all)
{
    uint64_t sum = 0;
    for (int i = 0; i < ARRAYS; i++)
        for (size_t at = 0; at < all[i].length; at++)
            sum = sum * 1099511628211u + (unsigned char)all[i].bytes[at];
    say("%s: %lld bytes, %016llx\n", name, bytes_of(status), (unsigned long long)sum);
}

/* The bytes of `count` elements, one after the other, as a message brings them. (MPICH 4.0 does not pack at MPI_BOTTOM.) */
static char *packed(const void *from, int count, MPI_Datatype type, int bytes)
{
    char *all = malloc(bytes);
    MPI_Status status;
    MUST(MPI_Sendrecv(from, count, type, 0, 0, all, bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, &status));
    TRUE(bytes_of(&status) == bytes);
    return all;
}

/* Writes `count` elements at `from` into a view in which ranks take turns, and reads them back to `to`. The last rank brings
 * nothing to the second call. */
static void through(const char *name, const void *from, MPI_Datatype writes, struct array *written, void *to,
                    MPI_Datatype reads, struct array *read, int count)
{
    char path[100];
    MPI_File file;
    MPI_Status status;
    MPI_Datatype blocks, turns;
    MPI_Count size;
    MUST(MPI_Type_commit(&writes));
    MUST(MPI_Type_commit(&reads));
    MUST(MPI_Type_size_x(writes, &size));
    MPI_Offset bytes = size * count;
    MUST(MPI_Type_vector(64, 100, 100 * ranks, MPI_BYTE, &blocks));
    MUST(MPI_Type_create_resized(blocks, 0, 6400 * ranks, &turns));
    MUST(MPI_Type_free(&blocks));
    MUST(MPI_Type_commit(&turns));
    snprintf(path, sizeof path, "%s.dat", name);
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 100 * rank, MPI_BYTE, turns, "native", MPI_INFO_NULL));
    /* What MPI libraries leave in a hole behind the file's end is any byte. */
    MUST(MPI_File_set_size(file, ranks * (2 * bytes + 6400)));
    fill(written, 1);
    char *expected = packed(from, count, writes, bytes), *there = malloc(bytes);
    MUST(MPI_File_write_all(file, from, count, writes, &status));
    tell("written", &status, written);
    fill(written, 2);
    MUST(MPI_File_write_at_all(file, bytes, from, rank == ranks - 1 ? 0 : count, writes, &status));
    tell("and again", &status, written);
    MUST(MPI_File_sync(file));
    fill(read, 3);
    MUST(MPI_File_read_at_all(file, bytes, to, rank == ranks - 1 ? 0 : count, reads, &status));
    tell("read", &status, read);
    MUST(MPI_File_seek(file, 0, MPI_SEEK_SET));
    MUST(MPI_File_read_all(file, to, count, reads, &status));
    tell("and again", &status, read);
    char *back = packed(to, count, reads, bytes);
    TRUE(memcmp(back, expected, bytes) == 0);
    MUST(MPI_File_read_at_all(file, 0, there, bytes, MPI_BYTE, &status));
    TRUE(memcmp(there, expected, bytes) == 0);
    free(back), free(there), free(expected);
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&turns));
    MUST(MPI_Type_free(&writes));
    MUST(MPI_Type_free(&reads));
}

/* Arrays that were allocated one by one. */
static void one_by_one(void)
{
    struct array from[ARRAYS], to[ARRAYS];
    allocate_all(from);
    allocate_all(to);
    MPI_Aint nowhere = address(MPI_BOTTOM);
    through("hindexed", MPI_BOTTOM, list(from, nowhere), from, MPI_BOTTOM, list(to, nowhere), to, 1);
    through("struct", MPI_BOTTOM, structure(from, nowhere), from, MPI_BOTTOM, structure(to, nowhere), to, 1);
    /* From an array that has others below and above it. */
    char *one = from[2].bytes, *other = to[2].bytes;
    through("relative", one, list(from, address(one)), from, other, list(to, address(other)), to, 1);
    for (int i = 0; i < ARRAYS; i++)
        release(&from[i]), release(&to[i]);
}

/* Arrays a fixed step apart, in one mapping. */
static void apart(int with_bounds_set)
{
    struct array from[ARRAYS], to[ARRAYS];
    MPI_Aint step = 3 * page;
    for (int side = 0; side < 2; side++) {
        char *all = mmap(NULL, ARRAYS * step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        TRUE(all != MAP_FAILED);
        for (int i = 0; i < ARRAYS; i++) {
            char *bytes = all + i * step + page;
            TRUE(mprotect(bytes, page, PROT_READ | PROT_WRITE) == 0);
            (side ? to : from)[i] = (struct array){.bytes = bytes, .length = page};
        }
    }
    /* The element's last byte is the last before a page that may not be touched, or its first the first behind one. */
    size_t at_its_end = page - 50, at_its_start = 700;
    char *up = from[0].bytes + at_its_end, *up_back = to[0].bytes + at_its_start;
    char *down = from[ARRAYS - 1].bytes + at_its_start, *down_back = to[ARRAYS - 1].bytes + at_its_end;
    if (with_bounds_set) {
        through("resized", up, resized(step), from, up_back, resized(step), to, ARRAYS);
        return;
    }
    through("below", up, each(step), from, up_back, each(step), to, 1);
    through("backwards", down, each(-step), from, down_back, each(-step), to, 1);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    page = sysconf(_SC_PAGESIZE);
    if (argc > 1) {
        TRUE(strcmp(argv[1], "resized") == 0);
        apart(1);
    } else {
        one_by_one();
        apart(0);
    }
    finish();
    return 0;
}
