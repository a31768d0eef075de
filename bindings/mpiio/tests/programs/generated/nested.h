/* Random nested types that have a given number of elements. */
#pragma once
#include "arrays.h"

enum { CONTIGUOUS, VECTOR, HVECTOR, INDEXED, HINDEXED, INDEXED_BLOCK, HINDEXED_BLOCK, STRUCT, SUBARRAY, DARRAY, RESIZED, DUP, KINDS };

/* A divisor of `n`. */
static long divisor(Chance &chance, long n)
{
    std::vector<long> all;
    for (long i = 1; i <= n && i <= 64; i++)
        if (n % i == 0)
            all.push_back(i);
    return chance.of(all);
}

/* `n` elements in some blocks, with gaps, in units of the extent or, if `in_bytes`, in bytes; not in order unless they must. */
static void blocks(const Making &how, const Type &of, long n, bool equal, bool in_bytes, std::vector<long> &places, std::vector<long> &counts)
{
    long step = in_bytes ? how.unit : 1, pieces = equal ? divisor(how.chance, n) : 1 + how.chance.below(std::min(n, 40L)), left = n, place = how.has_bounds ? step * how.chance.below(3) : 0;
    for (long i = 0; i < pieces; i++) {
        long most = left - (pieces - 1 - i), count = equal ? n / pieces : i == pieces - 1 ? left : 1 + how.chance.below(std::min(most, 2 * left / (pieces - i)));
        places.push_back(place), counts.push_back(count), left -= count;
        place += count * (in_bytes ? of.extent() : 1) + step * how.chance.below(4) * how.chance.below(in_bytes ? 5 : 3);
    }
    if (how.ascends || how.chance.one_in(3))
        return;
    std::vector<size_t> order(pieces);
    for (long i = 0; i < pieces; i++)
        order[i] = i;
    how.chance.shuffle(order);
    std::vector<long> from = places, lengths = counts;
    for (long i = 0; i < pieces; i++)
        places[i] = from[order[i]], counts[i] = lengths[order[i]];
}

static Type nested(const Making &how, const Type &unit, long n, int depth, int kind = -1, bool is_inner = false);

static Type indexed(const Making &how, const Type &of, long n, int kind)
{
    bool in_bytes = kind == HINDEXED || kind == HINDEXED_BLOCK, equal = kind == INDEXED_BLOCK || kind == HINDEXED_BLOCK;
    std::vector<long> places, counts, bytes;
    blocks(how, of, n, equal, in_bytes, places, counts);
    for (long place : places)
        bytes.push_back(place * (in_bytes ? 1 : of.extent()));
    if (kind == HINDEXED)
        return hindexed(how, of, places, counts);
    Type made = placed(of, bytes, counts);
    if (how.makes && kind == INDEXED)
        MUST(MPI_Type_indexed(places.size(), ints(counts).data(), ints(places).data(), of.handle, &made.handle));
    if (how.makes && kind == INDEXED_BLOCK)
        MUST(MPI_Type_create_indexed_block(places.size(), counts[0], ints(places).data(), of.handle, &made.handle));
    if (how.makes && kind == HINDEXED_BLOCK)
        MUST(MPI_Type_create_hindexed_block(places.size(), counts[0], addresses(places).data(), of.handle, &made.handle));
    return finished(std::move(made), how, (equal ? "indexed_block([" : "indexed([") + list(counts) + "] at [" + list(places) + "] of " + of.text + ")");
}

