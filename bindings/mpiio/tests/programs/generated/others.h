/* Steps beside files: messages, persistent and generalised requests, tests of what is in flight; and calls by the shared pointer. */
#pragma once
#include "steps.h"

/* Receives and sends one message each between two ranks, complete only later. */
static void message(Chance &chance, Chance &own)
{
    int from = chance.below(at.ranks), to = (from + 1 + chance.below(std::max(1, at.ranks - 1))) % at.ranks, tag = at.step + 1;
    long bytes = chance.one_in(6) ? 100000 : chance.below(100);
    bool is_persistent = chance.one_in(3);
    for (int end = 0; end < 2; end++) {
        if (at.rank != (end ? from : to))
            continue;
        auto ticket = std::make_shared<Ticket>();
        ticket->kind = MESSAGE, ticket->tag = tag, ticket->source = end ? -1 : from, ticket->is_persistent = is_persistent;
        ticket->buffer.assign(bytes, end ? tag + from : 0);
        MPI_Request *request = &ticket->request;
        if (is_persistent && end)
            MUST(MPI_Send_init(ticket->buffer.data(), bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD, request));
        else if (is_persistent)
            MUST(MPI_Recv_init(ticket->buffer.data(), bytes, MPI_CHAR, from, tag, MPI_COMM_WORLD, request));
        else if (end)
            MUST(MPI_Isend(ticket->buffer.data(), bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD, request));
        else
            MUST(MPI_Irecv(ticket->buffer.data(), bytes, MPI_CHAR, from, tag, MPI_COMM_WORLD, request));
        if (is_persistent)
            MUST(MPI_Start(request));
        tickets.push_back(ticket);
    }
    note(text("a %smessage of %ld bytes from rank %d to %d", is_persistent ? "persistent " : "", bytes, from, to));
    (void)own;
}

static int no_answer(void *, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}
static int no_memory(void *) { return MPI_SUCCESS; }
static int no_cancelling(void *, int) { return MPI_SUCCESS; }

static void generalised()
{
    auto ticket = std::make_shared<Ticket>();
    ticket->kind = GENERALISED;
    MUST(MPI_Grequest_start(no_answer, no_memory, no_cancelling, nullptr, &ticket->request));
    tickets.push_back(ticket);
    note("a generalised request");
}

/* Looks once at requests in flight. What is then complete stays in flight for the model, until a later step. */
static void poke(Chance &own)
{
    Tickets chosen;
    for (auto &ticket : tickets)
        if (own.one_in(2) && (ticket->kind != GENERALISED || ticket->tag > 0 || own.one_in(2)))
            chosen.push_back(ticket);
    int way = own.below(4);
    if (!chosen.empty())
        Completion(chosen, own).once(way == 3 ? 7 : 3 + way, !own.one_in(3));
    forget();
}

/* One rank, or all in their order, by the shared pointer. */
static void shared(File &file, Chance &chance, Chance &own)
{
    if (!file.has_same_views || (file.has_bounds && !knows_bounds(false)))
        return;
    bool is_ordered = chance.one_in(2);
    Call call = random_call(file, is_ordered && !file.has_split, chance);
    call.position = SHARED;
    if (call.is_collective && call.way == NONBLOCKING)
        call.way = BLOCKING;
    if (!may_call(file, call))
        return;
    std::vector<int> ranks = call.is_collective ? file.group.members : std::vector<int>{chance.of(file.group.members)};
    bool moves = chance.one_in(3) && !file.has_split;
    if (file.is_mine())
        MUST(MPI_Barrier(file.group.comm));
    if (moves) {
        file.shared = chance.below(file.views[ranks[0]].at_or_after(file.reach / 2));
        if (file.is_mine())
            MUST(MPI_File_seek_shared(file.handle, file.shared, MPI_SEEK_SET));
    }
    std::vector<Planned> all;
    for (int rank : ranks) {
        all.push_back(plan(file, rank, call, chance, 30));
        begin(file, all.back(), chance);
    }
    blur_call(file, all);
    file.has_split |= call.way == SPLIT;
    for (Planned &planned : all)
        if (planned.access->rank == at.rank)
            perform(file, planned, own);
    if (!file.is_mine())
        return;
    MUST(MPI_Barrier(file.group.comm));
    MPI_Offset offset;
    MUST(MPI_File_get_position_shared(file.handle, &offset));
    if (offset != file.shared)
        differs(text("file %d: the shared pointer is at %lld instead of %ld", file.number, (long long)offset, file.shared));
    MUST(MPI_Barrier(file.group.comm));
}

/* Compares the file, as the system has it, with the model. */
static void compare(File &file)
{
    FILE *stream = fopen(file.path.c_str(), "r");
    if (!stream)
        return differs("file " + std::to_string(file.number) + " is not there");
    std::vector<uint8_t> bytes(file.model.size() + 100);
    bytes.resize(fread(bytes.data(), 1, bytes.size(), stream));
    fclose(stream);
    if ((long)bytes.size() != file.model.size())
        differs(text("file %d has %zu bytes instead of %ld", file.number, bytes.size(), file.model.size()));
    long wrong = 0, first = -1;
    for (size_t i = 0; i < bytes.size() && i < file.model.bytes.size(); i++)
        if (bytes[i] != file.model.bytes[i] && file.model.bytes[i] != ANYTHING && wrong++ == 0)
            first = i;
    if (wrong > 0)
        differs(text("file %d: byte %ld is %d instead of %d, and %ld others are wrong", file.number, first, bytes[first], file.model.bytes[first], wrong - 1));
}
