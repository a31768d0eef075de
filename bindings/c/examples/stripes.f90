! The rows of a matrix are distributed round-robin over the ranks. Columns are contiguous in memory and in the file, so a
! rank's part of each column is a run of single elements. The program writes the matrix, reads it back and compares.
!
!     mpifort $(pkg-config --variable=includedir tributary)/tributary.f90 stripes.f90 $(pkg-config --libs tributary)
!     mpiexec -n 4 ./a.out matrix.bin
program stripes
    use mpi
    use tributary
    use, intrinsic :: iso_c_binding
    implicit none

    integer(c_int64_t), parameter :: element = 8, rows = 24, columns = 31
    integer :: rank, ranks, error, wrong, row, column
    integer(c_int64_t) :: bytes, own, size
    type(c_ptr) :: file, extents
    type(trib_statistics) :: statistics
    real(c_double), allocatable, asynchronous :: mine(:, :), back(:, :)
    character(len=:), allocatable :: value
    character(len=500) :: path

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    path = "stripes.bin"
    if (command_argument_count() > 0) call get_command_argument(1, path)
    call check(trib_open(MPI_COMM_WORLD, path, trib_create, "trib_driver=lustre; striping_unit=512", file))

    ! Rows rank + 1, rank + 1 + ranks, ...: one run in each column.
    own = (rows - rank + ranks - 1) / ranks
    call check(trib_extents_create(extents))
    do column = 1, int(columns)
        call check(trib_extents_add_run(extents, ((column - 1) * rows + rank) * element, element, ranks * element, own))
    end do
    allocate (mine(own, columns), back(own, columns))
    do column = 1, int(columns)
        do row = 1, int(own)
            mine(row, column) = 1000 * column + rank + (row - 1) * ranks
        end do
    end do
    call check(trib_write_all_extents(file, extents, c_null_ptr, mine, bytes))
    wrong = 0
    if (bytes /= own * columns * element) wrong = wrong + 1

    back = 0
    call check(trib_start_read_all_extents(file, extents, c_null_ptr, back))
    call check(trib_wait(file, bytes))
    if (bytes /= own * columns * element) wrong = wrong + 1
    wrong = wrong + count(abs(back - mine) > 0)
    call check(trib_get_size(file, size))
    if (size /= rows * columns * element) wrong = wrong + 1

    call check(trib_get_statistics(file, statistics))
    if (statistics%calls /= 2 .or. statistics%bytes_read /= size) wrong = wrong + 1
    call check(trib_get_hint(file, "trib_driver", value))
    if (value /= "lustre") wrong = wrong + 1
    call check(trib_extents_free(extents))
    call check(trib_close(file))
    if (c_associated(file)) wrong = wrong + 1

    ! An error is a status on every rank, with a message.
    error = trib_open(MPI_COMM_WORLD, path, trib_create, "cb_nodes=many", file)
    value = trib_last_error_message()
    if (error /= trib_err_hint .or. index(value, "cb_nodes") == 0) wrong = wrong + 1
    call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0 .and. wrong == 0) print '(a, i0, a)', "verified ", size, " bytes, Tributary " // trib_version()
    call MPI_Finalize(error)
    if (wrong /= 0) error stop "WRONG"

contains

    ! Ends the program on an error.
    subroutine check(status)
        integer(c_int), intent(in) :: status
        integer :: ignored

        if (status == trib_ok) return
        print '(a)', trib_error_string(status) // ": " // trib_last_error_message()
        call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
    end subroutine
end program
