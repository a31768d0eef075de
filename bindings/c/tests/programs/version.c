/* Prints the version symbol of each library that is named. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **names)
{
    for (int i = 1; i < count; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        const char *version = library ? dlsym(library, "tributary_version") : NULL;
        if (!version) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        puts(version);
    }
    return 0;
}
