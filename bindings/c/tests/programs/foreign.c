/* The hints in TRIB_TEST_HINTS (key=value;key=value) are in force, although the program itself sets two hints. */
#include "check.h"

int main(int argc, char **argv) {
    trib_file *file;
    char value[64], due[1000];
    start(&argc, &argv);
    EXPECT(getenv("TRIB_TEST_HINTS") != NULL);
    snprintf(due, sizeof due, "%s", getenv("TRIB_TEST_HINTS"));
    OK(trib_open(MPI_COMM_WORLD, argv[1], TRIB_CREATE, "cb_buffer_size=3MiB; striping_unit=12288", &file));
    for (char *key = strtok(due, ";"); key != NULL; key = strtok(NULL, ";")) {
        char *is = strchr(key, '=');
        EXPECT(is != NULL);
        *is = '\0';
        OK(trib_get_hint(file, key, value, sizeof value, NULL));
        if (strcmp(value, is + 1) != 0)
            fprintf(stderr, "%s is %s, not %s\n", key, value, is + 1);
        EXPECT(strcmp(value, is + 1) == 0);
    }
    OK(trib_close(&file));
    return finish();
}
