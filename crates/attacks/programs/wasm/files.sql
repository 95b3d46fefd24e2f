-- The control: what it may, it can. Then come the attempts, as arguments.
.headers off
.mode list
CREATE TEMP TABLE done AS SELECT writefile('/box/own', 'mine');
SELECT readfile('/box/own');
SELECT readfile('/box/../box/./own');
