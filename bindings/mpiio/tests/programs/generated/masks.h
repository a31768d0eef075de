/* What an MPI does wrong without the library: the generator avoids it, or does not check it, where MPI runs the call. */
#pragma once
#include "context.h"

enum Runner { MPICH_ROMIO, OMPIO, OPEN_MPI_ROMIO };

static Runner runner;
/* True if the library runs the collective calls. */
static bool has_library = true, is_masked = true;

static void choose_runner(const char *version)
{
    const char *io = getenv("OMPI_MCA_io");
    runner = !strstr(version, "Open MPI") ? MPICH_ROMIO : io && strstr(io, "romio") ? OPEN_MPI_ROMIO : OMPIO;
    at.library = std::string(version, strcspn(version, "\n")) + (runner == OPEN_MPI_ROMIO ? ", ROMIO" : "") + (has_library ? "" : ", alone");
}

/* True if MPI runs calls of this kind, and is spared what it does wrong. */
static bool is_mpi_s(bool is_for_library) { return is_masked && !(has_library && is_for_library); }

/* MPICH 4.0.2, Open MPI 4.1.4 (ROMIO and OMPIO): data sieving of a write puts into holes beyond the end of the file what was in its
 * memory. */
static bool leaves_garbage(bool is_for_library) { return is_mpi_s(is_for_library); }

/* The same: the status of a collective read beyond the end of the file has the bytes that were asked for. */
static bool miscounts_at_end(bool is_for_library) { return is_mpi_s(is_for_library); }

/* ROMIO: a type whose lower bound is not where its data begin is read and written in the wrong place; such a view may be refused. */
static bool knows_bounds(bool is_for_library) { return !is_mpi_s(is_for_library) || runner == OMPIO; }

/* ROMIO: a nonblocking collective call advances only in calls that complete its own request, so ranks that wait for two in different
 * orders wait for ever. */
static bool needs_each_wait(bool is_for_library) { return is_mpi_s(is_for_library) && runner != OMPIO; }

/* MPICH 4.0.2: MPI_Testall ends the job if a request of MPI_File_iwrite or MPI_File_iread is among others. */
static bool dies_of_testall() { return runner == MPICH_ROMIO; }

/* MPICH 4.3.2, 5.0.2: MPI_Request_get_status makes a persistent request inactive, so the call that completes it sets an empty status. */
static bool ends_persistent_early() { return is_masked && runner == MPICH_ROMIO && at.library.find(" 4.0") == at.library.npos; }

/* Open MPI 4.1.4: the status of a call without data has what was in memory. */
static bool forgets_status(bool is_for_library) { return is_mpi_s(is_for_library) && runner != MPICH_ROMIO; }

/* OMPIO 4.1.4: a nonblocking read beyond the end of the file never ends. */
static bool waits_at_end(bool is_for_library) { return is_mpi_s(is_for_library) && runner == OMPIO; }

/* OMPIO 4.1.4: MPI_File_sync fails while a nonblocking call of the process is in flight on any file. */
static bool sync_fails_beside_requests() { return is_mpi_s(false) && runner == OMPIO; }

/* OMPIO 4.1.4: MPI_File_open with MPI_MODE_CREATE and without MPI_MODE_EXCL sometimes fails on some ranks, and the others wait for ever. */
static bool waits_in_open() { return is_masked && runner == OMPIO; }

/* ROMIO: a strided write reads a part of the file, changes it, and writes it back. What others write meanwhile into holes is lost: other
 * writes take no lock. */
static bool sieves_writes(bool is_for_library) { return is_mpi_s(is_for_library) && runner != OMPIO; }

/* The library without MPI_THREAD_MULTIPLE, where ranks exchange messages (docs/reference/preload-library.md#calls-in-flight): a call in flight
 * does not advance while its rank is in MPI_Barrier. */
static bool has_threads, has_hosts;
static bool advances_only_in_waits(const std::string &hints)
{
    std::string all = hints + (getenv("TRIB_HINTS") ? getenv("TRIB_HINTS") : "");
    bool has_messages = has_hosts || all.find("trib_shared_memory=disable") != all.npos || all.find("trib_ranks_per_node") != all.npos;
    return is_masked && has_library && !has_threads && has_messages;
}

/* Finds out whether ranks are on several hosts. Collective. */
static void look_at_hosts()
{
    char own[MPI_MAX_PROCESSOR_NAME] = "", first[MPI_MAX_PROCESSOR_NAME];
    int length, differs, any;
    MUST(MPI_Get_processor_name(own, &length));
    memcpy(first, own, sizeof own);
    MUST(MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD));
    differs = strcmp(first, own) != 0;
    MUST(MPI_Allreduce(&differs, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    has_hosts = any;
}

static bool may_hint(const char *, const char *) { return true; }
static bool may_preallocate() { return true; }
