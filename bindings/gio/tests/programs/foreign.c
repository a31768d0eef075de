/* The hints of TRIB_TEST_HINTS, key=value;key=value, are in force in a file that asks for two itself. */
#include "check.h"

int main(int argc, char **argv) {
    GIO_File fh;
    MPI_Info given, used;
    char value[MPI_MAX_INFO_VAL + 1], due[1000];
    int found;
    start(&argc, &argv);
    IS(getenv("TRIB_TEST_HINTS") != NULL, 1);
    snprintf(due, sizeof due, "%s", getenv("TRIB_TEST_HINTS"));
    MPI_Info_create(&given);
    MPI_Info_set(given, "cb_buffer_size", "3145728");
    MPI_Info_set(given, "striping_unit", "12288");
    OK(GIO_open(MPI_COMM_WORLD, argv[1], O_CREAT | O_RDWR, given, &fh));
    MPI_Info_free(&given);
    OK(GIO_get_info(fh, &used));
    for (char *key = strtok(due, ";"); key != NULL; key = strtok(NULL, ";")) {
        char *at = strchr(key, '=');
        *at = 0;
        MPI_Info_get(used, key, MPI_MAX_INFO_VAL, value, &found);
        IS(found, 1);
        if (strcmp(value, at + 1) != 0)
            fprintf(stderr, "%s is %s, not %s\n", key, value, at + 1);
        IS(strcmp(value, at + 1), 0);
    }
    MPI_Info_free(&used);
    OK(GIO_close(&fh));
    return finish();
}
