/* Requests of this rank, those of files and others, and the calls that complete them, in any mix. */
#pragma once
#include "files.h"
#include <sched.h>

enum Kind { OF_FILE, MESSAGE, GENERALISED };

struct Ticket {
    MPI_Request request = MPI_REQUEST_NULL;
    Kind kind = OF_FILE;
    std::shared_ptr<Access> access;
    std::vector<char> buffer;
    /* The source of a message that is received, and its tag. */
    int source = -1, tag = 0;
    /* A request that stays, inactive, when it is complete. */
    bool is_persistent = false;
    bool is_active = true;
};

static std::vector<std::shared_ptr<Ticket>> tickets;

/* Checks what a completed access has returned. */
static void check(Access &access, MPI_Status *status)
{
    std::string what;
    access.is_checked = true;
    long ignored = access.writes ? 0 : access.bytes - (long)access.data.size();
    if (access.memory->wrong(access.data, ignored, what) >= 0)
        differs(text("file %d, %s of step %d%s: ", access.file, access.call.c_str(), access.step,
                     access.writes ? ": the memory of a write has changed" : "") + what);
    if (access.bytes == 0 && forgets_status(access.is_for_library))
        return;
    if (status == MPI_STATUS_IGNORE || (ignored > 0 && miscounts_at_end(access.is_for_library)))
        return;
    MPI_Count bytes;
    MUST(MPI_Get_elements_x(status, MPI_BYTE, &bytes));
    if (bytes != (long)access.data.size())
        differs(text("file %d, %s of step %d: the status has %lld bytes instead of %zu", access.file, access.call.c_str(), access.step, (long long)bytes, access.data.size()));
    int count;
    if (access.memory->type.size > 0 && bytes == access.bytes) {
        MUST(MPI_Get_count(status, access.memory->type.handle, &count));
        if (count != access.memory->count)
            differs(text("file %d, %s of step %d: the status counts %d elements instead of %d", access.file, access.call.c_str(), access.step, count, access.memory->count));
    }
}

static void ended(Ticket &ticket, MPI_Status *status)
{
    ticket.is_active = false;
    if (ticket.kind == OF_FILE)
        return check(*ticket.access, status);
    if (ticket.kind == GENERALISED || ticket.source < 0)
        return;
    for (char byte : ticket.buffer)
        if (byte != (char)(ticket.tag + ticket.source))
            return differs(text("a message of tag %d from rank %d has other bytes", ticket.tag, ticket.source));
    int bytes;
    if (status != MPI_STATUS_IGNORE) {
        MUST(MPI_Get_count(status, MPI_CHAR, &bytes));
        if (status->MPI_SOURCE != ticket.source || status->MPI_TAG != ticket.tag || bytes != (int)ticket.buffer.size())
            differs(text("a message of tag %d from rank %d: the status has tag %d, rank %d, %d bytes", ticket.tag, ticket.source, status->MPI_TAG, status->MPI_SOURCE, bytes));
    }
}

using Tickets = std::vector<std::shared_ptr<Ticket>>;

/* Lets a generalised request end. */
static void release(const Tickets &chosen)
{
    for (auto &ticket : chosen)
        if (ticket->kind == GENERALISED && ticket->is_active && ticket->tag++ == 0)
            MUST(MPI_Grequest_complete(ticket->request));
}

/* Completes these requests by one of MPI's calls, or by several. */
class Completion {
    Tickets chosen;
    std::vector<MPI_Request> requests;
    std::vector<MPI_Status> statuses;
    std::vector<int> indices;
    long left = 0;

    int count() const { return requests.size(); }
    void take(int i, MPI_Status *status)
    {
        if (i < 0 || i >= count() || !chosen[i] || !chosen[i]->is_active)
            return differs(text("%s returns index %d, which is not active", at.call, i));
        bool stays = chosen[i]->is_persistent;
        if ((requests[i] == MPI_REQUEST_NULL) == stays)
            differs(text("%s: request %d is %s", at.call, i, stays ? "gone, but persistent" : "not null"));
        ended(*chosen[i], status);
        chosen[i]->request = requests[i], left--;
    }
    void take_all(bool with_status)
    {
        for (int i = 0; i < count(); i++)
            if (chosen[i] && chosen[i]->is_active)
                take(i, with_status ? &statuses[i] : MPI_STATUS_IGNORE);
    }
    /* True if MPI runs one of these. */
    bool has_files() const
    {
        for (auto &ticket : chosen)
            if (ticket && ticket->kind == OF_FILE && ticket->is_active && is_mpi_s(ticket->access->is_for_library))
                return true;
        return false;
    }
    MPI_Status *list(bool with_status) { return with_status ? statuses.data() : MPI_STATUSES_IGNORE; }

