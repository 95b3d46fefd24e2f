<?php
echo "ready\n";
sleep(1);
while (($line = fgets(STDIN)) !== false) echo "got $line";
foreach (array_slice($argv, 1) as $argument) echo "arg [$argument]\n";
fwrite(STDERR, "oops\n");
exit(3);
