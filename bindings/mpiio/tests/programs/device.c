/* Buffers in device memory: `device LIBRARY WHAT`. LIBRARY (gpu.c) stands in for a GPU's runtime, and is loaded after
 * the first file was written, for this program only, as Python does; with "-" it is there already (preloaded). WHAT:
 *   host        all memory is the host's: what the others must print and write too
 *   all, one    the memory of all ranks, or that of rank 1, is the device's
 *   fails       copies fail on one rank
 *   memory      a rank has no memory for its bytes on the host
 *   end         reads beyond the end of the file; memory that the processor may touch */
#define _GNU_SOURCE
#include "program.h"

#include <dlfcn.h>
#include <stdint.h>
#include <sys/resource.h>

#define BYTES 100000
#define BLOCK 60
#define STEP 100
#define BLOCKS 500 /* BLOCKS * STEP <= BYTES / 2 */

static char *(*allocate_device)(size_t), *(*allocate_managed)(size_t), *(*device_bytes)(const void *);
static int (*copies)(void);
static void (*fail)(int);
static int on_device;

static void load(const char *path)
{
    void *library = strcmp(path, "-") == 0 ? RTLD_DEFAULT : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library && strcmp(path, "-") != 0)
        fprintf(stderr, "%s\n", dlerror());
    allocate_device = (char *(*)(size_t))dlsym(library, "gpu_allocate");
    allocate_managed = (char *(*)(size_t))dlsym(library, "gpu_allocate_managed");
    device_bytes = (char *(*)(const void *))dlsym(library, "gpu_bytes");
    copies = (int (*)(void))dlsym(library, "gpu_copies");
    fail = (void (*)(int))dlsym(library, "gpu_fail");
    TRUE(allocate_device && allocate_managed && device_bytes && copies && fail);
}

static char *allocate(size_t length)
{
    return on_device ? allocate_device(length) : malloc(length);
}

/* Where the program may look at what is at `address`. */
static char *bytes_at(char *address)
{
    return on_device ? device_bytes(address) : address;
}

static void fill(char *bytes, int seed)
{
    for (int at = 0; at < BYTES; at++)
        bytes[at] = value(seed + 31 * rank, at / 3) % 251;
}

/* A number that every byte counts in, those of gaps too. */
static void tell(const char *name, MPI_Status *status, const char *bytes)
{
    uint64_t sum = 0;
    for (int at = 0; at < BYTES; at++)
        sum = sum * 1099511628211u + (unsigned char)bytes[at];
    say("%s: %lld bytes, %016llx\n", name, bytes_of(status), (unsigned long long)sum);
}

/* Ranks take turns of 100 bytes. */
static MPI_File open_turns(const char *path)
{
    MPI_File file;
    MPI_Datatype block, turns;
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_Type_contiguous(100, MPI_BYTE, &block));
    MUST(MPI_Type_create_resized(block, 0, 100 * ranks, &turns));
    MUST(MPI_Type_commit(&turns));
    MUST(MPI_File_set_view(file, 100 * rank, MPI_BYTE, turns, "native", MPI_INFO_NULL));
    MUST(MPI_Type_free(&block));
    MUST(MPI_Type_free(&turns));
    return file;
}

/* 30,000 bytes with gaps, in order. */
static MPI_Datatype strided(void)
{
    MPI_Datatype type;
    MUST(MPI_Type_vector(BLOCKS, BLOCK, STEP, MPI_BYTE, &type));
    MUST(MPI_Type_commit(&type));
    return type;
}

/* As many, in other places and another order. */
static MPI_Datatype scattered(void)
{
    static int lengths[BLOCKS], places[BLOCKS];
    MPI_Datatype type;
    for (int i = 0; i < BLOCKS; i++)
        lengths[i] = i % 2 ? BLOCK - 7 : BLOCK + 7, places[i] = 191 * ((i * 7) % BLOCKS);
    MUST(MPI_Type_indexed(BLOCKS, lengths, places, MPI_BYTE, &type));
    MUST(MPI_Type_commit(&type));
    return type;
}

