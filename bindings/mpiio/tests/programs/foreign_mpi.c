/* A library with functions of MPI's names, of a binary interface that nobody knows: its handles are texts. */
#include <stdio.h>
#include <string.h>

/* Both of a function's names. */
#define BOTH(name) \
    int name() __attribute__((alias(#name "_here"))); \
    int P##name() __attribute__((alias(#name "_here")))

int MPI_Get_library_version_here(char *text, int *length) {
    strcpy(text, "Foreign MPI 1.0");
    *length = (int)strlen(text);
    return 0;
}

int MPI_Type_size_here(void *datatype, int *size) {
    (void)datatype;
    *size = 0;
    return 1;
}

int MPI_File_open_here(void *comm, const char *name, int amode, void *info, void **file) {
    printf("open %s, mode %d, of %s with %s\n", name, amode, (char *)comm, (char *)info);
    *file = "a file";
    return 0;
}

int MPI_File_write_all_here(void *file, const void *buffer, int count, void *datatype, void *status) {
    printf("write_all to %s: %d of %s at %d, %s\n", (char *)file, count, (char *)datatype, *(const int *)buffer,
           (char *)status);
    return 5;
}

BOTH(MPI_Get_library_version);
BOTH(MPI_Type_size);
BOTH(MPI_File_open);
BOTH(MPI_File_write_all);
