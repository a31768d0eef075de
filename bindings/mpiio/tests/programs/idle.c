/* An MPI program that never opens a file. */
#include "program.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    say("no file\n");
    finish();
    return 0;
}
