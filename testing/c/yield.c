/* MPICH over UCX asks for progress in a loop and never gives its core to another rank. Preloaded under a test's programs,
 * this gives it up whenever there was nothing to do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    if (!next)
        next = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    if (!next) { /* loaded where only those see it who loaded it */
        void *library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
        next = (unsigned (*)(void *))dlsym(library, "ucp_worker_progress");
    }
    unsigned events = next(worker);
    if (events == 0)
        sched_yield();
    return events;
}
