/* The model of a file: its bytes, its size, and who may access which byte. MPI orders accesses of one rank to a byte, and of
 * several ranks only if there is a synchronisation in between (MPI 4.1, 14.6.1). A period is what is between two of those. */
#pragma once
#include "memory.h"
#include <climits>
#include <memory>

enum { MOST_RANKS = 8, NOBODY = 0xff };

struct View {
    long displacement = 0;
    Type etype, filetype;

    /* The bytes of the file that `bytes` bytes from data position `from` on are, in order. */
    std::vector<Run> places(long from, long bytes) const
    {
        std::vector<Run> places;
        if (bytes == 0)
            return places;
        long tile = from / filetype.size, skip = from % filetype.size;
        for (;; tile++)
            for (const Run &run : filetype.runs) {
                if (skip >= run.length) {
                    skip -= run.length;
                    continue;
                }
                long length = std::min(run.length - skip, bytes);
                append(places, {displacement + tile * filetype.extent() + run.at + skip, length});
                bytes -= length, skip = 0;
                if (bytes == 0)
                    return places;
            }
    }
    /* The data position, in etypes, of the first data at or after a byte of the file. */
    long at_or_after(long byte) const
    {
        long tile = byte <= displacement ? 0 : (byte - displacement) / filetype.extent(), data = 0;
        tile = std::max(0L, tile - 1);
        for (;; tile++, data = 0)
            for (const Run &run : filetype.runs) {
                long begin = displacement + tile * filetype.extent() + run.at;
                if (begin + run.length > byte) {
                    long in = tile * filetype.size + data + std::max(0L, byte - begin);
                    return (in + etype.size - 1) / etype.size;
                }
                data += run.length;
            }
    }
    std::string said() const { return text("%ld %s / ", displacement, etype.text.c_str()) + filetype.text; }
};

/* An access of a rank that MPI has been asked for. */
struct Access {
    int file, rank, step;
    /* `follows`: it may write what another rank has written in an earlier collective call: the library writes in this order. */
    bool follows = false;
    bool writes, is_collective = false, is_for_library = false, is_split = false;
    std::string call;
    std::vector<Run> places;
    /* What is written, or what a read must return: up to the end of the file. */
    Values data;
    /* Bytes that were asked for. */
    long bytes = 0;
    long end() const { return places.empty() ? 0 : places.back().at + places.back().length; }
    /* On its own rank. */
    std::unique_ptr<Memory> memory;
    bool is_checked = false;
};

static bool overlap(const std::vector<Run> &a, const std::vector<Run> &b)
{
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        if (a[i].at + a[i].length <= b[j].at)
            i++;
        else if (b[j].at + b[j].length <= a[i].at)
            j++;
        else
            return true;
    }
    return false;
}

class Model {
    std::vector<uint8_t> writer, readers;
    /* Bytes that a collective call of the library has written, after which such a call of another rank may write them. */
    std::vector<uint8_t> in_call;
    /* The size when the period began, the ends of what each rank has written since, and of what any rank has or will have. */
    long begun = 0, own[MOST_RANKS] = {}, any = 0;
    /* The parts of the file that MPI may have read and written back in this period, and what MPI has written: one call each. */
    std::vector<std::pair<Run, int>> rewritten, written;
    /* The ranks that have met the end of the file in this period. */
    unsigned met_end = 0;

    void room(long end)
    {
        if (end > (long)bytes.size())
            bytes.resize(end, 0), writer.resize(end, NOBODY), in_call.resize(end, 0), readers.resize(end, 0);
    }

  public:
    /* All bytes up to the size, or further where a file has been longer. */
    Values bytes;
    std::vector<std::shared_ptr<Access>> flying;

    /* The size as a rank must see it: without what others may have written in this period. */
    long least_size(int rank) const { return std::max(begun, own[rank]); }
    /* True if all that any rank has written is known to be in the file for this rank. */
    bool knows_size(int rank) const { return least_size(rank) >= any; }
    long begun_size() const { return begun; }
    long size() const { return std::max(begun, any); }

    /* Begins a period: every rank sees what all have written. */
    void synchronise()
    {
        begun = size(), any = 0, met_end = 0;
        rewritten.clear(), written.clear();
        std::fill(std::begin(own), std::end(own), 0);
        std::fill(writer.begin(), writer.end(), NOBODY);
        std::fill(readers.begin(), readers.end(), 0);
    }

