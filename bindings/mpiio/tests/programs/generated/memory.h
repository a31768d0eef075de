/* Memory for the data of one call, laid out at random, which is checked to the last byte beside the data. */
#pragma once
#include "nested.h"

enum { LAYOUTS = 12 };

/* Values of bytes; ANYTHING for a byte that nobody knows. */
using Values = std::vector<int16_t>;
enum { ANYTHING = -1 };

class Memory {
    std::vector<uint8_t> buffer, due;
    long base = 0;

    /* Calls `visit` with the place in the buffer and the length of each run of the first `bytes` bytes of the data. */
    template <typename Visit> void each(long bytes, Visit visit) const
    {
        for (long i = 0, done = 0; i < count && done < bytes; i++)
            for (const Run &run : type.runs) {
                long length = std::min(run.length, bytes - done);
                if (length > 0)
                    visit(base + i * type.extent() + run.at, done, length);
                done += length;
            }
    }

  public:
    Type type;
    int count = 0;
    void *address = nullptr;
    /* Data that are in memory more than once: in writes only. */
    bool repeats = false;

    /* Memory for `n` units; `repeats` if all data are the same byte, so that a part of memory may be written twice. */
    Memory(Chance &chance, const Leaf &leaf, long n, bool may_repeat, bool has_bounds)
    {
        Making how = {chance, true, false, leaf.size, has_bounds};
        Type unit = type_of(leaf);
        int layout = chance.below(LAYOUTS);
        bool is_absolute = false;
        if (n == 0)
            layout = chance.below(2);
        switch (layout) {
        case 0: type = std::move(unit), count = n; break;
        case 1: type = nested(how, unit, 1 + chance.below(5), 1), count = 0; break;
        case 2: set(nested(how, unit, n, 1, VECTOR)); break;
        case 3: set(nested(how, unit, n, 2, HVECTOR)); break;
        case 4: set(nested(how, unit, n, 1, INDEXED)); break;
        case 5: is_absolute = true; break;
        case 6: set(nested(how, unit, n, 2, STRUCT)); break;
        case 7: set(nested(how, unit, n, 2, SUBARRAY)); break;
        case 8: set(nested(how, unit, n, 2, DARRAY)); break;
        case 9: several(nested(how, unit, 1, 2, RESIZED), n * leaf.size); break;
        case 10: set(nested(how, unit, n, 3)); break;
        default: repeats = may_repeat && n > 1;
        }
        if (layout == 1 && n > 0)
            several(nested(how, unit, divisor(chance, n), 1, CONTIGUOUS), n * leaf.size);
        if (layout == 11 && !repeats)
            set(nested(how, unit, n, 2, HINDEXED_BLOCK));
        if (repeats)
            set(vector(how, unit, n, 1, 0, true));
        if (is_absolute)
            set(nested(how, unit, n, 1, HINDEXED));
        room(chance);
        address = buffer.data() + base;
        if (is_absolute) {
            MPI_Aint place;
            MUST(MPI_Get_address(address, &place));
            Type there = hindexed(how, type, {(long)place}, {1});
            there.runs = type.runs, there.lower = type.lower, there.upper = type.upper;
            type = std::move(there), address = MPI_BOTTOM;
        }
        commit(type);
    }

    /* Puts `data` there for a write. */
    void fill(const Values &data)
    {
        each(data.size(), [&](long place, long from, long length) { std::copy_n(&data[from], length, &buffer[place]); });
        due = buffer;
    }

    /* The place of the first byte that is not `data`, or that a call has changed beside the data; -1 if there is none. `ignored`
     * bytes of data after these may be anything. */
    long wrong(const Values &data, long ignored, std::string &what)
    {
        each(data.size(), [&](long place, long from, long length) {
            for (long i = 0; i < length; i++)
                due[place + i] = data[from + i] == ANYTHING ? buffer[place + i] : data[from + i];
        });
        each(data.size() + ignored, [&](long place, long from, long length) {
            for (long i = std::max(0L, (long)data.size() - from); i < length; i++)
                due[place + i] = buffer[place + i];
        });
        if (due == buffer)
            return -1;
        long in_data = -1;
        each(data.size(), [&](long place, long from, long length) {
            for (long i = 0; i < length && in_data < 0; i++)
                if (due[place + i] != buffer[place + i])
                    in_data = from + i, what = text("byte %ld of %zu is %d instead of %d", in_data, data.size(), buffer[place + i], due[place + i]);
        });
        if (in_data < 0)
            what = "memory beside the data has changed";
        return std::max(in_data, 0L);
    }

  private:
    void set(Type of) { type = std::move(of), count = 1; }
    void several(Type of, long bytes) { count = bytes / of.size, type = std::move(of); }

    /* Makes room for all elements, and some beside them. */
    void room(Chance &chance)
    {
        long first = type.first(), end = type.end() + std::max(0, count - 1) * type.extent();
        base = 16 + chance.below(8) - std::min(0L, first);
        buffer.assign(base + std::max(end, 0L) + 16, 0x5a);
        due = buffer;
    }
};
