/* Random datatypes with a model of their bytes: where each byte of the data is, in the order of the type map, and the bounds. */
#pragma once
#include "chance.h"
#include "context.h"
#include <algorithm>

struct Run {
    long at, length;
};

static void append(std::vector<Run> &runs, Run run)
{
    if (!runs.empty() && runs.back().at + runs.back().length == run.at)
        runs.back().length += run.length;
    else if (run.length > 0)
        runs.push_back(run);
}

/* A datatype. A rank that only needs the model makes no handle. */
class Type {
  public:
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    bool is_derived = false;
    std::vector<Run> runs;
    long lower = 0, upper = 0, size = 0;
    std::string text;

    Type() = default;
    Type(const Type &) = delete;
    Type(Type &&other) { *this = std::move(other); }
    Type &operator=(Type &&other)
    {
        std::swap(handle, other.handle), std::swap(is_derived, other.is_derived), runs.swap(other.runs);
        lower = other.lower, upper = other.upper, size = other.size, text.swap(other.text);
        return *this;
    }
    ~Type()
    {
        if (is_derived)
            MPI_Type_free(&handle);
    }
    long extent() const { return upper - lower; }
    long first() const
    {
        long first = runs.empty() ? 0 : runs[0].at;
        for (const Run &run : runs)
            first = std::min(first, run.at);
        return first;
    }
    long end() const
    {
        long end = runs.empty() ? 0 : runs[0].at;
        for (const Run &run : runs)
            end = std::max(end, run.at + run.length);
        return end;
    }
};

struct Leaf {
    MPI_Datatype handle;
    int size;
    const char *name;
};

static std::vector<Leaf> leaves()
{
    return {{MPI_BYTE, 1, "byte"}, {MPI_SHORT, 2, "short"}, {MPI_INT, 4, "int"}, {MPI_DOUBLE, 8, "double"}, {MPI_CHAR, 1, "char"}};
}

static Type type_of(const Leaf &leaf)
{
    Type type;
    type.handle = leaf.handle, type.runs = {{0, leaf.size}}, type.upper = type.size = leaf.size, type.text = leaf.name;
    return type;
}

/* How random types are made. */
struct Making {
    Chance &chance;
    /* Makes MPI's handles. */
    bool makes;
    /* Displacements ascend, and nothing overlaps, also between repetitions: as a view must be. */
    bool ascends;
    /* What displacements in bytes are a multiple of: without it, MPI libraries differ in how they round an extent. */
    long unit;
    /* Bounds may be anywhere, and inside types there may be any: else none of whose lower bound is not where its data begin. */
    bool has_bounds;
    /* How far a lower bound is from 0. */
    long farthest = 20;
};

/* Blocks of `counts` elements at displacements in bytes: the model of most constructors. */
static Type placed(const Type &of, const std::vector<long> &places, const std::vector<long> &counts)
{
    Type made;
    bool is_first = true;
    for (size_t i = 0; i < places.size(); i++) {
        for (long j = 0; j < counts[i]; j++)
            for (const Run &run : of.runs)
                append(made.runs, {places[i] + j * of.extent() + run.at, run.length});
        if (counts[i] == 0)
            continue;
        long lower = places[i] + of.lower, upper = places[i] + (counts[i] - 1) * of.extent() + of.upper;
        made.lower = is_first ? lower : std::min(made.lower, lower);
        made.upper = is_first ? upper : std::max(made.upper, upper);
        made.size += counts[i] * of.size, is_first = false;
    }
    return made;
}

static std::string list(const std::vector<long> &numbers)
{
    std::string said;
    for (size_t i = 0; i < numbers.size() && i < 8; i++)
        said += (i ? "," : "") + std::to_string(numbers[i]);
    return numbers.size() > 8 ? said + ",..." : said;
}

static std::vector<int> ints(const std::vector<long> &from) { return {from.begin(), from.end()}; }
static std::vector<MPI_Aint> addresses(const std::vector<long> &from) { return {from.begin(), from.end()}; }

static Type finished(Type made, const Making &how, std::string said)
{
    made.is_derived = how.makes, made.text = said;
    return made;
}

static Type hindexed(const Making &how, const Type &of, const std::vector<long> &places, const std::vector<long> &counts)
{
    Type made = placed(of, places, counts);
    if (how.makes)
        MUST(MPI_Type_create_hindexed(places.size(), ints(counts).data(), addresses(places).data(), of.handle, &made.handle));
    return finished(std::move(made), how, "hindexed([" + list(counts) + "] at [" + list(places) + "] of " + of.text + ")");
}

static Type resized(const Making &how, const Type &of, long lower, long extent)
{
    Type made;
    made.runs = of.runs, made.size = of.size, made.lower = lower, made.upper = lower + extent;
    if (how.makes)
        MUST(MPI_Type_create_resized(of.handle, lower, extent, &made.handle));
    return finished(std::move(made), how, text("resized(%ld, %ld of ", lower, extent) + of.text + ")");
}

static Type contiguous(const Making &how, const Type &of, long count)
{
    Type made = placed(of, {0}, {count});
    if (how.makes)
        MUST(MPI_Type_contiguous(count, of.handle, &made.handle));
    return finished(std::move(made), how, text("contiguous(%ld of ", count) + of.text + ")");
}

static Type vector(const Making &how, const Type &of, long count, long block, long stride, bool in_bytes)
{
    std::vector<long> places, counts;
    for (long i = 0; i < count; i++)
        places.push_back(i * stride * (in_bytes ? 1 : of.extent())), counts.push_back(block);
    Type made = placed(of, places, counts);
    if (how.makes && in_bytes)
        MUST(MPI_Type_create_hvector(count, block, stride, of.handle, &made.handle));
    else if (how.makes)
        MUST(MPI_Type_vector(count, block, stride, of.handle, &made.handle));
    return finished(std::move(made), how, text("%svector(%ld, %ld, %ld of ", in_bytes ? "h" : "", count, block, stride) + of.text + ")");
}

static Type duplicate(const Making &how, const Type &of)
{
    Type made;
    made.runs = of.runs, made.size = of.size, made.lower = of.lower, made.upper = of.upper;
    if (how.makes)
        MUST(MPI_Type_dup(of.handle, &made.handle));
    return finished(std::move(made), how, "dup(" + of.text + ")");
}

static void commit(Type &type)
{
    if (type.is_derived)
        MUST(MPI_Type_commit(&type.handle));
}
