/* Random legal programs, one after the other: generated FROM TO [OPTION...]. Every rank derives from the seed what all ranks do, and
 * models each byte of the files: what a read returns, what a file holds in the end, statuses, pointers and sizes. So a
 * difference is a fault of what runs the calls. Options:
 *   steps=N     the number of steps of a program
 *   skip=A,B    leaves these steps out; the others are as before, as far as they do not depend on them
 *   verbose     prints every step
 *   alone       MPI runs all calls: it is not asked for what `masks.h` says that it does wrong
 *   unmasked    it is asked nevertheless
 *   go-on       goes on after a difference
 *   multiple    initialises MPI for several threads
 *   limit=N     the seconds that a program may take
 *   in=FOLDER   where the files are, if all ranks are on one host
 * MPI 4.1, chapter 14. */
#include "others.h"
#include <csignal>

static struct {
    long from, to, steps = 0, limit = 30;
    std::set<int> skipped;
    std::string folder;
    bool goes_on = false, is_multiple = false;
} options;

/* Ends a program that does not end itself, and tells where each rank is. */
static void too_long(int)
{
    std::string line = text("seed %ld, step %d, rank %d of %d: not done in %ld s, in %s\n%s", at.seed, at.step, at.rank, at.ranks, options.limit, at.call, at.rank == 0 ? at.trace.c_str() : "");
    for (auto &ticket : tickets)
        line += text("  request: kind %d, step %d%s%s\n", ticket->kind, ticket->access ? ticket->access->step : ticket->tag - 1, ticket->is_active ? "" : ", inactive", ticket->is_persistent ? ", persistent" : "");
    if (write(2, line.data(), line.size()) < 0 || sleep(2) > 0)
        _exit(5);
    _exit(4);
}

/* MPI has ended the process. */
static void left_early()
{
    if (at.step >= 0)
        fprintf(stderr, "seed %ld, step %d, rank %d of %d: the process ends in %s\n%s", at.seed, at.step, at.rank, at.ranks, at.call, at.trace.c_str());
}
static void crashed(int signal)
{
    std::string line = text("seed %ld, step %d, rank %d of %d: signal %d in %s\n", at.seed, at.step, at.rank, at.ranks, signal, at.call);
    if (write(2, line.data(), line.size()) < 0 || write(2, at.trace.data(), at.trace.size()) < 0)
        _exit(5);
    _exit(4);
}

static void reopen(File &file, Chance &chance, Chance &own)
{
    bool compares = chance.one_in(2);
    settle(file, chance, own);
    close_file(file);
    if (compares && at.rank == file.group.members[0])
        compare(file);
    if (file.is_mine())
        MUST(MPI_Barrier(file.group.comm));
    int modes[] = {MPI_MODE_RDWR, MPI_MODE_RDWR, MPI_MODE_RDWR | (waits_in_open() ? 0 : MPI_MODE_CREATE), MPI_MODE_RDWR | MPI_MODE_APPEND, MPI_MODE_RDONLY, MPI_MODE_WRONLY};
    open_file(file, chance, modes[chance.below(6)]);
}

/* One step on a file. */
static void act(File &file, Chance &chance, Chance &own)
{
    bool is_busy = !file.model.flying.empty();
    switch (chance.below(is_busy ? 26 : 21)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
        if (!file.has_split)
            return collective(file, chance, own);
        [[fallthrough]];
    case 6:
    case 7:
    case 8:
    case 25: return independent(file, chance, own);
    case 9: return beside(file, chance, own);
    case 20: return over(file, chance, own);
    case 10:
    case 11:
    case 21: return synchronise(file, chance, own);
    case 12: return settle(file, chance, own), set_views(file, chance);
    case 13: return shared(file, chance, own);
    case 14: return seek(file, chance);
    case 15: return ask(file, chance, own);
    case 16:
        if (file.may_write())
            return resize(file, chance, own);
        [[fallthrough]];
    case 17: return reopen(file, chance, own);
    case 18: {
        synchronise(file, chance, own);
        file.is_atomic = !file.is_atomic;
        note(text("file %d: atomicity %d", file.number, file.is_atomic));
        if (file.is_mine())
            MUST(MPI_File_set_atomicity(file.handle, file.is_atomic));
        return;
    }
    case 19: {
        synchronise(file, chance, own);
        if (file.is_mine() && at.rank == file.group.members.back())
            compare(file);
        if (file.is_mine())
            MUST(MPI_Barrier(file.group.comm));
        return;
    }
    case 24: return independent(file, chance, own);
    case 22: return complete_on(file, false, chance, own);
    default:
        if (file.has_split)
            return end_split(file);
        return complete_on(file, true, chance, own);
    }
}

