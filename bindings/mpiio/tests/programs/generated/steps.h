/* The steps of a program. All ranks choose alike what each does, and each does its part. */
#pragma once
#include "accesses.h"

static std::vector<std::unique_ptr<File>> files;

/* The masks that concern a call on a file. */
static bool may_call(const File &file, const Call &call)
{
    bool is_ours = is_for_library(file, call);
    return (!file.has_bounds || knows_bounds(is_ours)) && !(call.is_collective && call.way == NONBLOCKING && needs_each_wait(is_ours));
}

/* Waits a little on some ranks, so that the ranks meet in another order. */
static void dawdle(Chance &own)
{
    if (own.one_in(8))
        usleep(own.below(300));
}

static Call random_call(const File &file, bool is_collective, Chance &chance)
{
    bool writes = file.may_write() && (!file.may_read() || chance.below(3) > 0);
    Position position = chance.one_in(2) ? EXPLICIT : POINTER;
    Way way = chance.one_in(2) ? BLOCKING : NONBLOCKING;
    if (is_collective && !file.has_split && chance.one_in(4))
        way = SPLIT;
    return {position, way, is_collective, writes};
}

/* Forgets what a call of several ranks may have put into holes beyond the end of the file. */
static void blur_call(File &file, const std::vector<Planned> &all)
{
    long from = LONG_MAX, end = 0;
    for (const Planned &planned : all)
        if (planned.access->bytes > 0)
            from = std::min(from, planned.access->places[0].at), end = std::max(end, planned.access->end());
    if (all[0].call.writes && leaves_garbage(is_for_library(file, all[0].call)))
        file.model.blur(from, end);
}

/* One collective call of all members; `amounts` are those of the members. If it `overlaps`, ranks may write the same bytes, of which any
 * is in the file then. */
static void collective(File &file, Call call, const std::vector<Amount> &amounts, Chance &chance, Chance &own, bool overlaps = false)
{
    if (!may_call(file, call))
        return;
    std::vector<Planned> all;
    for (size_t i = 0; i < amounts.size(); i++) {
        all.push_back(plan(file, file.group.members[i], call, chance, LONG_MAX, amounts[i]));
        begin(file, all.back(), chance);
        if (overlaps)
            file.model.end_call(*all.back().access);
    }
    for (Planned &planned : all)
        if (overlaps)
            file.model.forget(*planned.access);
    blur_call(file, all);
    file.has_split |= call.way == SPLIT;
    for (Planned &planned : all)
        if (planned.access->rank == at.rank)
            perform(file, planned, own);
    for (Planned &planned : all)
        if (orders_calls(file) && planned.access->is_for_library && call.way == BLOCKING && call.writes)
            file.model.end_call(*planned.access);
}

static void collective(File &file, Chance &chance, Chance &own)
{
    // In some calls, some ranks have no data: others then write between.
    bool some = chance.one_in(4);
    std::vector<Amount> amounts;
    for (size_t i = 0; i < file.group.members.size(); i++)
        amounts.push_back(some && chance.one_in(2) ? NONE : SOME);
    collective(file, random_call(file, true, chance), amounts, chance, own);
}

/* Ranks without data write all that they see while a collective call of the others is in flight. */
static void beside(File &file, Chance &chance, Chance &own)
{
    Position position = chance.one_in(2) ? EXPLICIT : POINTER;
    Call call = {position, chance.one_in(2) ? SPLIT : NONBLOCKING, true, true}, alone = {position, BLOCKING, false, true};
    if (file.has_split || !file.may_write() || !may_call(file, call) || !may_call(file, alone))
        return;
    std::vector<Amount> amounts;
    for (size_t i = 0; i < file.group.members.size(); i++)
        amounts.push_back(chance.one_in(2) ? NONE : ALL);
    collective(file, call, amounts, chance, own);
    for (size_t i = 0; i < amounts.size(); i++) {
        if (amounts[i] == ALL)
            continue;
        Planned planned = plan(file, file.group.members[i], alone, chance, LONG_MAX, ALL);
        begin(file, planned, chance);
        if (file.group.members[i] == at.rank)
            perform(file, planned, own);
    }
}

/* One rank writes by a collective call, and another one writes the same after it. */
static void over(File &file, Chance &chance, Chance &own)
{
    Call call = {EXPLICIT, BLOCKING, true, true}, alone = {EXPLICIT, BLOCKING, false, true};
    size_t count = file.group.members.size(), first = chance.below(count), second = chance.below(count);
    if (!file.has_same_views || file.has_split || !file.may_write() || !orders_calls(file) || !may_call(file, alone))
        return;
    std::vector<Amount> amounts(count, NONE);
    bool overlaps = chance.one_in(2);
    amounts[first] = ALL, amounts[second] = overlaps ? ALL : NONE;
    collective(file, call, amounts, chance, own, overlaps);
    amounts[first] = NONE, amounts[second] = ALL;
    if (chance.one_in(2))
        return collective(file, call, amounts, chance, own);
    int rank = file.group.members[second];
    Planned planned = plan(file, rank, alone, chance, LONG_MAX, ALL);
    begin(file, planned, chance);
    if (rank == at.rank)
        perform(file, planned, own);
}