/* Several types one after the other. The bounds are set: alignment depends on the compiler. */
static Type structure(const Making &how, const Type &unit, long n, int depth)
{
    std::vector<Type> members;
    std::vector<long> places, counts;
    long left = n, begin = how.has_bounds ? how.chance.below(9) : 0, end = 0;
    for (int i = 0; i < 3 && left > 0; i++) {
        long part = i == 2 ? left : 1 + how.chance.below(left), count = divisor(how.chance, part);
        members.push_back(nested(how, unit, part / count, depth - 1, -1, true)), left -= part;
        const Type &member = members.back();
        // The data of one member are after those of the last.
        long place = std::max(begin, end) - std::min(member.first(), member.lower) + how.chance.below(9);
        places.push_back(place), counts.push_back(count);
        end = place + (count - 1) * member.extent() + std::max(member.end(), member.upper);
    }
    Type made;
    std::string said = "struct(";
    std::vector<MPI_Datatype> handles;
    for (size_t i = 0; i < members.size(); i++) {
        for (long j = 0; j < counts[i]; j++)
            for (const Run &run : members[i].runs)
                append(made.runs, {places[i] + j * members[i].extent() + run.at, run.length});
        made.size += counts[i] * members[i].size, handles.push_back(members[i].handle);
        said += text("%s%ld at %ld of ", i ? "; " : "", counts[i], places[i]) + members[i].text;
    }
    if (how.makes)
        MUST(MPI_Type_create_struct(members.size(), ints(counts).data(), addresses(places).data(), handles.data(), &made.handle));
    made = finished(std::move(made), how, said + ")");
    return resized(how, made, 0, end + how.chance.below(9));
}

static Type constructed(const Making &how, const Type &unit, long n, int depth, int kind);

/* A type of `n` units, made of types of types. */
static Type nested(const Making &how, const Type &unit, long n, int depth, int kind, bool is_inner)
{
    static const int simple[] = {CONTIGUOUS, VECTOR, HVECTOR, INDEXED, HINDEXED, INDEXED_BLOCK, HINDEXED_BLOCK, DUP};
    if (kind < 0)
        kind = is_inner && !how.has_bounds ? simple[how.chance.below(8)] : how.chance.below(KINDS);
    return constructed(how, unit, n, depth, kind);
}

static Type constructed(const Making &how, const Type &unit, long n, int depth, int kind)
{
    Chance &chance = how.chance;
    long outer = kind == RESIZED || kind == DUP ? 1 : depth > 1 ? divisor(chance, n) : n;
    if (kind == STRUCT)
        return structure(how, unit, n, depth);
    Type own;
    if (depth > 1)
        own = nested(how, unit, n / outer, depth - 1, -1, true);
    else if (outer == 1 && n > 1)
        own = contiguous(how, unit, n);
    const Type &of = depth > 1 || (outer == 1 && n > 1) ? own : unit;
    long block = divisor(chance, outer), stride = block + chance.below(4), slack = chance.below(3) ? 0 : how.unit * chance.below(9);
    switch (kind) {
    case CONTIGUOUS: return contiguous(how, of, outer);
    case VECTOR: return vector(how, of, outer / block, block, stride, false);
    case HVECTOR: return vector(how, of, outer / block, block, stride * of.extent() + slack, true);
    case INDEXED:
    case HINDEXED:
    case INDEXED_BLOCK:
    case HINDEXED_BLOCK: return indexed(how, of, outer, kind);
    case SUBARRAY: return subarray(how, of, chance.one_in(3) ? std::vector<long>{outer} : std::vector<long>{outer / block, block});
    case DARRAY: {
        // Every process has as many rows.
        long processes = chance.between(1, 4), rows = outer / block, process = chance.below(processes);
        bool is_cyclic = chance.one_in(2);
        return distributed(how, of, {rows * processes, block, processes, process, is_cyclic ? divisor(chance, rows) : rows, is_cyclic});
    }
    case RESIZED: {
        // The data are in the bounds or not; repetitions never overlap.
        long span = std::max(how.has_bounds ? of.end() - of.first() : of.end(), of.size), lower = chance.between(-how.farthest, how.farthest);
        return resized(how, of, how.has_bounds && chance.one_in(2) ? lower : 0, span + chance.below(20));
    }
    default: return duplicate(how, of);
    }
}