static void begin_files(Chance &chance)
{
    long count = chance.one_in(3) ? chance.between(2, 3) : 1;
    for (int i = 0; i < count; i++) {
        auto file = std::make_unique<File>();
        file->number = i, file->path = (has_hosts ? "" : options.folder) + text("generated-%ld-%d", at.seed, i);
        file->group = chance.one_in(2) ? groups[0] : chance.of(groups);
        if (chance.one_in(8)) {
            int rank = chance.below(at.ranks);
            file->group = {"self", at.rank == rank ? MPI_COMM_SELF : MPI_COMM_NULL, {rank}};
        }
        if (file->group.members.empty())
            file->group = groups[0];
        file->reach = chance.one_in(8) ? 200000 : chance.one_in(3) ? 20000 : 3000;
        // A program that has failed may have left one.
        if (at.rank == file->group.members[0])
            unlink(file->path.c_str());
        if (file->is_mine())
            MUST(MPI_Barrier(file->group.comm));
        open_file(*file, chance, MPI_MODE_RDWR | MPI_MODE_CREATE | (chance.one_in(3) || waits_in_open() ? MPI_MODE_EXCL : 0));
        if (chance.below(4))
            set_views(*file, chance);
        files.push_back(std::move(file));
    }
}

static void end_files(Chance &chance, Chance &own)
{
    for (auto &file : files) {
        settle(*file, chance, own);
        close_file(*file);
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (auto &file : files)
        if (file->group.members[0] == at.rank) {
            compare(*file);
            unlink(file->path.c_str());
        }
    release(tickets);
    Completion(tickets, own).all(own);
    for (auto &ticket : tickets)
        if (ticket->is_persistent)
            MUST(MPI_Request_free(&ticket->request));
    tickets.clear(), files.clear();
}

/* The program of one seed. Returns true if no rank has found a difference. */
static bool run(long seed)
{
    at.seed = seed, at.step = 0, at.failed = false, at.trace.clear();
    alarm(options.limit);
    Chance chance = {seed, -1};
    begin_files(chance);
    long steps = options.steps ? options.steps : chance.between(4, 40);
    for (int step = 1; step <= steps; step++) {
        at.step = step;
        if (options.skipped.count(step))
            continue;
        Chance now = {seed, step}, mine = {seed, step, at.rank + 1};
        for (auto &file : files)
            if (advances_only_in_waits(file->hints))
                settle(*file, now, mine);
        dawdle(mine);
        if (now.one_in(10))
            message(now, mine);
        else if (now.one_in(12))
            generalised();
        else if (now.one_in(10))
            poke(mine);
        else
            act(*now.of(files), now, mine);
    }
    at.step = steps + 1;
    Chance last = {seed, -2}, mine = {seed, -2, at.rank + 1};
    end_files(last, mine);
    int failed = at.failed, any;
    MUST(MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    alarm(0);
    at.step = -1;
    return !any;
}

static void read_options(int argc, char **argv)
{
    options.from = atol(argv[1]), options.to = atol(argv[2]);
    for (int i = 3; i < argc; i++) {
        std::string option = argv[i];
        if (option == "verbose")
            at.verbose = true;
        else if (option == "alone")
            has_library = false;
        else if (option == "unmasked")
            is_masked = false;
        else if (option == "go-on")
            options.goes_on = true;
        else if (option == "multiple")
            options.is_multiple = true;
        else if (option.rfind("in=", 0) == 0)
            options.folder = option.substr(3) + "/";
        else if (option.rfind("steps=", 0) == 0)
            options.steps = atol(option.c_str() + 6);
        else if (option.rfind("limit=", 0) == 0)
            options.limit = atol(option.c_str() + 6);
        else if (option.rfind("skip=", 0) == 0)
            for (char *next = argv[i] + 4; *next; )
                options.skipped.insert(strtol(next + 1, &next, 10));
        else
            fprintf(stderr, "option %s is not known\n", argv[i]), exit(2);
    }
}

int main(int argc, char **argv)
{
    int given, length;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    if (argc < 3)
        return 2;
    read_options(argc, argv);
    MPI_Init_thread(&argc, &argv, options.is_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &at.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &at.ranks);
    MPI_Get_library_version(version, &length);
    choose_runner(version);
    has_threads = given == MPI_THREAD_MULTIPLE;
    look_at_hosts();
    make_groups();
    atexit(left_early);
    signal(SIGALRM, too_long), signal(SIGSEGV, crashed), signal(SIGABRT, crashed), signal(SIGBUS, crashed), signal(SIGFPE, crashed);
    long failed = 0, done = 0;
    double begun = MPI_Wtime();
    for (long seed = options.from; seed <= options.to; seed++, done++)
        if (!run(seed)) {
            failed++;
            if (at.rank == 0)
                printf("seed %ld differs\n", seed), fflush(stdout);
            if (!options.goes_on)
                MPI_Abort(MPI_COMM_WORLD, 1);
        }
    if (at.rank == 0)
        printf("%ld programs in %.1f s, %ld differ\n", done, MPI_Wtime() - begun, failed);
    MPI_Finalize();
    return failed > 0;
}
