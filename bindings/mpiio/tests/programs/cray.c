/* Preloaded under a program on MPICH, this has it say what Cray's says of itself. */
#include <string.h>

static const char SAID[] = "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)\nMPI BUILD INFO : Wed Mar 15";

int MPI_Get_library_version(char *text, int *length) {
    strcpy(text, SAID);
    *length = (int)strlen(SAID);
    return 0;
}

int PMPI_Get_library_version(char *text, int *length) { return MPI_Get_library_version(text, length); }
