<?php
// As files.py, in PHP, and what else it has to reach the host with.
error_reporting(0);
$facts = json_decode($argv[1], true);

function attempt(string $name, callable $what): void
{
    try {
        $got = $what();
        echo $name, $got === false || $got === null || $got === [] ? ": blocked by its answer\n" : ': GOT ' . substr(json_encode($got), 0, 80) . "\n";
    } catch (Throwable $error) {
        echo $name, ': blocked ', get_class($error), "\n";
    }
}

file_put_contents('/box/own', 'mine');
symlink('own', '/box/link');
foreach (['/box/own', '/box/link', '/box/../box/./own', 'own'] as $path) {
    if (file_get_contents($path) !== 'mine') {
        exit("the control: $path\n");
    }
}

['directory' => $directory, 'secret_file' => $secret, 'canary' => $canary] = $facts;
foreach (['/etc/passwd', '/etc/shadow', '/proc/self/environ', '/proc/self/maps', '/proc/1/cmdline', '/dev/mem', '/dev/fd/7', '/bin/sh', $secret, $canary] as $path) {
    attempt("read $path", fn() => file_get_contents($path));
    attempt("read up $path", fn() => file_get_contents(str_repeat('../', 30) . substr($path, 1)));
    attempt("open $path", fn() => fopen("file://$path", 'r'));
}
foreach (['/etc', '/root', '/home', '/proc', '/sys', $directory] as $path) {
    attempt("list $path", fn() => scandir($path));
}
foreach (['/etc/passwd', $canary, "$directory/new", '/new', '/usr/new', '/lib/new', '/bin/new'] as $path) {
    attempt("write $path", function () use ($path) {
        $is_new = !file_exists($path);
        $file = fopen($path, 'a');
        return $file && fclose($file) && (!$is_new || unlink($path));
    });
}
foreach (['/etc/passwd', "../../..$secret", $secret, '/proc/self/root'] as $number => $target) {
    symlink($target, "/box/link$number");
    attempt("link to $target", fn() => file_get_contents("/box/link$number"));
    attempt("real path of $target", fn() => stat((string) realpath("/box/link$number")));
}
attempt('hard link', fn() => link($secret, '/box/hard') ? file_get_contents('/box/hard') : false);
attempt('rename in', fn() => rename($secret, '/box/stolen'));
attempt('rename out', fn() => rename('/box/own', "$directory/planted"));
attempt('remove', fn() => unlink($canary));
attempt('remove all', fn() => rmdir($directory));
attempt('copy', fn() => copy($secret, '/box/copy'));
attempt('NUL', fn() => file_get_contents("/box/own\0/../../etc/passwd"));
attempt('include', fn() => include $secret);
attempt('database', fn() => (new SQLite3($secret, SQLITE3_OPEN_READONLY))->querySingle('SELECT 1 FROM sqlite_master'));
attempt('attached', fn() => (new PDO('sqlite::memory:'))->exec("ATTACH '$directory/new.db' AS a; CREATE TABLE a.t(n)"));
attempt('document', fn() => (new DOMDocument)->load($secret));
attempt('entity', fn() => (string) simplexml_load_string("<!DOCTYPE a [<!ENTITY x SYSTEM 'file://$secret'>]><a>&x;</a>", options: LIBXML_NOENT) ?: false);
attempt('filter', fn() => file_get_contents("php://filter/read=convert.base64-encode/resource=$secret"));
attempt('descriptor', fn() => fopen('php://fd/7', 'r'));
attempt('wrapper', fn() => file_get_contents('http://127.0.0.1/'));
attempt('glob', fn() => glob('/etc/*'));
attempt('settings', fn() => ini_set('disable_functions', ''));
attempt('exec', fn() => exec('cat /etc/passwd'));
attempt('system', fn() => system('cat /etc/passwd'));
attempt('backquotes', fn() => `cat /etc/passwd`);
attempt('popen', fn() => popen('cat /etc/passwd', 'r'));
attempt('proc_open', fn() => proc_open('cat /etc/passwd', [], $pipes));
attempt('fork', fn() => pcntl_fork());
attempt('kill', fn() => posix_kill(1, 0));
attempt('socket', fn() => fsockopen('127.0.0.1', 80));
attempt('stream', fn() => stream_socket_client('tcp://127.0.0.1:80'));
attempt('library', fn() => dl('libc.so.6'));
attempt('FFI', fn() => FFI::cdef('int getpid();'));
