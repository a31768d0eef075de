/* One access of one rank: a random place that the model allows, and the call. */
#pragma once
#include "calls.h"
#include "requests.h"

/* An access that is chosen, and what this rank needs to call MPI. */
struct Planned {
    std::shared_ptr<Access> access;
    Call call;
    /* In etypes. */
    long offset = 0, count = 0;
    /* The pointer must be moved first. */
    bool seeks = false;
};

/* True if the library runs the call, where it is used. */
static bool is_for_library(const File &file, const Call &call)
{
    return call.is_collective && call.position != SHARED && !file.is_atomic;
}

/* Only the library, and not in atomic mode, in which MPI runs the calls: a write counts that follows a blocking collective write, in which
 * another rank wrote the byte. For MPI it is not defined without a synchronisation. */
static bool orders_calls(const File &file)
{
    return has_library && !file.is_atomic;
}

/* How much a rank accesses: what is left to chance, nothing, or all that it sees. */
enum Amount { SOME, NONE, ALL };

/* The offset and number of etypes that a rank might access. */
static void propose(const File &file, int rank, bool writes, Amount amount, Chance &chance, long &offset, long &count)
{
    const View &view = file.views[rank];
    long end = view.at_or_after(file.reach), size = view.at_or_after(file.model.size()), begun = view.at_or_after(file.model.begun_size());
    if (!writes && !chance.one_in(8))
        end = std::min(end, size);
    int kind = amount == NONE ? 0 : amount == ALL ? 1 : chance.below(10);
    switch (kind) {
    case 8: // a hole that was beyond the end of the file, for reads; a new one, for writes
        offset = writes ? size + chance.below(end / 4 + 1) : begun, count = chance.between(0, 1 + end / 8);
        break;
    case 0: offset = 0, count = 0; break;
    case 1:
    case 2: offset = 0, count = end; break;
    case 3: offset = chance.below(end), count = chance.between(0, std::min(8L, end - offset)); break;
    case 4: offset = std::min(end, size), count = chance.between(0, 20); break;
    default: offset = chance.below(end), count = chance.between(0, end - offset);
    }
}

static bool undoes_writes(const Access &access) { return access.writes && access.bytes > 0 && sieves_writes(access.is_for_library); }
static int call_of(const Access &access) { return access.is_collective ? -1 - access.step : access.rank; }

static bool meets_end(const File &file, const Access &access) { return !access.writes && access.end() > file.model.size(); }

/* True if the access makes bytes in its holes unknown. */
static bool blurs(const Access &access)
{
    return access.writes && !access.is_for_library && access.places.size() > 1 && leaves_garbage(false);
}

/* Chooses a place that the model allows; the access may be of 0 bytes. */
static Planned plan(File &file, int rank, Call call, Chance &chance, long most = LONG_MAX, Amount amount = SOME)
{
    const View &view = file.views[rank];
    Planned planned = {std::make_shared<Access>(), call};
    Access &access = *planned.access;
    access.file = file.number, access.rank = rank, access.step = at.step, access.writes = call.writes;
    access.is_for_library = is_for_library(file, call), access.is_split = call.way == SPLIT, access.is_collective = call.is_collective, access.follows = orders_calls(file), access.call = call.name();
    bool stays = call.position == SHARED || (call.position == POINTER && file.pointers[rank] >= 0 && chance.one_in(2));
    for (int tries = 0;; tries++) {
        propose(file, rank, call.writes, amount, chance, planned.offset, planned.count);
        planned.count = std::min(planned.count >> (tries / 2 * 2), most);
        if (stays)
            planned.offset = call.position == SHARED ? file.shared : file.pointers[rank];
        if (tries == 8)
            planned.count = 0;
        access.bytes = planned.count * view.etype.size;
        access.places = view.places(planned.offset * view.etype.size, access.bytes);
        if ((access.end() <= 2 * file.reach && file.model.allows(access) && !(meets_end(file, access) && call.way == NONBLOCKING && waits_at_end(access.is_for_library)) && !(blurs(access) && file.model.is_read_from(access)) &&
             !(undoes_writes(access) && file.model.is_undone(access, call_of(access))) &&
             !(call.position == SHARED && meets_end(file, access))) || planned.count == 0)
            break;
    }
    planned.seeks = call.position == POINTER && !stays;
    return planned;
}

