! The rows of a matrix are dealt to the ranks in turn. A column is contiguous in the file, so a rank has single elements of each.
program columns_of_a_matrix
    use mpi
    use tributary
    use, intrinsic :: iso_c_binding
    implicit none

    integer(c_int64_t), parameter :: element = 8, rows_of_a_rank = 100, columns = 200
    real(c_double) :: mine(rows_of_a_rank, columns), back(rows_of_a_rank, columns)
    integer(c_int64_t) :: rows, column, row
    type(c_ptr) :: file, pieces
    character(len=500) :: path = "columns.bin"
    integer :: rank, ranks, error

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    if (command_argument_count() > 0) call get_command_argument(1, path)
    rows = rows_of_a_rank * ranks
    ! Rows rank + 1, rank + 1 + ranks, and so on: in each column from where on, bytes of a piece, from piece to piece, pieces.
    call check(trib_extents_create(pieces))
    do column = 1, columns
        call check(trib_extents_add_run(pieces, ((column - 1) * rows + rank) * element, element, ranks * element, rows_of_a_rank))
        mine(:, column) = [(1000.0 * column + rank + 1 + row * ranks, row = 0, rows_of_a_rank - 1)]
    end do

    call check(trib_open(MPI_COMM_WORLD, path, trib_create, "", file)) ! collective, as all that follows
    call check(trib_write_all_extents(file, pieces, c_null_ptr, mine))
    call check(trib_read_all_extents(file, pieces, c_null_ptr, back))
    call check(trib_close(file))
    call check(trib_extents_free(pieces))
    if (any(back /= mine)) error stop "other numbers were read than written"
    if (rank == 0) print '(i0, a, i0, a)', rows, " x ", columns, " elements written and read back"
    call MPI_Finalize(error)

contains

    ! Ends the program on an error. The status is the same on every rank.
    subroutine check(status)
        integer(c_int), intent(in) :: status
        integer :: ignored

        if (status == trib_ok) return
        if (rank == 0) print '(a)', trib_error_string(status) // ": " // trib_last_error_message()
        call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
    end subroutine
end program
