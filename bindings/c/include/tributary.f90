! Tributary for Fortran: the functions of tributary.h, which documents each of them.
!
! Compile this file with the program's own compiler, or add it to the program's sources. Offsets, lengths and counts are
! integer(c_int64_t). A file is a type(c_ptr). Lists of memory may be omitted: the bytes are then contiguous.
module tributary
    use, intrinsic :: iso_c_binding
    implicit none
    private

    enum, bind(c)
        enumerator :: trib_ok = 0, trib_err_argument, trib_err_hint, trib_err_no_space, trib_err_quota, &
            trib_err_too_large, trib_err_read_only, trib_err_access, trib_err_no_such_file, trib_err_bad_file, &
            trib_err_io, trib_err_fabric, trib_err_internal, trib_err_no_memory
    end enum
    enum, bind(c)
        enumerator :: trib_create = 1, trib_update, trib_read
    end enum
    enum, bind(c)
        enumerator :: trib_path_nothing = 0, trib_path_exchange, trib_path_direct, trib_path_shared, trib_path_root
    end enum

    ! The struct trib_statistics.
    type, bind(c) :: trib_statistics
        integer(c_int64_t) :: calls
        integer(c_int) :: path
        integer(c_int) :: plan_reused
        integer(c_int64_t) :: aggregators, requests, bytes, bytes_written, bytes_read, rounds
        integer(c_int64_t) :: metadata_bytes, metadata_messages, data_messages, in_memory
        real(c_double) :: seconds_flatten, seconds_metadata, seconds_data, seconds_placement, seconds_io
        real(c_double) :: seconds_agreement, seconds_total
    end type

    public :: trib_ok, trib_err_argument, trib_err_hint, trib_err_no_space, trib_err_quota, trib_err_too_large
    public :: trib_err_read_only, trib_err_access, trib_err_no_such_file, trib_err_bad_file, trib_err_io
    public :: trib_err_fabric, trib_err_internal, trib_err_no_memory
    public :: trib_create, trib_update, trib_read
    public :: trib_path_nothing, trib_path_exchange, trib_path_direct, trib_path_shared, trib_path_root
    public :: trib_statistics
    public :: trib_open, trib_close, trib_sync, trib_set_size, trib_get_size
    public :: trib_write_all, trib_read_all, trib_write_all_extents, trib_read_all_extents
    public :: trib_start_write_all, trib_start_read_all, trib_start_write_all_extents, trib_start_read_all_extents
    public :: trib_test, trib_wait, trib_write_at, trib_read_at
    public :: trib_extents_create, trib_extents_add_list, trib_extents_add_run, trib_extents_add_subarray
    public :: trib_extents_total, trib_extents_free
    public :: trib_check_hints, trib_get_hint, trib_get_statistics, trib_report_json
    public :: trib_error_string, trib_last_error_message, trib_version

    interface
        integer(c_int) function trib_close(file) bind(c)
            import
            type(c_ptr), intent(inout) :: file
        end function

        integer(c_int) function trib_sync(file) bind(c)
            import
            type(c_ptr), value :: file
        end function

        integer(c_int) function trib_set_size(file, size) bind(c)
            import
            type(c_ptr), value :: file
            integer(c_int64_t), value :: size
        end function

        integer(c_int) function trib_get_size(file, size) bind(c)
            import
            type(c_ptr), value :: file
            integer(c_int64_t), intent(out) :: size
        end function

        integer(c_int) function trib_write_all(file, file_count, file_offsets, file_lengths, memory_count, &
                memory_offsets, memory_lengths, buffer, bytes) bind(c)
            import
            type(c_ptr), value :: file
            integer(c_int64_t), value :: file_count, memory_count
            integer(c_int64_t), intent(in) :: file_offsets(*), file_lengths(*)
            integer(c_int64_t), intent(in), optional :: memory_offsets(*), memory_lengths(*)
            type(*), intent(in) :: buffer(*)
            integer(c_int64_t), intent(out), optional :: bytes
        end function

        integer(c_int) function trib_read_all(file, file_count, file_offsets, file_lengths, memory_count, &
                memory_offsets, memory_lengths, buffer, bytes) bind(c)
            import
            type(c_ptr), value :: file
            integer(c_int64_t), value :: file_count, memory_count
            integer(c_int64_t), intent(in) :: file_offsets(*), file_lengths(*)
            integer(c_int64_t), intent(in), optional :: memory_offsets(*), memory_lengths(*)
            type(*), intent(inout) :: buffer(*)
            integer(c_int64_t), intent(out), optional :: bytes
        end function

        ! file_extents of c_null_ptr mean no data; memory_extents of c_null_ptr mean contiguous bytes.
        integer(c_int) function trib_write_all_extents(file, file_extents, memory_extents, buffer, bytes) bind(c)
            import
            type(c_ptr), value :: file, file_extents, memory_extents
            type(*), intent(in) :: buffer(*)
            integer(c_int64_t), intent(out), optional :: bytes
        end function

        integer(c_int) function trib_read_all_extents(file, file_extents, memory_extents, buffer, bytes) bind(c)
            import
            type(c_ptr), value :: file, file_extents, memory_extents
            type(*), intent(inout) :: buffer(*)
            integer(c_int64_t), intent(out), optional :: bytes
        end function

        ! The buffer is asynchronous: it must stay in place until the operation has ended, so the compiler must not pass a copy.
        integer(c_int) function trib_start_write_all(file, file_count, file_offsets, file_lengths, memory_count, &
                memory_offsets, memory_lengths, buffer) bind(c)
            import
            type(c_ptr), value :: file
            integer(c_int64_t), value :: file_count, memory_count
            integer(c_int64_t), intent(in) :: file_offsets(*), file_lengths(*)
            integer(c_int64_t), intent(in), optional :: memory_offsets(*), memory_lengths(*)
            type(*), intent(in), asynchronous :: buffer(*)
        end function

        integer(c_int) function trib_start_read_all(file, file_count, file_offsets, file_lengths, memory_count, &
                memory_offsets, memory_lengths, buffer) bind(c)
            import
            type(c_ptr), value :: file
            integer(c_int64_t), value :: file_count, memory_count
            integer(c_int64_t), intent(in) :: file_offsets(*), file_lengths(*)
            integer(c_int64_t), intent(in), optional :: memory_offsets(*), memory_lengths(*)
            type(*), intent(inout), asynchronous :: buffer(*)
        end function

        integer(c_int) function trib_start_write_all_extents(file, file_extents, memory_extents, buffer) bind(c)
            import
            type(c_ptr), value :: file, file_extents, memory_extents
            type(*), intent(in), asynchronous :: buffer(*)
        end function

        integer(c_int) function trib_start_read_all_extents(file, file_extents, memory_extents, buffer) bind(c)
            import
            type(c_ptr), value :: file, file_extents, memory_extents
            type(*), intent(inout), asynchronous :: buffer(*)
        end function

        integer(c_int) function trib_test(file, done, bytes) bind(c)
            import
            type(c_ptr), value :: file
            integer(c_int), intent(out) :: done
            integer(c_int64_t), intent(out), optional :: bytes
        end function

        integer(c_int) function trib_wait(file, bytes) bind(c)
            import
            type(c_ptr), value :: file
            integer(c_int64_t), intent(out), optional :: bytes
        end function

        integer(c_int) function trib_write_at(file, offset, buffer, length, bytes) bind(c)
            import
            type(c_ptr), value :: file
            integer(c_int64_t), value :: offset, length
            type(*), intent(in) :: buffer(*)
            integer(c_int64_t), intent(out), optional :: bytes
        end function

        integer(c_int) function trib_read_at(file, offset, buffer, length, bytes) bind(c)
            import
            type(c_ptr), value :: file
            integer(c_int64_t), value :: offset, length
            type(*), intent(inout) :: buffer(*)
            integer(c_int64_t), intent(out), optional :: bytes
        end function

        integer(c_int) function trib_extents_create(extents) bind(c)
            import
            type(c_ptr), intent(out) :: extents
        end function

        integer(c_int) function trib_extents_add_list(extents, count, offsets, lengths) bind(c)
            import
            type(c_ptr), value :: extents
            integer(c_int64_t), value :: count
            integer(c_int64_t), intent(in) :: offsets(*), lengths(*)
        end function

        integer(c_int) function trib_extents_add_run(extents, offset, length, stride, count) bind(c)
            import
            type(c_ptr), value :: extents
            integer(c_int64_t), value :: offset, length, stride, count
        end function

        ! Dimensions are in the order of C: the slowest, which is Fortran's last, comes first. Starts count from 0.
        integer(c_int) function trib_extents_add_subarray(extents, offset, element, dimensions, sizes, subsizes, &
                starts) bind(c)
            import
            type(c_ptr), value :: extents
            integer(c_int64_t), value :: offset, element
            integer(c_int), value :: dimensions
            integer(c_int64_t), intent(in) :: sizes(*), subsizes(*), starts(*)
        end function

        integer(c_int) function trib_extents_total(extents, count, bytes) bind(c)
            import
            type(c_ptr), value :: extents
            integer(c_int64_t), intent(out), optional :: count, bytes
        end function

        integer(c_int) function trib_extents_free(extents) bind(c)
            import
            type(c_ptr), intent(inout) :: extents
        end function

        integer(c_int) function trib_get_statistics(file, statistics) bind(c)
            import
            type(c_ptr), value :: file
            type(trib_statistics), intent(out) :: statistics
        end function

        integer(c_int) function c_open(comm, path, mode, hints, file) bind(c, name="trib_open_fortran")
            import
            integer(c_int), value :: comm, mode
            character(kind=c_char), intent(in) :: path(*), hints(*)
            type(c_ptr), intent(out) :: file
        end function

        integer(c_int) function c_check_hints(hints) bind(c, name="trib_check_hints")
            import
            character(kind=c_char), intent(in) :: hints(*)
        end function

        integer(c_int) function c_get_hint(file, key, value, size, length) bind(c, name="trib_get_hint")
            import
            type(c_ptr), value :: file, value
            character(kind=c_char), intent(in) :: key(*)
            integer(c_size_t), value :: size
            integer(c_size_t), intent(inout) :: length
        end function

        integer(c_int) function c_report_json(file, text, size, length) bind(c, name="trib_report_json")
            import
            type(c_ptr), value :: file, text
            integer(c_size_t), value :: size
            integer(c_size_t), intent(inout) :: length
        end function

        type(c_ptr) function c_error_string(code) bind(c, name="trib_error_string")
            import
            integer(c_int), value :: code
        end function

        type(c_ptr) function c_last_error_message() bind(c, name="trib_last_error_message")
            import
        end function

        type(c_ptr) function c_version() bind(c, name="trib_version")
            import
        end function

        integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
            import
            type(c_ptr), value :: text
        end function
    end interface

