// The ranks write records round-robin, from memory with gaps; file and memory are given as lists. The write is
// non-blocking: each rank computes and tests in turn.
//
//     mpicxx lists.cpp $(pkg-config --cflags --libs tributary) -o lists
//     mpiexec -n 4 ./lists records.bin
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <tributary.h>
#include <vector>

namespace {

// Turns a status into an exception. Collective functions throw on all ranks or on none.
void check(trib_status status) {
    if (status != TRIB_OK)
        throw std::runtime_error(trib_last_error_message());
}

// Closes its file when it is destroyed.
class File {
public:
    File(MPI_Comm comm, const char *path) { check(trib_open(comm, path, TRIB_CREATE, nullptr, &file)); }
    ~File() { trib_close(&file); }
    File(const File &) = delete;
    File &operator=(const File &) = delete;
    operator trib_file *() const { return file; }

private:
    trib_file *file = nullptr;
};

constexpr std::int64_t RECORDS = 50, WORDS = 7, GAP = 3;

void run(const char *path, int rank, int ranks) {
    const std::int64_t length = WORDS * sizeof(std::int32_t), pitch = (WORDS + GAP) * sizeof(std::int32_t);
    std::vector<std::int64_t> offsets, places, lengths(RECORDS, length);
    for (std::int64_t record = 0; record < RECORDS; record++) {
        offsets.push_back((record * ranks + rank) * length);
        places.push_back((RECORDS - 1 - record) * pitch); // the first record is last in memory
    }
    std::vector<std::int32_t> buffer(RECORDS * (WORDS + GAP), -1);
    for (std::int64_t record = 0; record < RECORDS; record++) {
        const auto first = buffer.begin() + (RECORDS - 1 - record) * (WORDS + GAP);
        std::iota(first, first + WORDS, static_cast<std::int32_t>((record * ranks + rank) * WORDS));
    }

    File file(MPI_COMM_WORLD, path);
    check(trib_start_write_all(file, RECORDS, offsets.data(), lengths.data(), RECORDS, places.data(), lengths.data(),
                               buffer.data()));
    int done = 0;
    std::int64_t bytes = 0, looks = 0;
    while (!done) {
        looks++; // a real program computes here
        check(trib_test(file, &done, &bytes));
    }
    if (bytes != RECORDS * length)
        throw std::runtime_error("not all bytes were written");

    // Every rank reads all words, in one extent.
    std::vector<std::int32_t> all(RECORDS * WORDS * ranks);
    const std::int64_t start = 0, total = RECORDS * length * ranks;
    check(trib_read_all(file, 1, &start, &total, 0, nullptr, nullptr, all.data(), &bytes));
    for (std::size_t i = 0; i < all.size(); i++)
        if (all[i] != static_cast<std::int32_t>(i))
            throw std::runtime_error("the file holds other words than were written");
    if (rank == 0)
        std::printf("verified %lld bytes, %s\n", static_cast<long long>(bytes), looks > 0 ? "tested" : "not tested");
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks, code = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    try {
        run(argc > 1 ? argv[1] : "lists.bin", rank, ranks);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        code = 1;
    }
    MPI_Finalize();
    return code;
}
