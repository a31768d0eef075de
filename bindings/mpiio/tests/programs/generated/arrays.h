/* Parts of arrays: subarray and darray, with their models. */
#pragma once
#include "types.h"

/* One dimension of an array: its size, and the indices that belong to the type. */
struct Side {
    long size;
    std::vector<long> indices;
};

/* The model of a part of an array. */
static Type part_of(const Type &of, std::vector<Side> sides, bool fortran)
{
    if (fortran)
        std::reverse(sides.begin(), sides.end());
    Type made;
    long all = 1, part = 1;
    for (const Side &side : sides)
        all *= side.size, part *= side.indices.size();
    for (long i = 0; i < part; i++) {
        long place = 0, below = part, rest = i;
        for (const Side &side : sides) {
            below /= side.indices.size();
            place = place * side.size + side.indices[rest / below], rest %= below;
        }
        for (const Run &run : of.runs)
            append(made.runs, {place * of.extent() + run.at, run.length});
    }
    made.lower = 0, made.upper = all * of.extent(), made.size = part * of.size;
    return made;
}

/* A subarray of `lengths` elements of each dimension. */
static Type subarray(const Making &how, const Type &of, const std::vector<long> &lengths)
{
    bool fortran = how.chance.one_in(2);
    std::vector<Side> sides;
    std::vector<int> sizes, parts = ints(lengths), starts;
    for (long length : lengths) {
        long start = how.chance.below(4), size = start + length + how.chance.below(4);
        Side side = {size, {}};
        for (long i = 0; i < length; i++)
            side.indices.push_back(start + i);
        sides.push_back(side), sizes.push_back(size), starts.push_back(start);
    }
    Type made = part_of(of, sides, fortran);
    if (how.makes)
        MUST(MPI_Type_create_subarray(sizes.size(), sizes.data(), parts.data(), starts.data(),
                                      fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, of.handle, &made.handle));
    return finished(std::move(made), how, "subarray(" + list(lengths) + (fortran ? " F of " : " of ") + of.text + ")");
}

/* How the rows of an array belong to processes: in blocks or in turns of `argument` rows. */
struct Distribution {
    long rows, columns, processes, process, argument;
    bool is_cyclic;
};

/* The part of one process in an array that is distributed in its first dimension. */
static Type distributed(const Making &how, const Type &of, const Distribution &by)
{
    bool fortran = how.chance.one_in(2);
    Side side = {by.rows, {}}, other = {by.columns, {}};
    for (long i = 0; i < by.rows; i++)
        if (i / by.argument % by.processes == by.process)
            side.indices.push_back(i);
    for (long i = 0; i < by.columns; i++)
        other.indices.push_back(i);
    Type made = part_of(of, {side, other}, fortran);
    if (how.makes) {
        int sizes[2] = {(int)by.rows, (int)by.columns}, grid[2] = {(int)by.processes, 1};
        int ways[2] = {by.is_cyclic ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
        int arguments[2] = {(int)by.argument, MPI_DISTRIBUTE_DFLT_DARG};
        MUST(MPI_Type_create_darray(by.processes, by.process, 2, sizes, ways, arguments, grid,
                                    fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, of.handle, &made.handle));
    }
    std::string said = text("darray(%ld of %ld, %ldx%ld, %s %ld%s of ", by.process, by.processes, by.rows, by.columns,
                            by.is_cyclic ? "cyclic" : "block", by.argument, fortran ? " F" : "");
    return finished(std::move(made), how, said + of.text + ")");
}
