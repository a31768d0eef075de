/* Collective and independent calls at the individual file pointer, seeks of all kinds, nonblocking and split calls, and atomic
 * mode, in random order, in views with and without lower bounds and in nested ones, each set several times. After every call the
 * position, the bytes that were read and those in the file are those of a simple model (MPI 4.1, 14.4.1 and 14.4.3).
 *   pointers PATH [SEED [CALLS [without atomic mode]]] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 14, PLACES = 2048, MOST = 24 };

static int rank, ranks, bad;
static MPI_File file;
static int image[ROOM], places[PLACES], unit;
static unsigned long common = 1, own = 1;

static int draw(unsigned long *state, int below)
{
    *state = *state * 6364136223846793005UL + 1442695040888963407UL;
    return (int)((*state >> 33) % below);
}

static void wrong(int view, int call, const char *what, long got, long due)
{
    if (!bad)
        printf("rank %d: view %d, call %d: %s: %ld instead of %ld\n", rank, view, call, what, got, due);
    bad = 1;
}

/* The file type of a view, in units of `unit` ints, and the place of each unit. */
static MPI_Datatype make(int view, MPI_Datatype etype)
{
    MPI_Datatype a, b, c, d;
    int n = 0, bytes = unit * 4;
    switch (view % 6) {
    case 0: /* all bytes */
        MPI_Type_contiguous(1, etype, &a);
        for (; n < PLACES; n++)
            places[n] = n;
        break;
    case 1: /* a gap behind */
        MPI_Type_create_resized(etype, 0, 3 * bytes, &a);
        for (; n < PLACES; n++)
            places[n] = 3 * n;
        break;
    case 2: /* a lower bound above the data */
        MPI_Type_create_resized(etype, bytes, 3 * bytes, &a);
        for (; n < PLACES; n++)
            places[n] = 3 * n;
        break;
    case 3: /* a lower bound below the data, and one inside it, where ROMIO's independent calls miss the place */
    case 4: {
        int lengths[2] = {2, 1}, starts[2] = {1, 5}, low = view % 6 == 3 ? 0 : 2;
        MPI_Type_indexed(2, lengths, starts, etype, &b);
        MPI_Type_create_resized(b, low * bytes, 8 * bytes, &a);
        MPI_Type_free(&b);
        for (; n < PLACES; n++)
            places[n] = n / 3 * 8 + (int[]){1, 2, 5}[n % 3];
        break;
    }
    default: /* a vector of resized vectors of resized units, with lower bounds */
        MPI_Type_create_resized(etype, bytes, 2 * bytes, &b);
        MPI_Type_vector(2, 1, 1, b, &c);
        MPI_Type_create_resized(c, 2 * bytes, 6 * bytes, &d);
        MPI_Type_free(&b);
        MPI_Type_vector(2, 1, 2, d, &b);
        MPI_Type_create_resized(b, bytes, 20 * bytes, &a);
        MPI_Type_free(&b), MPI_Type_free(&c), MPI_Type_free(&d);
        for (; n < PLACES; n++)
            places[n] = n / 4 * 20 + (int[]){0, 2, 12, 14}[n % 4];
    }
    MPI_Type_commit(&a);
    return a;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    common = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    own = common * 1000003 + rank;
    int calls = argc > 3 ? atoi(argv[3]) : 60, any, atomic = 0;
    for (int i = 0; i < ROOM; i++)
        image[i] = -(rank * ROOM + i) - 1;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, (MPI_Offset)rank * sizeof image, image, ROOM, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int view = 0; view < 12; view++) {
        unit = view < 6 ? 1 : 2;
        MPI_Datatype etype;
        MPI_Type_contiguous(unit, MPI_INT, &etype);
        MPI_Type_commit(&etype);
        MPI_Datatype type = make(view, etype);
        const int start = 64;
        MPI_Offset position = 0, got;
        if (atomic && view % 6 == 4)
            MPI_File_set_atomicity(file, atomic = 0);
        for (int call = 0; call < calls; call++) {
            if (call % 20 == 0) {
                position = 0;
                if (MPI_File_set_view(file, ((MPI_Offset)rank * ROOM + start) * 4, etype, type, "native", MPI_INFO_NULL))
                    wrong(view, call, "set_view", 1, 0);
            }
            int what = draw(&common, 15), count = draw(&own, 4) ? draw(&own, MOST) : 0, code = 0, read = 0, write = 0;
            if (view % 6 == 4)
                what = (int[]){0, 1, 0, 1, 6, 7, 6, 7, 8, 9, 10, 11, 12, 13, 13}[what];
            int data[MOST * 2], n = count * unit;
            MPI_Offset by = 0, at;
            MPI_Request request;
            MPI_Status status;
            if (position + count > 600)
                position = draw(&own, 300), MPI_File_seek(file, position, MPI_SEEK_SET);
            at = position;
            for (int i = 0; i < n; i++)
                data[i] = (view * 1000 + call) * 100000 + rank * 1000 + i;
            switch (what) {
            case 0: write = 1, code = MPI_File_write_all(file, data, n, MPI_INT, &status); break;
            case 1: read = 1, code = MPI_File_read_all(file, data, n, MPI_INT, &status); break;
            case 2: write = 1, code = MPI_File_write(file, data, n, MPI_INT, &status); break;
            case 3: read = 1, code = MPI_File_read(file, data, n, MPI_INT, MPI_STATUS_IGNORE); break;
            case 4:
            case 5:
            case 6:
            case 7:
                write = what % 2 == 0, read = !write;
                code = what == 4   ? MPI_File_iwrite(file, data, n, MPI_INT, &request)
                       : what == 5 ? MPI_File_iread(file, data, n, MPI_INT, &request)
                       : what == 6 ? MPI_File_iwrite_all(file, data, n, MPI_INT, &request)
                                   : MPI_File_iread_all(file, data, n, MPI_INT, &request);
                MPI_File_get_position(file, &got);
                if (got != position + count)
                    wrong(view, call, "position while the call is under way", got, position + count);
                code |= MPI_Wait(&request, &status);
                break;
            case 8:
                write = 1, code = MPI_File_write_all_begin(file, data, n, MPI_INT);
                code |= MPI_File_write_all_end(file, data, &status);
                break;
            case 9:
                read = 1, code = MPI_File_read_all_begin(file, data, n, MPI_INT);
                code |= MPI_File_read_all_end(file, data, &status);
                break;
            case 10: position = draw(&own, 300), code = MPI_File_seek(file, position, MPI_SEEK_SET); break;
            case 11:
                by = draw(&own, 100) - (position > 50 ? 50 : 0), position += by;
                code = MPI_File_seek(file, by, MPI_SEEK_CUR);
                break;
            case 12: {
                MPI_Offset end = ((MPI_Offset)(ranks - rank) * ROOM - start) / unit, due = 0;
                int period = view % 6 == 0 ? 1 : view % 6 < 3 ? 3 : view % 6 < 5 ? 8 : 20;
                int each = view % 6 < 3 ? 1 : view % 6 < 5 ? 3 : 4;
                for (due = end / period * each; due > 0 && (due - 1) / each * period + places[(due - 1) % each] >= end;)
                    due--;
                while (due / each * period + places[due % each] < end)
                    due++;
                by = -draw(&own, 5), code = MPI_File_seek(file, by, MPI_SEEK_END);
                MPI_File_get_position(file, &got);
                if (got != due + by)
                    wrong(view, call, "position from the end", got, due + by);
                position = draw(&own, 300), code |= MPI_File_seek(file, position - (due + by), MPI_SEEK_CUR);
                break;
            }
            case 13:
                if (MPI_File_seek(file, -position - 1, MPI_SEEK_CUR) == MPI_SUCCESS)
                    wrong(view, call, "a seek before the file", 0, 1);
                if (MPI_File_seek(file, -1, MPI_SEEK_SET) == MPI_SUCCESS)
                    wrong(view, call, "a seek to -1", 0, 1);
                break;
            default: atomic = !atomic && argc < 5, code = MPI_File_set_atomicity(file, atomic);
            }
            if (code)
                wrong(view, call, "return code", code, what);
            for (int i = 0; i < n && (read || write); i++) {
                int *place = &image[start + places[at + i / unit] * unit + i % unit];
                if (write)
                    *place = data[i];
                else if (data[i] != *place)
                    wrong(view, call, "int that was read", data[i], *place);
            }
            if (read || write)
                position += count;
            MPI_File_get_position(file, &got);
            if (got != position)
                wrong(view, call, "position", got, position);
        }
        MPI_Type_free(&type);
        MPI_Type_free(&etype);
    }
    static int back[ROOM];
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_read_at_all(file, (MPI_Offset)rank * sizeof image, back, ROOM, MPI_INT, MPI_STATUS_IGNORE);
    for (int i = 0; i < ROOM; i++)
        if (back[i] != image[i])
            wrong(-1, i, "int in the file", back[i], image[i]);
    MPI_File_close(&file);
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf(any ? "wrong\n" : "ok\n");
    MPI_Finalize();
    return any;
}
