/* Random numbers that follow from a list of numbers, such as a seed and a step. */
#pragma once
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

class Chance {
    uint64_t state = 0;

  public:
    Chance(std::initializer_list<long> of)
    {
        for (long part : of)
            state = next() ^ (uint64_t)part * 0x9e3779b97f4a7c15u;
    }

    uint64_t next()
    {
        uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }

    /* A number from 0 to `end` - 1. */
    long below(long end) { return end <= 1 ? 0 : (long)(next() % (uint64_t)end); }
    /* A number from `low` to `high`, both included. */
    long between(long low, long high) { return low + below(high - low + 1); }
    bool one_in(long n) { return below(n) == 0; }

    template <typename T> const T &of(const std::vector<T> &list) { return list[below(list.size())]; }

    template <typename T> void shuffle(std::vector<T> &list)
    {
        for (long i = (long)list.size() - 1; i > 0; i--)
            std::swap(list[i], list[below(i + 1)]);
    }
};