/* Half of one array and some of another, by absolute addresses: of the device and of the host where there is a device. */
static MPI_Datatype both(char *one, char *other)
{
    int lengths[3] = {20000, 3000, 7000};
    MPI_Aint places[3];
    MPI_Datatype type;
    MUST(MPI_Get_address(other + 50, &places[0]));
    MUST(MPI_Get_address(one + 40000, &places[1]));
    MUST(MPI_Get_address(one + 10, &places[2]));
    MUST(MPI_Type_create_hindexed(3, lengths, places, MPI_BYTE, &type));
    MUST(MPI_Type_commit(&type));
    return type;
}

static void there_and_back(void)
{
    MPI_Status status;
    MPI_Request request;
    char *from = allocate(BYTES), *to = allocate(BYTES), *host = malloc(BYTES);
    MPI_Datatype gaps = strided(), places = scattered(), apart = both(from, host), apart_again = both(to, host);
    MPI_File file = open_turns("turns");
    fill(bytes_at(from), 1);
    fill(host, 2);
    fill(bytes_at(to), 3);
    /* What MPI libraries leave in a hole behind the file's end is any byte. */
    MUST(MPI_File_set_size(file, ranks * (60000 + 2 * BYTES)));
    MUST(MPI_File_write_all(file, from, 1, gaps, &status));
    tell("written with gaps", &status, bytes_at(from));
    MUST(MPI_File_write_at_all(file, 30000, from + 7, BYTES - 7, MPI_BYTE, &status));
    tell("written whole", &status, bytes_at(from));
    MUST(MPI_File_write_at_all(file, 30000 + BYTES, MPI_BOTTOM, 1, apart, &status));
    tell("written from two places", &status, bytes_at(from));
    MUST(MPI_File_iwrite_at_all(file, 60000 + BYTES, from, rank == 0 ? 0 : BYTES, MPI_BYTE, &request));
    MUST(MPI_Wait(&request, &status));
    tell("written without rank 0", &status, bytes_at(from));

    MUST(MPI_File_read_at_all(file, 30, to, 1, places, &status));
    tell("read to many places", &status, bytes_at(to));
    fill(bytes_at(to), 4);
    MUST(MPI_File_read_at_all(file, 200, MPI_BOTTOM, 1, apart_again, &status));
    tell("read to two places", &status, bytes_at(to));
    tell("of which the host", &status, host);
    MUST(MPI_File_seek(file, 30000, MPI_SEEK_SET));
    MUST(MPI_File_read_all(file, to, BYTES - 7, MPI_BYTE, &status));
    tell("read whole", &status, bytes_at(to));
    fill(bytes_at(to), 5);
    MUST(MPI_File_read_at_all_begin(file, 45, to, 1, gaps));
    MUST(MPI_File_read_at_all_end(file, to, &status));
    tell("read in two halves", &status, bytes_at(to));
    MUST(MPI_File_close(&file));
    MPI_Datatype types[] = {gaps, places, apart, apart_again};
    for (int i = 0; i < 4; i++)
        MUST(MPI_Type_free(&types[i]));
}

/* The last rank's copies fail, the first of a call or a later one; the next call goes well. */
static void fails(void)
{
    MPI_Status status;
    on_device = 1;
    char *memory = allocate(BYTES);
    MPI_Datatype gaps = strided();
    MPI_File file = open_turns("turns");
    fill(bytes_at(memory), 1);
    for (int after = 0; after < 300; after += 299) {
        if (rank == ranks - 1)
            fail(after);
        say("write: %s\n", class_of(MPI_File_write_at_all(file, 0, memory, 1, gaps, &status)));
        MUST(MPI_File_write_at_all(file, 0, memory, 1, gaps, &status));
        if (rank == ranks - 1)
            fail(after);
        say("read: %s\n", class_of(MPI_File_read_at_all(file, 0, memory, 1, gaps, &status)));
        MUST(MPI_File_read_at_all(file, 0, memory, 1, gaps, &status));
    }
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&gaps));
}

