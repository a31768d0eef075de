/* The data accesses of MPI: by position, by how they are completed, collective or not. */
#pragma once
#include "context.h"

enum Position { EXPLICIT, POINTER, SHARED };
enum Way { BLOCKING, NONBLOCKING, SPLIT };

struct Call {
    Position position;
    Way way;
    bool is_collective, writes;

    std::string name() const
    {
        const char *at = position == EXPLICIT ? "_at" : "", *all = position == SHARED ? (is_collective ? "_ordered" : "_shared") : is_collective ? "_all" : "";
        return std::string(way == NONBLOCKING ? "i" : "") + (writes ? "write" : "read") + at + all + (way == SPLIT ? "_begin" : "");
    }
};

/* Calls MPI. A blocking call fills the status. */
static int called(const Call &call, MPI_File f, MPI_Offset o, void *b, int n, MPI_Datatype t, MPI_Status *s, MPI_Request *q)
{
    bool w = call.writes;
    if (call.way == BLOCKING) {
        if (call.position == EXPLICIT && call.is_collective)
            return w ? MPI_File_write_at_all(f, o, b, n, t, s) : MPI_File_read_at_all(f, o, b, n, t, s);
        if (call.position == EXPLICIT)
            return w ? MPI_File_write_at(f, o, b, n, t, s) : MPI_File_read_at(f, o, b, n, t, s);
        if (call.position == POINTER && call.is_collective)
            return w ? MPI_File_write_all(f, b, n, t, s) : MPI_File_read_all(f, b, n, t, s);
        if (call.position == POINTER)
            return w ? MPI_File_write(f, b, n, t, s) : MPI_File_read(f, b, n, t, s);
        if (call.is_collective)
            return w ? MPI_File_write_ordered(f, b, n, t, s) : MPI_File_read_ordered(f, b, n, t, s);
        return w ? MPI_File_write_shared(f, b, n, t, s) : MPI_File_read_shared(f, b, n, t, s);
    }
    if (call.way == NONBLOCKING) {
        if (call.position == EXPLICIT && call.is_collective)
            return w ? MPI_File_iwrite_at_all(f, o, b, n, t, q) : MPI_File_iread_at_all(f, o, b, n, t, q);
        if (call.position == EXPLICIT)
            return w ? MPI_File_iwrite_at(f, o, b, n, t, q) : MPI_File_iread_at(f, o, b, n, t, q);
        if (call.position == POINTER && call.is_collective)
            return w ? MPI_File_iwrite_all(f, b, n, t, q) : MPI_File_iread_all(f, b, n, t, q);
        if (call.position == POINTER)
            return w ? MPI_File_iwrite(f, b, n, t, q) : MPI_File_iread(f, b, n, t, q);
        return w ? MPI_File_iwrite_shared(f, b, n, t, q) : MPI_File_iread_shared(f, b, n, t, q);
    }
    if (call.position == EXPLICIT)
        return w ? MPI_File_write_at_all_begin(f, o, b, n, t) : MPI_File_read_at_all_begin(f, o, b, n, t);
    if (call.position == POINTER)
        return w ? MPI_File_write_all_begin(f, b, n, t) : MPI_File_read_all_begin(f, b, n, t);
    return w ? MPI_File_write_ordered_begin(f, b, n, t) : MPI_File_read_ordered_begin(f, b, n, t);
}

/* Ends a split call. */
static int ended_split(const std::string &name, MPI_File f, void *b, MPI_Status *s)
{
    if (name == "write_at_all_begin")
        return MPI_File_write_at_all_end(f, b, s);
    if (name == "read_at_all_begin")
        return MPI_File_read_at_all_end(f, b, s);
    if (name == "write_all_begin")
        return MPI_File_write_all_end(f, b, s);
    if (name == "read_all_begin")
        return MPI_File_read_all_end(f, b, s);
    if (name == "write_ordered_begin")
        return MPI_File_write_ordered_end(f, b, s);
    return MPI_File_read_ordered_end(f, b, s);
}
