! Starts four nonblocking collective writes and completes them by MPI_Testsome of the module mpi_f08. The indices that it returns are those of
! Fortran's array, from 1 to 4 (MPI 4.1, 3.7.5).   testsome FILE
program testsome
  use mpi_f08
  implicit none
  integer, parameter :: ints = 1000, calls = 4
  type(MPI_File) :: file
  type(MPI_Request) :: requests(calls)
  type(MPI_Status) :: statuses(calls)
  integer :: rank, ranks, call_number, ended, total, i, indices(calls), data(ints, calls)
  integer(MPI_OFFSET_KIND) :: offset
  logical :: seen(0:calls)
  character(4096) :: path

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, path)
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file)
  data = rank
  do call_number = 1, calls
    offset = ((call_number - 1) * ranks + rank) * ints * 4_MPI_OFFSET_KIND
    call MPI_File_iwrite_at_all(file, offset, data(:, call_number), ints, MPI_INTEGER, requests(call_number))
  end do
  seen = .false.
  total = 0
  do while (total < calls)
    call MPI_Testsome(calls, requests, ended, indices, statuses)
    if (ended == MPI_UNDEFINED) exit
    do i = 1, ended
      if (indices(i) >= 0 .and. indices(i) <= calls) seen(indices(i)) = .true.
    end do
    total = total + ended
  end do
  call MPI_File_close(file)
  if (rank == 0) then
    if (seen(0)) then
      print '(a)', 'wrong: an index is 0, expected 1 to 4'
    else if (.not. all(seen(1:calls))) then
      print '(a)', 'wrong: an index from 1 to 4 is missing'
    else
      print '(a)', 'right'
    end if
  end if
  call MPI_Finalize()
  if (rank == 0 .and. (seen(0) .or. .not. all(seen(1:calls)))) stop 1
end program testsome
