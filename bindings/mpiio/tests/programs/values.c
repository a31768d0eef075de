/* A file opened with a hint that nobody means, one file for each argument KEY=VALUE, written and read. Every rank says what
 * came of it. In a value, \n is a repetition: x\7 stands for xxxxxxx. */
#include "program.h"

enum { COUNT = 300 };

/* The argument's value, with repetitions written out. */
static char *meant(const char *given)
{
    char *made = calloc(1, strlen(given) + 100000), *to = made, *end;
    for (; *given; given++) {
        if (*given != '\\') {
            *to++ = *given;
            continue;
        }
        long times = strtol(given + 1, &end, 10);
        TRUE(to > made && times > 0 && times < 100000);
        memset(to, to[-1], times - 1);
        to += times - 1;
        given = end - 1;
    }
    return made;
}

static void through(int number, const char *argument)
{
    int written[COUNT], read[COUNT] = {0}, code;
    char path[30], *hint = meant(argument), *is = strchr(hint, '=');
    MPI_Info info;
    MPI_Datatype view;
    MPI_File file;
    TRUE(is);
    *is = 0;
    snprintf(path, sizeof path, "values-%d", number);
    for (int i = 0; i < COUNT; i++)
        written[i] = value(rank, i);
    MUST(MPI_Info_create(&info));
    say("%.40s: info %s", argument, class_of(MPI_Info_set(info, hint, is + 1)));
    MUST(MPI_Type_vector(COUNT, 1, ranks, MPI_INT, &view));
    MUST(MPI_Type_commit(&view));
    code = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    say(", open %s", class_of(code));
    if (code == MPI_SUCCESS) {
        say(", view %s", class_of(MPI_File_set_view(file, 4 * rank, MPI_INT, view, "native", info)));
        say(", write %s", class_of(MPI_File_write_all(file, written, COUNT, MPI_INT, MPI_STATUS_IGNORE)));
        settle(file);
        code = MPI_File_read_at_all(file, 0, read, COUNT, MPI_INT, MPI_STATUS_IGNORE);
        say(", read %s %s", class_of(code), memcmp(read, written, sizeof read) ? "others" : "the same");
        MUST(MPI_File_close(&file));
    }
    say("\n");
    MUST(MPI_Info_free(&info));
    MUST(MPI_Type_free(&view));
    free(hint);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int i = 1; i < argc; i++)
        through(i, argv[i]);
    finish();
    return 0;
}