    /* The collective change of the size, which nothing in flight or in this period may conflict with. */
    void resize(long size)
    {
        begun = size, any = 0;
        std::fill(std::begin(own), std::end(own), 0);
        room(size);
        std::fill(bytes.begin() + size, bytes.end(), 0);
    }
    /* Forgets what is in those bytes of a part that nobody has written and that were beyond the end when the period began. */
    void blur(long from, long end)
    {
        room(end);
        for (long i = std::max(from, begun); i < end; i++)
            if (writer[i] == NOBODY)
                bytes[i] = ANYTHING;
    }
    /* True if MPI's data sieving of one of two writes would undo the other. `call` tells calls apart: those of a rank wait for each
     * other. */
    bool is_undone(const Access &access, int call) const
    {
        auto meets = [](const Run &a, const Run &b) { return a.at < b.at + b.length && b.at < a.at + a.length; };
        for (const auto &[part, other] : rewritten)
            for (const Run &run : access.places)
                if (other != call && meets(part, run))
                    return true;
        Run own = {access.places[0].at, access.end() - access.places[0].at};
        for (const auto &[part, other] : written)
            if (access.places.size() > 1 && other != call && meets(part, own))
                return true;
        return false;
    }
    /* MPI writes, and rewrites what is between `from` and `end`. */
    void mpi_writes(const Access &access, int call)
    {
        for (const Run &run : access.places)
            written.push_back({run, call});
        if (access.places.size() > 1)
            rewritten.push_back({{access.places[0].at, access.end() - access.places[0].at}, call});
    }
    /* True if a rank has read a byte that `blur` would forget. */
    bool is_read_from(const Access &access) const
    {
        for (long i = std::max(access.places[0].at, begun); i < std::min(access.end(), (long)bytes.size()); i++)
            if (readers[i])
                return true;
        return false;
    }
    /* True if a rank may have accessed bytes from `from` on in this period, or the size. */
    bool is_used_from(long from) const
    {
        for (size_t i = from; i < bytes.size(); i++)
            if (writer[i] != NOBODY || readers[i])
                return true;
        return met_end != 0 || any > from;
    }

    /* True if MPI defines what the access does. */
    bool allows(const Access &access) const
    {
        unsigned mine = 1u << access.rank;
        for (const Run &run : access.places)
            for (long i = run.at; i < std::min(run.at + run.length, (long)bytes.size()); i++)
                if ((writer[i] != NOBODY && writer[i] != access.rank && !(access.follows && in_call[i])) || (access.writes && (readers[i] & ~mine)))
                    return false;
        bool meets_end = !access.writes && access.end() > least_size(access.rank);
        if (meets_end && !knows_size(access.rank))
            return false;
        if (access.writes && access.end() > least_size(access.rank) && (met_end & ~mine))
            return false;
        for (const auto &other : flying) {
            if (other->rank != access.rank || !(other->writes || access.writes))
                continue;
            if (overlap(other->places, access.places))
                return false;
            if (access.writes ? other->bytes > (long)other->data.size() : meets_end)
                return false;
        }
        return true;
    }

    /* The bytes that a rank's read returns now. */
    Values read(const std::vector<Run> &places) const
    {
        Values data;
        for (const Run &run : places)
            for (long i = run.at; i < run.at + run.length && i < size(); i++)
                data.push_back(i < (long)bytes.size() ? bytes[i] : 0);
        return data;
    }

    /* Begins an access that the model allows. Of a read, tells the data. */
    void begin(const std::shared_ptr<Access> &access)
    {
        flying.push_back(access);
        if (!access->writes) {
            access->data = read(access->places);
            if (access->end() > least_size(access->rank))
                meet_end(access->rank);
        }
        room(access->end());
        long from = 0;
        for (const Run &run : access->places)
            for (long i = run.at; i < run.at + run.length; i++, from++) {
                if (access->writes)
                    bytes[i] = access->data[from], writer[i] = access->rank, in_call[i] = 0;
                else
                    readers[i] |= 1u << access->rank;
            }
        if (access->writes)
            any = std::max(any, access->end());
    }
    void end(const std::shared_ptr<Access> &access)
    {
        if (access->writes)
            own[access->rank] = std::max(own[access->rank], access->end());
        flying.erase(std::find(flying.begin(), flying.end(), access));
    }
    /* A blocking collective call has ended, and with it this write. */
    void end_call(const Access &access)
    {
        for (const Run &run : access.places)
            std::fill_n(in_call.begin() + run.at, run.length, 1);
    }
    void forget(const Access &access)
    {
        for (const Run &run : access.places)
            std::fill_n(bytes.begin() + run.at, run.length, ANYTHING);
    }
    void meet_end(int rank) { met_end |= 1u << rank; }
    /* True if a rank may ask for the size. */
    bool may_ask_size(int rank) const
    {
        bool is_flying = false;
        for (const auto &other : flying)
            is_flying |= other->writes && other->rank == rank && other->end() > least_size(rank);
        return knows_size(rank) && !is_flying;
    }
};
