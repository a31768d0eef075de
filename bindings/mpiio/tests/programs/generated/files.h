/* Files of a program: who has one, its hints and views, and the calls that concern it as a whole. */
#pragma once
#include "masks.h"
#include "model.h"

struct Group {
    const char *name;
    MPI_Comm comm = MPI_COMM_NULL;
    std::vector<int> members;
    bool has(int rank) const { return std::find(members.begin(), members.end(), rank) != members.end(); }
};

/* The communicators of a launch. A rank has no handle of those to which it does not belong. */
static std::vector<Group> groups;

static void make_groups()
{
    std::vector<int> all, reversed, low, high;
    for (int i = 0; i < at.ranks; i++)
        all.push_back(i), reversed.insert(reversed.begin(), i), (i < (at.ranks + 1) / 2 ? low : high).push_back(i);
    MPI_Comm duplicate, turned, half;
    bool is_low = at.rank < (at.ranks + 1) / 2;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &duplicate));
    MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, -at.rank, &turned));
    MUST(MPI_Comm_split(MPI_COMM_WORLD, is_low, at.rank, &half));
    groups = {{"world", MPI_COMM_WORLD, all}, {"duplicate", duplicate, all}, {"reversed", turned, reversed},
              {"low half", is_low ? half : MPI_COMM_NULL, low}, {"high half", is_low ? MPI_COMM_NULL : half, high}};
}

struct File {
    int number = 0;
    std::string path, hints;
    Group group;
    MPI_File handle = MPI_FILE_NULL;
    MPI_Info info = MPI_INFO_NULL;
    int mode = 0;
    /* Types of views have bounds of all kinds. */
    bool has_bounds = false;
    bool is_open = false, is_atomic = false, has_split = false, has_same_views = true;
    bool may_read() const { return !(mode & MPI_MODE_WRONLY); }
    bool may_write() const { return !(mode & MPI_MODE_RDONLY); }
    /* The part of the file that is accessed, in bytes. */
    long reach = 0;
    Model model;
    View views[MOST_RANKS];
    /* The individual pointers, in etypes; -1 if MPI does not say where it is. */
    long pointers[MOST_RANKS] = {}, shared = 0;
    bool is_mine() const { return group.has(at.rank); }
};

struct Choice {
    const char *key;
    std::vector<const char *> values;
};

/* Values that each hint may get; an empty one leaves the default. */
static const std::vector<Choice> &choices()
{
    static const std::vector<Choice> all = {
        {"cb_buffer_size", {"97", "1000", "4096", "65536", "", "", ""}},
        {"cb_nodes", {"1", "2", "3", "", "", ""}},
        {"romio_cb_write", {"enable", "enable", "disable", "", ""}},
        {"romio_cb_read", {"enable", "enable", "disable", "", ""}},
        {"romio_ds_read", {"enable", "disable", "", ""}},
        {"romio_ds_write", {"enable", "disable", "", "", "", ""}},
        {"striping_unit", {"64", "4096", "", "", ""}},
        {"trib_shared_memory", {"disable", "enable", "", ""}},
        {"trib_tiny_call", {"0", "", ""}},
        {"trib_ranks_per_node", {"1", "2", "", "", "", ""}},
        {"trib_driver", {"posix", "lustre", "gpfs", "nfs", "", "", "", "", ""}},
        {"trib_kernel", {"ascending_isend", "ascending_issend", "spread_out", "balanced", "pairwise", "two_layer", "", "", "", ""}},
        {"trib_write_behind", {"auto", "auto", "1M", "2000", "", "", "", "", ""}},
        {"trib_write_buffers", {"1", "2", "", ""}},
        {"trib_direct_min", {"1", "", ""}},
        {"trib_overlap", {"rank_order", "", "", ""}},
        {"trib_placement", {"spread", "stride:1", "lowest_per_node", "", "", "", ""}},
        {"trib_host_domains", {"enable", "disable", "", ""}},
    };
    return all;
}

/* Random hints for a file; nothing in one of four. */
static void choose_hints(File &file, Chance chance)
{
    bool any = !chance.one_in(4);
    file.hints = "";
    if (file.is_mine())
        MUST(MPI_Info_create(&file.info));
    for (const Choice &choice : choices()) {
        const char *value = chance.of(choice.values);
        // Thousands of rounds take too long.
        bool is_small = strstr(choice.key, "buffer_size") && atol(value) < file.reach / 50;
        if (!any || !*value || is_small || !may_hint(choice.key, value))
            continue;
        file.hints += text("%s=%s;", choice.key, value);
        if (file.is_mine())
            MUST(MPI_Info_set(file.info, choice.key, value));
    }
}

