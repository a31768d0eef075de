! Collective writes from Fortran: individual pointers, views of a subarray and of a distributed array, split calls, requests.
! One source for the three ways to MPI: WITH_MPIF (mpif.h), WITH_MPI (use mpi), WITH_F08 (use mpi_f08).
#if defined(WITH_F08)
#define USE_MPI use mpi_f08
#define INCLUDE_MPI
#define A_FILE type(MPI_File)
#define A_TYPE type(MPI_Datatype)
#define A_REQUEST type(MPI_Request)
#define A_STATUS(s) type(MPI_Status) :: s
#else
#if defined(WITH_MPI)
#define USE_MPI use mpi
#define INCLUDE_MPI
#else
#define USE_MPI
#define INCLUDE_MPI include 'mpif.h'
#endif
#define A_FILE integer
#define A_TYPE integer
#define A_REQUEST integer
#define A_STATUS(s) integer :: s(MPI_STATUS_SIZE)
#endif

program collective
    USE_MPI
    implicit none
    INCLUDE_MPI
    integer, parameter :: rows = 40, columns = 30, steps = 4
    double precision :: field(0:rows + 1, 0:columns + 1), back(0:rows + 1, 0:columns + 1)
    A_FILE :: file
    A_TYPE :: mine, inner, spread
    A_REQUEST :: request
    A_STATUS(status)
    integer :: rank, ranks, error, step, moved, grid(2)
    integer(kind=MPI_OFFSET_KIND) :: position, start

    call MPI_INIT(error)
    call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
    call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, error)

    ! Columns side by side in the file; in memory there are ghost cells around them.
    call MPI_TYPE_CREATE_SUBARRAY(2, (/rows, columns*ranks/), (/rows, columns/), (/0, columns*rank/), &
                                  MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, mine, error)
    call MPI_TYPE_COMMIT(mine, error)
    call MPI_TYPE_CREATE_SUBARRAY(2, (/rows + 2, columns + 2/), (/rows, columns/), (/1, 1/), &
                                  MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, inner, error)
    call MPI_TYPE_COMMIT(inner, error)
    call MPI_FILE_OPEN(MPI_COMM_WORLD, 'fortran-subarray', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
    call check(error, 'open')
    start = 0
    call MPI_FILE_SET_VIEW(file, start, MPI_DOUBLE_PRECISION, mine, 'native', MPI_INFO_NULL, error)
    call check(error, 'set_view')
    do step = 1, steps
        call fill(field, step)
        if (step < 3) then
            call MPI_FILE_WRITE_ALL(file, field, 1, inner, status, error)
        else if (step == 3) then
            call MPI_FILE_WRITE_ALL_BEGIN(file, field, 1, inner, error)
            call check(error, 'begin')
            call MPI_FILE_WRITE_ALL_END(file, field, status, error)
        else
            call MPI_FILE_IWRITE_ALL(file, field, 1, inner, request, error)
            call check(error, 'iwrite_all')
            call MPI_WAIT(request, status, error)
        end if
        call check(error, 'write')
        call MPI_GET_COUNT(status, MPI_DOUBLE_PRECISION, moved, error)
        call MPI_FILE_GET_POSITION(file, position, error)
        if (moved /= rows*columns .or. position /= int(rows*columns, MPI_OFFSET_KIND)*step) call give_up('write')
    end do
    call MPI_FILE_SYNC(file, error)
    call MPI_FILE_SEEK(file, start, MPI_SEEK_SET, error)
    do step = 1, steps
        call fill(field, step)
        back = -1
        call MPI_FILE_READ_ALL(file, back, 1, inner, status, error)
        call check(error, 'read_all')
        if (any(back(1:rows, 1:columns) /= field(1:rows, 1:columns))) call give_up('read_all')
        if (any(back(0, :) /= -1) .or. any(back(:, columns + 1) /= -1)) call give_up('ghost cells')
    end do
    call MPI_FILE_CLOSE(file, error)
    call check(error, 'close')

    ! An array dealt out in blocks of rows and in turns of columns.
    grid = 0
    call MPI_DIMS_CREATE(ranks, 2, grid, error)
    call MPI_TYPE_CREATE_DARRAY(ranks, rank, 2, (/rows*grid(1), columns*grid(2)/), &
                                (/MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC/), (/MPI_DISTRIBUTE_DFLT_DARG, 5/), grid, &
                                MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, spread, error)
    call MPI_TYPE_COMMIT(spread, error)
    call MPI_FILE_OPEN(MPI_COMM_WORLD, 'fortran-darray', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
    start = 16
    call MPI_FILE_SET_VIEW(file, start, MPI_DOUBLE_PRECISION, spread, 'native', MPI_INFO_NULL, error)
    call fill(field, 7)
    call MPI_FILE_WRITE_AT_ALL(file, 0_MPI_OFFSET_KIND, field(1:rows, 1:columns), rows*columns, MPI_DOUBLE_PRECISION, &
                               status, error)
    call check(error, 'write_at_all')
    call MPI_FILE_SYNC(file, error)
    call MPI_FILE_READ_AT_ALL(file, 0_MPI_OFFSET_KIND, back, rows*columns, MPI_DOUBLE_PRECISION, status, error)
    call check(error, 'read_at_all')
    call MPI_FILE_CLOSE(file, error)
    call MPI_TYPE_FREE(mine, error)
    call MPI_TYPE_FREE(inner, error)
    call MPI_TYPE_FREE(spread, error)
    if (rank == 0) print '(A)', 'done'
    call MPI_FINALIZE(error)

contains

    subroutine fill(values, of)
        double precision, intent(out) :: values(0:, 0:)
        integer, intent(in) :: of
        integer :: i, j
        do j = 0, columns + 1
            do i = 0, rows + 1
                values(i, j) = 1 + i + 100*j + 10000*rank + 1000000*of
            end do
        end do
    end subroutine

    subroutine check(code, what)
        integer, intent(in) :: code
        character(len=*), intent(in) :: what
        if (code /= MPI_SUCCESS) call give_up(what)
    end subroutine

    subroutine give_up(what)
        character(len=*), intent(in) :: what
        integer :: code
        print '(A,I0,A,A)', 'rank ', rank, ': ', what
        call MPI_ABORT(MPI_COMM_WORLD, 3, code)
    end subroutine
end program