contains

    ! comm is the integer handle of `use mpi`; with `use mpi_f08`, pass comm%MPI_VAL. Trailing blanks of path and hints are
    ! ignored.
    integer(c_int) function trib_open(comm, path, mode, hints, file)
        integer, intent(in) :: comm
        character(len=*), intent(in) :: path, hints
        integer(c_int), intent(in) :: mode
        type(c_ptr), intent(out) :: file

        trib_open = c_open(int(comm, c_int), trim(path) // c_null_char, mode, trim(hints) // c_null_char, file)
    end function

    integer(c_int) function trib_check_hints(hints)
        character(len=*), intent(in) :: hints

        trib_check_hints = c_check_hints(trim(hints) // c_null_char)
    end function

    integer(c_int) function trib_get_hint(file, key, value)
        type(c_ptr), intent(in) :: file
        character(len=*), intent(in) :: key
        character(len=:), allocatable, intent(out) :: value
        character(kind=c_char), allocatable, target :: text(:)
        integer(c_size_t) :: length

        value = ""
        length = 0
        trib_get_hint = c_get_hint(file, trim(key) // c_null_char, c_null_ptr, 0_c_size_t, length)
        if (trib_get_hint /= trib_ok) return
        allocate (text(length + 1))
        trib_get_hint = c_get_hint(file, trim(key) // c_null_char, c_loc(text), length + 1, length)
        if (trib_get_hint == trib_ok) value = characters(text)
    end function

    integer(c_int) function trib_report_json(file, report)
        type(c_ptr), intent(in) :: file
        character(len=:), allocatable, intent(out) :: report
        character(kind=c_char), allocatable, target :: text(:)
        integer(c_size_t) :: length

        report = ""
        length = 0
        trib_report_json = c_report_json(file, c_null_ptr, 0_c_size_t, length)
        if (trib_report_json /= trib_ok) return
        allocate (text(length + 1))
        trib_report_json = c_report_json(file, c_loc(text), length + 1, length)
        if (trib_report_json == trib_ok) report = characters(text)
    end function

    function trib_error_string(code) result(words)
        integer(c_int), intent(in) :: code
        character(len=:), allocatable :: words

        words = text_at(c_error_string(code))
    end function

    function trib_last_error_message() result(words)
        character(len=:), allocatable :: words

        words = text_at(c_last_error_message())
    end function

    function trib_version() result(words)
        character(len=:), allocatable :: words

        words = text_at(c_version())
    end function

    ! A C string as a Fortran string.
    function text_at(place) result(words)
        type(c_ptr), intent(in) :: place
        character(len=:), allocatable :: words
        character(kind=c_char), pointer :: text(:)

        call c_f_pointer(place, text, [c_strlen(place) + 1])
        words = characters(text)
    end function

    ! All characters but the last, which is C's terminating 0.
    function characters(text) result(words)
        character(kind=c_char), intent(in) :: text(:)
        character(len=size(text) - 1) :: words
        integer :: i

        do i = 1, len(words)
            words(i:i) = text(i)
        end do
    end function
end module
