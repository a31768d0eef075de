/* Calls the functions of the MPI library in the file of its first argument, as a program that is linked with it does: what is
 * preloaded comes first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    if (argc < 2 || !dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) {
        fprintf(stderr, "no library: %s\n", dlerror());
        return 1;
    }
    int (*open)(void *, const char *, int, void *, void **);
    int (*write_all)(void *, const void *, int, void *, void *);
    *(void **)&open = dlsym(RTLD_DEFAULT, "MPI_File_open");
    *(void **)&write_all = dlsym(RTLD_DEFAULT, "MPI_File_write_all");
    void *file = NULL;
    int value = 42, opened = open("the world", "data", 9, "no info", &file);
    int written = write_all(file, &value, 1, "an int", "a status");
    printf("codes %d and %d\n", opened, written);
    return 0;
}
