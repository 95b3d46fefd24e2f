<?php
// Runs before every program. What is here is what the command line has and the CGI has not, or cannot do.

// From the settings it is not taken.
ini_set('display_errors', 'stderr');

define('STDIN', fopen('php://stdin', 'r'));
define('STDOUT', fopen('php://stdout', 'w'));
define('STDERR', fopen('php://stderr', 'w'));

// Variables that would make a request of the run.
if (getenv('BELLJAR_HELD') !== false) {
    (static function () {
        foreach (json_decode(getenv('BELLJAR_HELD'), true) as $name => $value) {
            putenv("$name=$value");
            $_ENV[$name] = $_SERVER[$name] = $value;
        }
        putenv('BELLJAR_HELD');
        unset($_ENV['BELLJAR_HELD'], $_SERVER['BELLJAR_HELD']);
    })();
}

function random_bytes(int $length): string
{
    if ($length < 1) {
        throw new ValueError('random_bytes(): Argument #1 ($length) must be greater than 0');
    }
    return file_get_contents('/dev/urandom', length: $length);
}

function tempnam(string $directory, string $prefix): string|false
{
    $directory = is_dir($directory) ? rtrim($directory, '/') : sys_get_temp_dir();
    $prefix = substr(basename($prefix), 0, 63);
    for ($attempt = 0; $attempt < 100; $attempt++) {
        $path = "$directory/$prefix" . bin2hex(random_bytes(3));
        $file = @fopen($path, 'x');
        if ($file !== false) {
            fclose($file);
            return $path;
        }
    }
    return false;
}

function tmpfile()
{
    $path = tempnam(sys_get_temp_dir(), 'php');
    $file = $path === false ? false : fopen($path, 'r+');
    if ($file !== false) {
        unlink($path);
    }
    return $file;
}