static Type etype_of(Making how, const Leaf &leaf)
{
    Type unit = type_of(leaf);
    switch (how.chance.below(how.has_bounds ? 5 : 8)) {
    case 0: return contiguous(how, unit, how.chance.between(2, 3));
    case 1: return how.has_bounds ? resized(how, unit, 0, leaf.size + how.chance.below(9)) : duplicate(how, unit);
    case 2: return how.has_bounds ? nested(how, unit, how.chance.between(1, 4), 2) : std::move(unit);
    default: return unit;
    }
}

/* A file type for one member of a group, from which those of the others are apart. */
static Type part_for(const Making &how, const Type &etype, long members, long member, long whole)
{
    Chance &chance = how.chance;
    long block = chance.between(1, std::max(1L, std::min(whole, 50L)));
    switch (chance.below(3)) {
    case 0: { // blocks in turns
        long rows = std::max(1L, whole / (block * members));
        Type row = vector(how, etype, rows, block, block * members, false);
        Type moved = hindexed(how, row, {member * block * etype.extent()}, {1});
        return resized(how, moved, 0, rows * block * members * etype.extent());
    }
    case 1: { // a distributed array
        long argument = chance.between(1, 4), rows = members * argument * chance.between(1, 4);
        return distributed(how, etype, {rows, std::max(1L, std::min(block, whole / rows)), members, member, argument, true});
    }
    default: { // blocks by chance, the first ones of all, so that each has some
        std::vector<long> places, counts;
        long end = chance.below(3), blocks = members + chance.below(30);
        for (long i = 0; i < blocks; i++) {
            long length = chance.between(1, block), whose = i < members ? i : chance.below(members + 1);
            if (whose == member)
                places.push_back(end * etype.extent()), counts.push_back(length);
            end += length;
        }
        Type dealt = hindexed(how, etype, places, counts);
        return resized(how, dealt, 0, (end + chance.below(3)) * etype.extent());
    }
    }
}

/* Chooses views for all members, and sets this rank's. */
static void set_views(File &file, Chance &chance)
{
    int kind = chance.below(5);
    const Leaf leaf = chance.one_in(2) ? leaves()[0] : chance.of(leaves());
    long displacement = chance.one_in(2) ? 0 : chance.below(file.reach / 4), whole = file.reach / 2 / leaf.size / 3;
    uint64_t common = chance.next();
    file.has_same_views = kind == 0 || kind == 1;
    file.has_bounds = chance.one_in(knows_bounds(false) ? 2 : 3);
    for (size_t i = 0; i < file.group.members.size(); i++) {
        int rank = file.group.members[i];
        View &view = file.views[rank];
        Chance alike = {(long)common}, own = {(long)common, rank + 1};
        Making how = {alike, rank == at.rank, true, leaf.size, file.has_bounds, knows_bounds(false) ? 20 : 0}, apart = {own, rank == at.rank, true, leaf.size, file.has_bounds, how.farthest};
        view = View();
        view.displacement = displacement;
        view.etype = etype_of(how, leaf);
        if (kind == 0)
            view.filetype = duplicate(how, view.etype);
        else if (kind == 1)
            view.filetype = nested(how, view.etype, alike.between(1, 40), alike.between(1, 3));
        else if (kind == 2)
            view.filetype = nested(apart, view.etype, own.between(1, 40), own.between(1, 3));
        else
            view.filetype = part_for(how, view.etype, file.group.members.size(), i, whole);
        commit(view.etype), commit(view.filetype);
        file.pointers[rank] = 0;
    }
    file.shared = 0;
    if (file.is_mine()) {
        View &view = file.views[at.rank];
        note(text("file %d: view of this rank: ", file.number) + view.said());
        MUST(MPI_File_set_view(file.handle, view.displacement, view.etype.handle, view.filetype.handle, "native", MPI_INFO_NULL));
    }
}

static void open_file(File &file, Chance &chance, int mode)
{
    file.mode = mode, file.is_open = true, file.is_atomic = file.has_split = false, file.has_same_views = true;
    choose_hints(file, chance);
    note(text("file %d: open on %s, mode %d, hints %s", file.number, file.group.name, mode, file.hints.c_str()));
    for (int rank : file.group.members) {
        View view;
        view.etype = type_of(leaves()[0]), view.filetype = type_of(leaves()[0]);
        file.views[rank] = std::move(view);
        file.pointers[rank] = mode & MPI_MODE_APPEND ? file.model.size() : 0;
    }
    file.shared = mode & MPI_MODE_APPEND ? file.model.size() : 0;
    if (!file.is_mine())
        return;
    MUST(MPI_File_open(file.group.comm, file.path.c_str(), mode, file.info, &file.handle));
    MUST(MPI_Info_free(&file.info));
}

/* Closes the file, on which nothing is in flight. Every rank then sees what all have written. */
static void close_file(File &file)
{
    note(text("file %d: close", file.number));
    if (file.is_mine()) {
        MUST(MPI_File_close(&file.handle));
        MUST(MPI_Barrier(file.group.comm));
    }
    file.is_open = false;
    file.model.synchronise();
}
