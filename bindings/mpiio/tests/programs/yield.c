/* MPICH over UCX asks for progress in a loop and never gives its core to another rank. Preloaded under a test's programs,
 * this gives it up whenever there was nothing to do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    if (!next)
        next = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    unsigned events = next(worker);
    if (events == 0)
        sched_yield();
    return events;
}
