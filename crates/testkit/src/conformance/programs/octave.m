printf("ready\n");
pause(1);
while (ischar(line = fgetl(stdin)))
  printf("got %s\n", line);
endwhile
arguments = argv();
for i = 1:numel(arguments)
  printf("arg [%s]\n", arguments{i});
endfor
fprintf(stderr, "oops\n");
exit(3);
