program behaviour
  implicit none
  character(len=200) :: text
  integer :: i, length, status
  print '(a)', 'ready'
  call sleep(1)
  do
    read (*, '(a)', iostat=status) text
    if (status /= 0) exit
    print '(a)', 'got ' // trim(text)
  end do
  do i = 1, command_argument_count()
    call get_command_argument(i, text, length)
    print '(a)', 'arg [' // text(1:length) // ']'
  end do
  write (0, '(a)') 'oops'
  call exit(3)
end program behaviour
