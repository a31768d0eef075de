/* A library that stands in for a GPU's runtime: CUDA's driver or HIP, whichever of RUNTIME_CUDA and RUNTIME_HIP is
 * defined. Its device memory has two addresses: that which the program gets may not be touched, and the
 * functions below go through the other. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum kind { DEVICE, MANAGED };

static struct allocation {
    char *address, *bytes;
    size_t length;
    enum kind kind;
} all[64];
static int allocated, copies, fails_at = -1;

static struct allocation *find(uint64_t address)
{
    for (int i = 0; i < allocated; i++)
        if (address >= (uintptr_t)all[i].address && address < (uintptr_t)all[i].address + all[i].length)
            return &all[i];
    return NULL;
}

static char *allocate(size_t length, enum kind kind, int protection)
{
    int file = memfd_create("device", 0);
    if (allocated == 64 || file < 0 || ftruncate(file, length) != 0)
        abort();
    struct allocation *a = &all[allocated++];
    a->length = length;
    a->kind = kind;
    a->address = mmap(NULL, length, protection, MAP_SHARED, file, 0);
    a->bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (a->address == MAP_FAILED || a->bytes == MAP_FAILED)
        abort();
    close(file);
    return a->address;
}

/* Memory that may not be touched. */
char *gpu_allocate(size_t length)
{
    return allocate(length, DEVICE, PROT_NONE);
}

/* Memory that the device and the processor both touch. */
char *gpu_allocate_managed(size_t length)
{
    return allocate(length, MANAGED, PROT_READ | PROT_WRITE);
}

/* The other address of device memory. */
char *gpu_bytes(const void *address)
{
    struct allocation *a = find((uintptr_t)address);
    if (!a)
        abort();
    return a->bytes + ((const char *)address - a->address);
}

/* How many copies there were. */
int gpu_copies(void)
{
    return copies;
}

/* Has one of the copies to come fail, the first with 0. */
void gpu_fail(int after)
{
    fails_at = copies + after;
}

/* The other address of memory that is the device's from end to end. */
static char *copied(uint64_t address, size_t length)
{
    struct allocation *a = find(address);
    if (copies++ == fails_at || !a || a->kind != DEVICE || address + length > (uintptr_t)a->address + a->length)
        return NULL;
    return gpu_bytes((void *)(uintptr_t)address);
}

#ifdef RUNTIME_CUDA
enum { INVALID_VALUE = 1, INVALID_CONTEXT = 201, ILLEGAL_ADDRESS = 700 };
static int context;
static __thread void *current;
/* A copy to the device, which is there when the stream is waited for. */
static struct {
    char *to, *bytes;
    size_t length;
} under_way[4];
static int ways;

int cuPointerGetAttribute(void *data, int attribute, uint64_t address)
{
    struct allocation *a = find(address);
    if (!a)
        return INVALID_VALUE;
    switch (attribute) {
    case 1: *(void **)data = &context; return 0;
    case 2: *(unsigned *)data = 2; return 0;
    case 8: *(unsigned *)data = a->kind == MANAGED; return 0;
    default: return INVALID_VALUE;
    }
}

int cuCtxPushCurrent_v2(void *pushed)
{
    current = pushed;
    return 0;
}

int cuCtxPopCurrent_v2(void **popped)
{
    *popped = current;
    current = NULL;
    return 0;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t length)
{
    if (current != &context)
        return INVALID_CONTEXT;
    char *bytes = copied(from, length);
    if (!bytes)
        return ILLEGAL_ADDRESS;
    memcpy(to, bytes, length);
    return 0;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t length)
{
    if (current != &context || ways == 4)
        return INVALID_CONTEXT;
    char *bytes = copied(to, length);
    if (!bytes)
        return ILLEGAL_ADDRESS;
    under_way[ways].to = bytes;
    under_way[ways].bytes = memcpy(malloc(length), from, length);
    under_way[ways++].length = length;
    return 0;
}

int cuStreamSynchronize(void *stream)
{
    if (stream || current != &context)
        return INVALID_CONTEXT;
    while (ways > 0) {
        ways--;
        memcpy(under_way[ways].to, under_way[ways].bytes, under_way[ways].length);
        free(under_way[ways].bytes);
    }
    return 0;
}
#endif

#ifdef RUNTIME_HIP
static int version(void)
{
    return atoi(getenv("TRIB_TEST_HIP"));
}

int hipRuntimeGetVersion(int *number)
{
    *number = version();
    return 0;
}

/* Host 0, device 1, array 2 and managed 4 before HIP 6; none of its own 0, host 1, device 2, managed 3 since. */
int hipDrvPointerGetAttributes(unsigned count, int *attributes, void **data, void *address)
{
    struct allocation *a = find((uintptr_t)address);
    if (count != 1 || attributes[0] != 2)
        return 1;
    if (!a)
        *(unsigned *)data[0] = 0;
    else if (version() >= 60000000)
        *(unsigned *)data[0] = a->kind == DEVICE ? 2 : 1;
    else
        *(unsigned *)data[0] = a->kind == DEVICE ? 1 : 0;
    return 0;
}

int hipMemcpy(void *to, const void *from, size_t length, int kind)
{
    char *bytes = copied((uintptr_t)(kind == 1 ? to : from), length);
    if (!bytes || (kind != 1 && kind != 2))
        return 719;
    if (kind == 1)
        memcpy(bytes, from, length);
    else
        memcpy(to, bytes, length);
    return 0;
}
#endif