/* Rank 1 writes a GiB, and has no memory for a copy of it. */
static void memory(void)
{
    MPI_Status status;
    const int large = 1 << 30;
    struct rlimit limit;
    char *from = rank == 1 ? allocate_device(large) : NULL;
    MPI_File file;
    MUST(MPI_File_open(MPI_COMM_WORLD, "large", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_write_at_all(file, rank, from, rank == 1, MPI_BYTE, &status));
    if (rank == 1) {
        long pages, ignored = 0;
        FILE *statm = fopen("/proc/self/statm", "r");
        TRUE(statm && fscanf(statm, "%ld %ld", &pages, &ignored) == 2);
        fclose(statm);
        TRUE(getrlimit(RLIMIT_AS, &limit) == 0);
        limit.rlim_cur = pages * 4096 + (256 << 20);
        TRUE(setrlimit(RLIMIT_AS, &limit) == 0);
    }
    say("write: %s\n", class_of(MPI_File_write_at_all(file, 0, from, rank == 1 ? large : 0, MPI_BYTE, &status)));
    say("read: %s\n", class_of(MPI_File_read_at_all(file, 0, from, rank == 1 ? large : 0, MPI_BYTE, &status)));
    MUST(MPI_File_close(&file));
}

static void end_of_file(void)
{
    MPI_Status status;
    on_device = 1;
    char *to = allocate(BYTES), expected[BYTES], *own = malloc(BYTES);
    MPI_Datatype places = scattered();
    MPI_File file = open_turns("turns");
    /* Of each rank's 30,000 bytes 20,050 or 20,000 are there. */
    MUST(MPI_File_set_size(file, 20000 * ranks + 50));
    fill(own, 1);
    MUST(MPI_File_write_at_all(file, 0, own, 20000, MPI_BYTE, &status));
    fill(bytes_at(to), 2);
    fill(expected, 2);
    for (int i = 0, at = 0; i < BLOCKS; i++) {
        int length = i % 2 ? BLOCK - 7 : BLOCK + 7, place = 191 * ((i * 7) % BLOCKS);
        for (int k = 0; k < length; k++, at++)
            if (at < 20000)
                expected[place + k] = own[at];
            else if (rank == 0 && at < 20050)
                expected[place + k] = 0;
    }
    MUST(MPI_File_read_at_all(file, 0, to, 1, places, &status));
    TRUE(bytes_of(&status) == (rank == 0 ? 20050 : 20000));
    TRUE(memcmp(bytes_at(to), expected, BYTES) == 0);
    TRUE(copies() > 0);

    /* What the processor may touch is not copied. */
    char *managed = allocate_managed(BYTES);
    int before = copies();
    fill(managed, 1);
    MUST(MPI_File_write_at_all(file, 0, managed, BYTES, MPI_BYTE, &status));
    MUST(MPI_File_read_at_all(file, 0, managed, BYTES, MPI_BYTE, &status));
    TRUE(copies() == before);
    /* One piece is one copy, though the file has it in a thousand. */
    MUST(MPI_File_write_at_all(file, 0, to, BYTES, MPI_BYTE, &status));
    TRUE(copies() == before + 1);
    MUST(MPI_File_read_at_all(file, 0, to, BYTES, MPI_BYTE, &status));
    TRUE(copies() == before + 2);
    say("as it should be\n");
    MUST(MPI_File_close(&file));
    MUST(MPI_Type_free(&places));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    TRUE(argc == 3);
    const char *what = argv[2];
    MPI_Status status;
    MPI_File file = open_turns("before");
    char turn[100] = "before";
    MUST(MPI_File_write_all(file, turn, 100, MPI_BYTE, &status));
    load(argv[1]);
    on_device = strcmp(what, "all") == 0 || (strcmp(what, "one") == 0 && rank == 1);
    /* A file that was open before there was a GPU. */
    char *more = allocate(100);
    memset(bytes_at(more), 'x', 100);
    MUST(MPI_File_write_all(file, more, 100, MPI_BYTE, &status));
    MUST(MPI_File_close(&file));
    if (strcmp(what, "fails") == 0)
        fails();
    else if (strcmp(what, "memory") == 0)
        memory();
    else if (strcmp(what, "end") == 0)
        end_of_file();
    else
        there_and_back();
    finish();
    return 0;
}