/* Independent calls of some members, also while collective calls are in flight. */
static void independent(File &file, Chance &chance, Chance &own)
{
    for (int rank : file.group.members)
        for (int n = chance.below(3); n > 0; n--) {
            Call call = random_call(file, false, chance);
            if (!may_call(file, call))
                continue;
            Planned planned = plan(file, rank, call, chance);
            begin(file, planned, chance);
            if (rank == at.rank)
                perform(file, planned, own);
        }
}

/* Completes accesses that are in flight on a file: all, or some of each rank. */
static void complete_on(File &file, bool all, Chance &chance, Chance &own)
{
    std::vector<std::shared_ptr<Access>> chosen, mine;
    for (auto &access : file.model.flying)
        if (!access->is_split && (all || chance.one_in(2)))
            chosen.push_back(access);
    for (auto &access : chosen) {
        file.model.end(access);
        if (access->rank == at.rank)
            mine.push_back(access);
    }
    if (!mine.empty() || own.one_in(4))
        complete(mine, own);
}

static void end_split(File &file)
{
    std::vector<std::shared_ptr<Access>> flying = file.model.flying;
    for (auto &access : flying) {
        if (!access->is_split)
            continue;
        file.model.end(access);
        if (access->rank != at.rank)
            continue;
        MPI_Status status;
        at.call = access->call.c_str();
        must(ended_split(access->call, file.handle, access->memory->address, &status), access->call.c_str(), __LINE__);
        check(*access, &status);
    }
    file.has_split = false;
}

/* Nothing of this file is in flight after it. */
static void settle(File &file, Chance &chance, Chance &own)
{
    bool split_first = chance.one_in(2);
    if (split_first && file.has_split)
        end_split(file);
    complete_on(file, true, chance, own);
    if (file.has_split)
        end_split(file);
}

/* Every rank sees afterwards what all have written. */
static void synchronise(File &file, Chance &chance, Chance &own)
{
    bool by_barrier = (chance.one_in(2) && file.is_atomic) || !file.may_write();
    settle(file, chance, own);
    for (auto &other : files)
        if (sync_fails_beside_requests())
            complete_on(*other, true, chance, own);
    file.model.synchronise();
    if (!file.is_mine())
        return;
    note(text("file %d: %s", file.number, by_barrier ? "barrier" : "sync, barrier, sync"));
    if (!by_barrier)
        MUST(MPI_File_sync(file.handle));
    MUST(MPI_Barrier(file.group.comm));
    if (!by_barrier)
        MUST(MPI_File_sync(file.handle));
}

/* Changes the size. MPI says that this conflicts with accesses to the bytes in between. */
static void resize(File &file, Chance &chance, Chance &own)
{
    long size = chance.below(file.reach), old = file.model.size();
    settle(file, chance, own);
    if (file.model.is_used_from(std::min(size, old)))
        synchronise(file, chance, own);
    bool reserves = size > old && chance.one_in(2);
    note(text("file %d: %s to %ld from %ld", file.number, reserves ? "preallocate" : "set_size", size, old));
    if (reserves && !may_preallocate())
        return;
    file.model.resize(size);
    // What is in new bytes is not defined.
    if (reserves)
        std::fill(file.model.bytes.begin() + old, file.model.bytes.begin() + size, ANYTHING);
    if (file.is_mine() && reserves)
        MUST(MPI_File_preallocate(file.handle, size));
    else if (file.is_mine())
        MUST(MPI_File_set_size(file.handle, size));
    if (chance.one_in(2) || reserves)
        synchronise(file, chance, own);
}

/* Local questions: the size, a pointer, a place in the file. */
static void ask(File &file, Chance &chance, Chance &own)
{
    MPI_Offset answer;
    for (int rank : file.group.members) {
        bool may_ask = file.model.may_ask_size(rank);
        if (may_ask)
            file.model.meet_end(rank);
        if (rank != at.rank)
            continue;
        if (may_ask) {
            MUST(MPI_File_get_size(file.handle, &answer));
            if (answer != file.model.size())
                differs(text("file %d: the size is %lld instead of %ld", file.number, (long long)answer, file.model.size()));
        }
        const View &view = file.views[rank];
        long offset = own.below(200), place = view.places(offset * view.etype.size, 1)[0].at;
        MUST(MPI_File_get_byte_offset(file.handle, offset, &answer));
        if (answer != place && view.etype.first() == 0 && (!file.has_bounds || knows_bounds(false)))
            differs(text("file %d: etype %ld is at byte %lld instead of %ld", file.number, offset, (long long)answer, place));
        if (file.pointers[rank] >= 0 && (!file.has_bounds || knows_bounds(true))) {
            MUST(MPI_File_get_position(file.handle, &answer));
            if (answer != file.pointers[rank])
                differs(text("file %d: the pointer is at %lld instead of %ld", file.number, (long long)answer, file.pointers[rank]));
        }
    }
    (void)chance;
}

/* Moves individual pointers in every way. */
static void seek(File &file, Chance &chance)
{
    for (int rank : file.group.members) {
        long to = chance.below(file.views[rank].at_or_after(file.reach)), from = file.pointers[rank];
        bool moves = from >= 0 && chance.one_in(2);
        if (!chance.one_in(2))
            continue;
        file.pointers[rank] = to;
        if (rank == at.rank && moves)
            MUST(MPI_File_seek(file.handle, to - from, MPI_SEEK_CUR));
        else if (rank == at.rank)
            MUST(MPI_File_seek(file.handle, to, MPI_SEEK_SET));
    }
}