/* Puts the access into the model. */
static void begin(File &file, Planned &planned, Chance &chance)
{
    Access &access = *planned.access;
    bool is_alike = chance.one_in(6);
    uint8_t byte = 1 + chance.below(255);
    if (access.writes)
        for (long i = 0; i < access.bytes; i++)
            access.data.push_back(is_alike ? byte : 1 + chance.next() % 255);
    if (blurs(access))
        file.model.blur(access.places[0].at, access.end());
    if (undoes_writes(access))
        file.model.mpi_writes(access, call_of(access));
    file.model.begin(planned.access);
    long &pointer = planned.call.position == SHARED ? file.shared : file.pointers[access.rank];
    if (planned.call.position != EXPLICIT)
        pointer = (planned.call.position == SHARED ? file.shared : planned.offset) + planned.count;
    // MPI libraries differ in where a read at the end of the file leaves the pointer.
    if (!access.writes && planned.call.position == POINTER && (long)access.data.size() < access.bytes)
        pointer = -1;
    if (planned.call.way == BLOCKING)
        file.model.end(planned.access);
    if (access.rank == at.rank) {
        std::string said = text("file %d: %s at %ld: %ld etypes, %ld bytes", file.number, access.call.c_str(), planned.offset, planned.count, access.bytes);
        if (access.bytes > 0)
            said += text(" in [%ld, %ld), %zu pieces", access.places[0].at, access.end(), access.places.size());
        note(said);
    } else if (at.verbose) {
        note(text("(rank %d: %s at %ld: %ld bytes in [%ld, %ld), %zu pieces)", access.rank, access.call.c_str(), planned.offset, access.bytes, access.bytes ? access.places[0].at : 0, access.end(), access.places.size()));
    }
}

/* Units of memory for an access: those of the view's elements, or any for bytes. */
static Leaf leaf_for(const View &view, long bytes, Chance &own)
{
    std::string name = view.etype.text;
    std::vector<Leaf> all = leaves(), fit;
    for (const Leaf &leaf : all) {
        bool is_own = name.find(leaf.name) != std::string::npos;
        if (is_own && leaf.handle != MPI_BYTE)
            return leaf;
        if (bytes % leaf.size == 0)
            fit.push_back(leaf);
    }
    return own.of(fit);
}

/* Calls MPI for this rank. */
static void perform(File &file, Planned &planned, Chance &own)
{
    Access &access = *planned.access;
    const View &view = file.views[at.rank];
    if (planned.seeks)
        MUST(MPI_File_seek(file.handle, planned.offset, MPI_SEEK_SET));
    Leaf leaf = leaf_for(view, access.bytes, own);
    bool is_alike = access.writes && std::count(access.data.begin(), access.data.end(), access.data.empty() ? 0 : access.data[0]) == (long)access.data.size();
    access.memory = std::make_unique<Memory>(own, leaf, access.bytes / leaf.size, is_alike, knows_bounds(access.is_for_library));
    Memory &memory = *access.memory;
    note(text("  memory: %d ", memory.count) + memory.type.text);
    if (access.writes)
        memory.fill(access.data);
    MPI_Status status;
    auto ticket = std::make_shared<Ticket>();
    bool has_status = !own.one_in(6);
    at.call = access.call.c_str();
    must(called(planned.call, file.handle, planned.offset, memory.address, memory.count, memory.type.handle,
                has_status ? &status : MPI_STATUS_IGNORE, &ticket->request), access.call.c_str(), __LINE__);
    if (planned.call.way == BLOCKING)
        check(access, has_status ? &status : MPI_STATUS_IGNORE);
    if (planned.call.way == NONBLOCKING)
        ticket->access = planned.access, tickets.push_back(ticket);
    if (planned.call.position == POINTER && file.pointers[at.rank] >= 0 && own.one_in(3)) {
        MPI_Offset offset;
        MUST(MPI_File_get_position(file.handle, &offset));
        if (offset != file.pointers[at.rank])
            differs(text("file %d: the pointer is at %lld instead of %ld after %s", file.number, (long long)offset, file.pointers[at.rank], access.call.c_str()));
    }
}
