/* A library to preload that says on standard error which aggregators OMPIO of Open MPI 4 is told when a view is set
 * ("infos: cb_nodes VALUE", or "infos: cb_nodes -" if none): it looks for the hint in the file's info. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int opal_info_get(void *info, const char *key, int length, char *value, int *found)
{
    int (*next)(void *, const char *, int, char *, int *) =
        (int (*)(void *, const char *, int, char *, int *))dlsym(RTLD_NEXT, "opal_info_get");
    int code = next(info, key, length, value, found);
    Dl_info caller;
    if (!strcmp(key, "cb_nodes") && dladdr(__builtin_return_address(0), &caller) && strstr(caller.dli_fname, "ompio"))
        dprintf(2, "infos: cb_nodes %s\n", *found ? value : "-");
    return code;
}