  public:
    Completion(Tickets of, Chance &own) : chosen(of)
    {
        for (int nulls = own.below(3); nulls > 0; nulls--)
            chosen.push_back(nullptr);
        own.shuffle(chosen);
        for (auto &ticket : chosen) {
            requests.push_back(ticket ? ticket->request : MPI_REQUEST_NULL);
            left += ticket && ticket->is_active;
        }
        statuses.resize(count() + 1), indices.resize(count() + 1);
    }

    /* Calls MPI once. A call that waits ends at least one request. */
    void once(int way, bool s)
    {
        int flag = 0, i = -1, n = 0;
        MPI_Status status;
        switch (way) {
        case 0:
            MUST(MPI_Waitall(count(), requests.data(), list(s))), take_all(s); break;
        case 1:
            MUST(MPI_Waitany(count(), requests.data(), &i, &status)), take(i, &status);
            break;
        case 2:
            MUST(MPI_Waitsome(count(), requests.data(), &n, indices.data(), list(s)));
            for (int j = 0; j < n; j++)
                take(indices[j], s ? &statuses[j] : MPI_STATUS_IGNORE);
            break;
        case 3:
            if (dies_of_testall() && has_files())
                return each(7, s);
            MUST(MPI_Testall(count(), requests.data(), &flag, list(s)));
            if (flag)
                take_all(s);
            break;
        case 4:
            MUST(MPI_Testany(count(), requests.data(), &i, &flag, &status));
            if (flag && i != MPI_UNDEFINED)
                take(i, &status);
            else if (flag && left > 0)
                differs("MPI_Testany finds no active request");
            break;
        case 5:
            MUST(MPI_Testsome(count(), requests.data(), &n, indices.data(), list(s)));
            for (int j = 0; j < n; j++)
                take(indices[j], s ? &statuses[j] : MPI_STATUS_IGNORE);
            break;
        default: each(way, s);
        }
    }

    /* The calls on one request, for each that is active. */
    void each(int way, bool s)
    {
        MPI_Status status;
        int flag;
        for (int i = 0; i < count(); i++) {
            if (!chosen[i] || !chosen[i]->is_active)
                continue;
            if (way == 8 && !(chosen[i]->is_persistent && ends_persistent_early()))
                MUST(MPI_Request_get_status(requests[i], &flag, s ? &status : MPI_STATUS_IGNORE));
            if (way == 7)
                MUST(MPI_Test(&requests[i], &flag, &status));
            else
                MUST(MPI_Wait(&requests[i], s ? &status : MPI_STATUS_IGNORE)), flag = 1;
            if (flag)
                take(i, way == 7 || s ? &status : MPI_STATUS_IGNORE);
        }
    }

    void all(Chance &own)
    {
        int way = own.below(11);
        bool with_status = !own.one_in(4);
        while (left > 0) {
            once(way >= 9 ? own.below(9) : way, with_status);
            if (left > 0)
                sched_yield();
        }
    }
};

/* Takes away what is complete and does not stay. */
static void forget()
{
    auto is_over = [](const std::shared_ptr<Ticket> &ticket) { return !ticket->is_active && !ticket->is_persistent; };
    tickets.erase(std::remove_if(tickets.begin(), tickets.end(), is_over), tickets.end());
}

/* Completes this rank's requests of these accesses, and of others by chance. */
static void complete(const std::vector<std::shared_ptr<Access>> &accesses, Chance &own)
{
    Tickets chosen;
    for (auto &ticket : tickets) {
        bool is_named = std::find(accesses.begin(), accesses.end(), ticket->access) != accesses.end();
        if (ticket->kind == OF_FILE ? is_named : own.one_in(2))
            chosen.push_back(ticket);
    }
    release(chosen);
    Completion(chosen, own).all(own);
    forget();
}
