/* Views of every common kind: two collective writes that leave the individual pointer inside of the view's type, one at an
 * offset, and all of it read back. Every byte between the displacement and the end is somebody's. */
#include "program.h"

#define ELEMENTS 3000 /* of a rank in one tile of its view */
#define DISPLACEMENT 128

/* What rank `rank` sees of a tile: a committed type of ELEMENTS ints, of which the tiles of all ranks cover everything. */
static MPI_Datatype vector(void)
{
    MPI_Datatype blocks, all;
    MUST(MPI_Type_vector(ELEMENTS / 3, 3, 3 * ranks, MPI_INT, &blocks));
    int block = 1;
    MPI_Aint at = 3L * rank * sizeof(int);
    MUST(MPI_Type_create_hindexed(1, &block, &at, blocks, &all));
    MPI_Datatype resized;
    MUST(MPI_Type_create_resized(all, 0, (MPI_Aint)ELEMENTS * ranks * sizeof(int), &resized));
    MUST(MPI_Type_free(&blocks));
    MUST(MPI_Type_free(&all));
    return resized;
}

static MPI_Datatype subarray(int order)
{
    int sizes[3] = {30, 20, 5 * ranks}, own[3] = {30, 20, 5}, starts[3] = {0, 0, 5 * rank};
    MPI_Datatype type;
    if (order == MPI_ORDER_FORTRAN)
        sizes[2] = 5, sizes[0] = 30 * ranks, starts[2] = 0, starts[0] = 30 * rank;
    MUST(MPI_Type_create_subarray(3, sizes, own, starts, order, MPI_INT, &type));
    return type;
}

static MPI_Datatype darray(int order, int distribution, int argument)
{
    int sizes[2] = {60, 50 * ranks}, distributions[2] = {distribution, MPI_DISTRIBUTE_CYCLIC};
    int arguments[2] = {argument, 5}, grid[2] = {0, 0};
    MPI_Datatype type;
    MUST(MPI_Dims_create(ranks, 2, grid));
    MUST(MPI_Type_create_darray(ranks, rank, 2, sizes, distributions, arguments, grid, order, MPI_INT, &type));
    return type;
}

/* Blocks of irregular length, of which rank `r` has every `ranks`-th. */
static MPI_Datatype indexed(int in_bytes)
{
    enum { BLOCKS = 60 };
    int lengths[BLOCKS], places[BLOCKS], at = 0, n = 0;
    MPI_Aint bytes[BLOCKS];
    for (int block = 0; block < BLOCKS * ranks; block++) {
        int length = 20 + (block / ranks % 2 ? 1 : -1) * (block / ranks / 2 % 20) + 30;
        if (block % ranks == rank)
            lengths[n] = length, places[n] = at, bytes[n++] = (MPI_Aint)at * sizeof(int);
        at += length;
    }
    MPI_Datatype type, resized;
    if (in_bytes)
        MUST(MPI_Type_create_hindexed(n, lengths, bytes, MPI_INT, &type));
    else
        MUST(MPI_Type_indexed(n, lengths, places, MPI_INT, &type));
    MUST(MPI_Type_create_resized(type, 0, (MPI_Aint)at * sizeof(int), &resized));
    MUST(MPI_Type_free(&type));
    return resized;
}

static MPI_Datatype block_and_struct(int structure)
{
    MPI_Aint places[30];
    MPI_Datatype types[30], type, resized;
    int lengths[30];
    for (int i = 0; i < 30; i++) {
        places[i] = (MPI_Aint)(i * ranks + rank) * 100 * sizeof(int);
        types[i] = i % 3 ? MPI_INT : MPI_FLOAT;
        lengths[i] = 100;
    }
    if (structure)
        MUST(MPI_Type_create_struct(30, lengths, places, types, &type));
    else
        MUST(MPI_Type_create_hindexed_block(30, 100, places, MPI_INT, &type));
    MUST(MPI_Type_create_resized(type, 0, (MPI_Aint)ELEMENTS * ranks * sizeof(int), &resized));
    MUST(MPI_Type_free(&type));
    return resized;
}

static void through(const char *name, MPI_Datatype filetype)
{
    char path[100];
    MPI_File file;
    MPI_Status status;
    MPI_Offset position;
    MPI_Count size;
    int first = ELEMENTS / 3, second;
    MUST(MPI_Type_commit(&filetype));
    MUST(MPI_Type_size_x(filetype, &size));
    int elements = size / sizeof(int);
    int *data = malloc(2 * elements * sizeof(int)), *back = calloc(2 * elements, sizeof(int));
    for (int i = 0; i < 2 * elements; i++)
        data[i] = value(rank, i);
    snprintf(path, sizeof path, "%s.dat", name);
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, DISPLACEMENT, MPI_INT, filetype, "native", MPI_INFO_NULL));
    MUST(MPI_Type_free(&filetype));
    if (first > elements)
        first = elements;
    second = elements - first;
    MUST(MPI_File_write_all(file, data, first, MPI_INT, &status));
    say("%s: %lld bytes,", name, bytes_of(&status));
    MUST(MPI_File_write_all(file, data + first, second, MPI_INT, &status));
    MUST(MPI_File_get_position(file, &position));
    say(" %lld, pointer %lld,", bytes_of(&status), (long long)position);
    MUST(MPI_File_write_at_all(file, elements, data + elements, elements, MPI_INT, &status));
    say(" %lld,", bytes_of(&status));
    MUST(MPI_File_sync(file));
    MUST(MPI_File_read_at_all(file, first, back + first, 2 * elements - first, MPI_INT, &status));
    say(" back %lld,", bytes_of(&status));
    MUST(MPI_File_seek(file, 0, MPI_SEEK_SET));
    MUST(MPI_File_read_all(file, back, first, MPI_INT, &status));
    MUST(MPI_File_get_position(file, &position));
    say(" %lld, pointer %lld\n", bytes_of(&status), (long long)position);
    for (int i = 0; i < 2 * elements; i++)
        TRUE(back[i] == data[i]);
    MUST(MPI_File_close(&file));
    free(data);
    free(back);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    through("vector", vector());
    through("subarray", subarray(MPI_ORDER_C));
    through("subarray-fortran", subarray(MPI_ORDER_FORTRAN));
    through("darray", darray(MPI_ORDER_C, MPI_DISTRIBUTE_CYCLIC, 2));
    through("darray-fortran", darray(MPI_ORDER_FORTRAN, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG));
    through("indexed", indexed(0));
    through("hindexed", indexed(1));
    through("hindexed-block", block_and_struct(0));
    through("struct", block_and_struct(1));
    finish();
    return 0;
}
