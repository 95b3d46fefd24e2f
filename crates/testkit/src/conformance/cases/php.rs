//! Programs in PHP: streams, files, errors and the library, as the command line has them.

use crate::conformance::case::{
    Case, Code, Ending, Error, Expected, Given, Input, NOTHING, Program, SILENT, Text, printed,
};

const fn php(code: &'static str) -> Program {
    Program { language: "php", code: Code::Text(code) }
}

pub(super) const CASES: &[Case] = &[
    Case { name: "standard input, line by line", given: Given { stdin: Input::Bytes("ada\nbøb\n\nlast".as_bytes()), ..NOTHING }, programs: &[php(r#"<?php
$name = trim(fgets(STDIN));
echo "hi $name\n";
while (($line = fgets(STDIN)) !== false) {
    var_dump(rtrim($line, "\n"));
}
var_dump(feof(STDIN), fgets(STDIN));"#)], expected: printed("hi ada\nstring(4) \"bøb\"\nstring(0) \"\"\nstring(4) \"last\"\nbool(true)\nbool(false)\n") },
    Case { name: "standard input, all at once", given: Given { stdin: Input::Bytes("3 1 2\n10 20\n".as_bytes()), ..NOTHING }, programs: &[php(r#"<?php
$rows = array_map(fn($line) => array_map('intval', explode(' ', $line)), explode("\n", trim(file_get_contents('php://stdin'))));
echo json_encode($rows), ' ', array_sum(array_merge(...$rows)), "\n";
var_dump(stream_get_contents(STDIN));"#)], expected: printed("[[3,1,2],[10,20]] 36\nstring(0) \"\"\n") },
    Case { name: "standard input, by fscanf and stream_get_line", given: Given { stdin: Input::Bytes("3 4\nx y;zabcdef\n".as_bytes()), ..NOTHING }, programs: &[php(r#"<?php
fscanf(STDIN, "%d %d", $a, $b);
echo $a + $b, "\n", stream_get_line(STDIN, 100, ';'), '|', fgetc(STDIN), '|', fread(STDIN, 3), "\n";"#)], expected: printed("7\nx y|z|abc\n") },
    Case { name: "arguments", given: Given { args: &["--times", "2", "-v", "-d", "ü x", "--"], ..NOTHING }, programs: &[php(r#"<?php
echo $argc, ' ', implode('|', array_slice($argv, 1)), ' ', $_SERVER['argc'], ' ', basename($argv[0]), "\n";
echo __FILE__, ' ', __DIR__, ' ', __LINE__, ' ', getcwd(), ' ', PHP_SAPI, "\n";"#)], expected: printed("7 --times|2|-v|-d|ü x|-- 7 main.php\n/box/main.php /box 3 /box cli\n") },
    Case { name: "environment", given: Given { env: &["GREETING=héllo", "EMPTY=", "REQUEST_METHOD=GET", "QUERY_STRING=-s", "GATEWAY_INTERFACE=CGI/1.1"], ..NOTHING }, programs: &[php("<?php
var_dump(getenv('GREETING'), getenv('EMPTY'), getenv('NONE'), getenv('HOME'), $_SERVER['GREETING']);
putenv('GREETING=x');
var_dump(getenv('GREETING'), getenv('REQUEST_METHOD'), $_SERVER['QUERY_STRING'], $_GET); ")], expected: printed("string(6) \"héllo\"\nstring(0) \"\"\nbool(false)\nstring(4) \"/tmp\"\nstring(6) \"héllo\"\nstring(1) \"x\"\nstring(3) \"GET\"\nstring(2) \"-s\"\narray(0) {\n}\n") },
    Case { name: "text outside of the tags", given: NOTHING, programs: &[php("Hello
<?php $n = 3; ?>
n is <?= $n ?>.
<?php if ($n > 2): ?>
large
<?php else: ?>
small
<?php endif; ?>
bye
")], expected: printed("Hello\nn is 3.\nlarge\nbye\n") },
    Case { name: "a program without an opening tag is text", given: NOTHING, programs: &[php("echo 1 + 1;
")], expected: printed("echo 1 + 1;\n") },
    Case { name: "the streams", given: NOTHING, programs: &[php(r#"<?php
fwrite(STDOUT, "one\n");
echo "two\n";
file_put_contents('php://stdout', "three\n");
file_put_contents('php://output', "four\n");
fprintf(STDERR, "%s\n", 'err one');
file_put_contents('php://stderr', "err two\n");
error_log('err three');
print("five\n");
ob_start();
echo 'buffered';
$held = ob_get_clean();
echo strtoupper($held), "\n";
fputs(STDERR, "err four\n");"#)], expected: Expected { stdout: Text::Is("one\ntwo\nthree\nfour\nfive\nBUFFERED\n"), stderr: Text::Is("err one\nerr two\nerr three\nerr four\n"), ..SILENT } },
    Case { name: "files are read, written and included", given: Given { files: &[("data.csv", "a,1\nb,2\n"), ("lib/config.php", "<?php\nreturn ['name' => 'Ada'];\n"), ("lib/functions.php", "<?php\nfunction greet($name) { return \"hello $name\"; }\n")], ..NOTHING }, programs: &[php(r#"<?php
$rows = array_map('str_getcsv', file('data.csv', FILE_IGNORE_NEW_LINES));
file_put_contents('out.txt', implode(',', array_column($rows, 1)));
file_put_contents('/box/out.txt', "!\n", FILE_APPEND | LOCK_EX);
echo file_get_contents('out.txt'), filesize('out.txt'), "\n";
$config = require 'lib/config.php';
include_once __DIR__ . '/lib/functions.php';
echo greet($config['name']), "\n";
mkdir('made/deep', 0777, true);
rename('out.txt', 'made/deep/moved.txt');
copy('made/deep/moved.txt', 'made/copy.txt');
foreach (new RecursiveIteratorIterator(new RecursiveDirectoryIterator('made', FilesystemIterator::SKIP_DOTS)) as $path) {
    $seen[] = (string) $path;
}
sort($seen);
echo implode(' ', $seen), ' ', implode(' ', glob('*.csv')), ' ', json_encode(scandir('lib')), "\n";
unlink('made/copy.txt');
unlink('made/deep/moved.txt');
rmdir('made/deep');
rmdir('made');
var_dump(is_file('data.csv'), is_dir('made'), is_writable('data.csv'), pathinfo('/a/b.tar.gz'), realpath('lib/../data.csv'));"#)], expected: printed("1,2!\n5\nhello Ada\nmade/copy.txt made/deep/moved.txt data.csv [\".\",\"..\",\"config.php\",\"functions.php\"]\nbool(true)\nbool(false)\nbool(true)\narray(4) {\n  [\"dirname\"]=>\n  string(2) \"/a\"\n  [\"basename\"]=>\n  string(8) \"b.tar.gz\"\n  [\"extension\"]=>\n  string(2) \"gz\"\n  [\"filename\"]=>\n  string(5) \"b.tar\"\n}\nstring(13) \"/box/data.csv\"\n") },
    Case { name: "handles, temporary files and SplFileObject", given: NOTHING, programs: &[php(r#"<?php
$file = fopen('notes.txt', 'w+');
fwrite($file, "one\ntwo\nthree\n");
fseek($file, 4);
echo fgets($file), ftell($file), ' ', var_export(feof($file), true), ' ', fstat($file)['size'], "\n";
ftruncate($file, 4);
rewind($file);
echo json_encode(stream_get_contents($file)), var_export(flock($file, LOCK_EX), true), "\n";
fclose($file);
foreach (new SplFileObject('notes.txt') as $number => $line) {
    echo $number, ':', json_encode($line), ' ';
}
unlink('notes.txt');
$one = tempnam(sys_get_temp_dir(), 'pre');
$two = tempnam('/tmp', 'pre');
var_dump($one !== $two, str_starts_with(basename($one), 'pre'), filesize($one));
$scratch = tmpfile();
fwrite($scratch, 'scratch');
fseek($scratch, 0);
echo fread($scratch, 100), "\n";
$memory = fopen('php://memory', 'r+');
fputcsv($memory, ['a b', 'c"d', '1']);
rewind($memory);
echo stream_get_contents($memory);"#)], expected: printed("two\n8 false 14\n\"one\\n\"true\n0:\"one\\n\" 1:\"\" bool(true)\nbool(true)\nint(0)\nscratch\n\"a b\",\"c\"\"d\",1\n") },
    Case { name: "errors that PHP only warns of", given: NOTHING, programs: &[php(r#"<?php
echo $missing;
echo [1][5] ?? 'default', "\n";
$text = @file_get_contents('none.txt');
var_dump($text, error_get_last()['message']);
echo 'abc'[10] ?? 'none', "\n";
trigger_error('careful', E_USER_WARNING);
echo "end\n";"#)], expected: Expected { stdout: Text::Is("default\nbool(false)\nstring(77) \"file_get_contents(none.txt): Failed to open stream: No such file or directory\"\nnone\nend\n"), stderr: Text::Is("Warning: Undefined variable $missing in /box/main.php on line 2\nWarning: careful in /box/main.php on line 7\n"), ..SILENT } },
    Case { name: "errors are handled by the program", given: NOTHING, programs: &[php(r#"<?php
set_error_handler(function (int $level, string $message) {
    throw new ErrorException($message, 0, $level);
});
try {
    echo $undefined;
} catch (ErrorException $error) {
    echo get_class($error), ': ', $error->getMessage(), "\n";
}
foreach ([fn() => intdiv(1, 0), fn() => 5 % 0, fn() => new DateTimeZone('x'), fn() => nothing(), fn() => (new DateTime('nonsense')), fn() => json_decode('{', flags: JSON_THROW_ON_ERROR), fn() => match (5) { 1 => 2 }] as $attempt) {
    try {
        $attempt();
    } catch (Throwable $error) {
        echo get_class($error), ' ', $error->getLine(), ': ', $error->getMessage(), "\n";
    } finally {
        echo '.';
    }
}
set_exception_handler(function (Throwable $error) {
    echo 'last: ', $error->getMessage(), "\n";
});
register_shutdown_function(function () {
    echo "shutdown\n";
});
throw new LogicException('done');"#)], expected: printed("ErrorException: Undefined variable $undefined\nDivisionByZeroError 10: Division by zero\n.DivisionByZeroError 10: Modulo by zero\n..Error 10: Call to undefined function nothing()\n.Exception 10: Failed to parse time string (nonsense) at position 0 (n): The timezone could not be found in the database\n.JsonException 10: Syntax error\n.UnhandledMatchError 10: Unhandled match case 5\n.last: done\nshutdown\n") },
    Case { name: "an exception that nobody catches", given: NOTHING, programs: &[php(r#"<?php
function pick(array $list) {
    throw new OutOfRangeException("no\nsuch");
}
function outer() { pick([1, 2]); }
echo "before\n";
try {
    outer();
} catch (RuntimeException $e) {
    echo "not this\n";
}"#)], expected: Expected { ending: Ending::Exit(255), stdout: Text::Is("before\n"), stderr: Text::Is("Fatal error: Uncaught OutOfRangeException: no\nsuch in /box/main.php:3\nStack trace:\n#0 /box/main.php(5): pick()\n#1 /box/main.php(8): outer()\n#2 {main}\n  thrown in /box/main.php on line 3\n"), error: Some(Error { kind: "OutOfRangeException", message: "no", line: Some(3) }), ..SILENT } },
    Case { name: "an exception with its cause", given: NOTHING, programs: &[php("<?php
try {
    throw new RuntimeException('inner');
} catch (RuntimeException $e) {
    throw new DomainException('outer', 7, $e);
}")], expected: Expected { ending: Ending::Exit(255), stderr: Text::Is("Fatal error: Uncaught RuntimeException: inner in /box/main.php:3\nStack trace:\n#0 {main}\n\nNext DomainException: outer in /box/main.php:5\nStack trace:\n#0 {main}\n  thrown in /box/main.php on line 5\n"), error: Some(Error { kind: "DomainException", message: "outer", line: Some(5) }), ..SILENT } },
    Case { name: "a syntax error", given: NOTHING, programs: &[php("<?php
echo 'never';
function f( {
}
")], expected: Expected { ending: Ending::Exit(255), stderr: Text::Is("Parse error: syntax error, unexpected token \"{\", expecting variable in /box/main.php on line 3\n"), error: Some(Error { kind: "ParseError", message: "syntax error, unexpected token \"{\", expecting variable", line: Some(3) }), ..SILENT } },
    Case { name: "a type error", given: NOTHING, programs: &[php(r#"<?php
declare(strict_types=1);
function half(int $n): float { return $n / 2; }
echo half(3), "\n";
echo half('4');
"#)], expected: Expected { ending: Ending::Exit(255), stdout: Text::Is("1.5\n"), stderr: Text::Is("Fatal error: Uncaught TypeError: half(): Argument #1 ($n) must be of type int, string given, called in /box/main.php on line 5 and defined in /box/main.php:3\nStack trace:\n#0 /box/main.php(5): half()\n#1 {main}\n  thrown in /box/main.php on line 3\n"), error: Some(Error { kind: "TypeError", message: "half(): Argument #1 ($n) must be of type int, string given, called in /box/main.php on line 5 and defined", line: Some(3) }), ..SILENT } },
    Case { name: "a missing function and a fatal error", given: NOTHING, programs: &[php("<?php
echo 'a';
abstract class Shape {}
new Shape;
")], expected: Expected { ending: Ending::Exit(255), stdout: Text::Is("a"), stderr: Text::Is("Fatal error: Uncaught Error: Cannot instantiate abstract class Shape in /box/main.php:4\nStack trace:\n#0 {main}\n  thrown in /box/main.php on line 4\n"), error: Some(Error { kind: "Error", message: "Cannot instantiate abstract class Shape", line: Some(4) }), ..SILENT } },
    Case { name: "a function by a name that is taken", given: NOTHING, programs: &[php("<?php
echo 'never';
function f() {}
function f() {}
")], expected: Expected { ending: Ending::Exit(255), stderr: Text::Is("Fatal error: Cannot redeclare f() (previously declared in /box/main.php:3) in /box/main.php on line 4\n"), error: Some(Error { kind: "FatalError", message: "Cannot redeclare f() (previously declared in /box/main.php:3)", line: Some(4) }), ..SILENT } },
    Case { name: "exit codes", given: NOTHING, programs: &[php(r#"<?php
register_shutdown_function(fn() => print("bye\n"));
echo 'x', PHP_EOL;
exit(3);
"#)], expected: Expected { ending: Ending::Exit(3), stdout: Text::Is("x\nbye\n"), ..SILENT } },
    Case { name: "an exit with words", given: NOTHING, programs: &[php(r#"<?php
try {
    die("stopped\n");
} finally {
    echo 'never';
}
"#)], expected: printed("stopped\n") },
    Case { name: "json and serialization", given: NOTHING, programs: &[php(r#"<?php
$data = ['a' => [1, 2.5, null, 'ü'], 'b' => ['c' => true], 'e' => []];
echo json_encode($data), "\n", json_encode($data, JSON_PRETTY_PRINT | JSON_UNESCAPED_UNICODE), "\n";
var_dump(json_decode('{"x": {"y": [1, 1e3, 12345678901234567890]}}', true));
class Point implements JsonSerializable { public function __construct(public int $x = 1, protected ?string $y = null) {} function jsonSerialize(): array { return [$this->x]; } }
echo json_encode([new Point(4)]), ' ', serialize([1, 'a' => 1.5, new Point(2, 'z')]), "\n";
var_dump(unserialize(serialize(new Point(5, 'q'))) == new Point(5, 'q'), json_decode('{'), json_last_error_msg());
var_export([1, 'k' => [true, null, 1.0, 'it\'s']]);"#)], expected: printed("{\"a\":[1,2.5,null,\"\\u00fc\"],\"b\":{\"c\":true},\"e\":[]}\n{\n    \"a\": [\n        1,\n        2.5,\n        null,\n        \"ü\"\n    ],\n    \"b\": {\n        \"c\": true\n    },\n    \"e\": []\n}\narray(1) {\n  [\"x\"]=>\n  array(1) {\n    [\"y\"]=>\n    array(3) {\n      [0]=>\n      int(1)\n      [1]=>\n      float(1000)\n      [2]=>\n      float(1.2345678901234567E+19)\n    }\n  }\n}\n[[4]] a:3:{i:0;i:1;s:1:\"a\";d:1.5;i:1;O:5:\"Point\":2:{s:1:\"x\";i:2;s:4:\"\0*\0y\";s:1:\"z\";}}\nbool(true)\nNULL\nstring(12) \"Syntax error\"\narray (\n  0 => 1,\n  'k' => \n  array (\n    0 => true,\n    1 => NULL,\n    2 => 1.0,\n    3 => 'it\\'s',\n  ),\n)") },
    Case { name: "dates and times", given: NOTHING, programs: &[php(r#"<?php
date_default_timezone_set('UTC');
$day = new DateTimeImmutable('2024-02-28 12:30:00');
echo $day->modify('+2 days')->format('D d M Y H:i:s'), ' ', $day->diff(new DateTime('2024-12-25'))->format('%m months %d days %a'), "\n";
echo date('Y-m-d\TH:i:sP', 0), ' ', mktime(0, 0, 0, 1, 31, 2000), ' ', strtotime('2024-05-06 07:08:09 UTC'), ' ', checkdate(2, 29, 2023) ? 1 : 0, "\n";
$zone = new DateTimeZone('America/New_York');
echo (new DateTime('2024-07-04 12:00', $zone))->setTimezone(new DateTimeZone('Asia/Tokyo'))->format(DATE_ATOM), ' ', $zone->getOffset(new DateTime('2024-01-01')), "\n";
foreach (new DatePeriod($day, new DateInterval('P1W'), 2) as $week) {
    echo $week->format('m/d '), $week->format('L N W t');
}
echo "\n", date_default_timezone_get(), ' ', abs(time() - $_SERVER['REQUEST_TIME']) < 5 ? 'now' : 'then', ' ', hrtime(true) > 0 ? 'ticks' : '', "\n";"#)], expected: printed("Fri 01 Mar 2024 12:30:00 9 months 26 days 300\n1970-01-01T00:00:00+00:00 949276800 1714979289 0\n2024-07-05T01:00:00+09:00 -18000\n02/28 1 3 09 2903/06 1 3 10 3103/13 1 3 11 31\nUTC now ticks\n") },
    Case { name: "text and patterns", given: NOTHING, programs: &[php(r#"<?php
$text = 'Größe: 12 cm, Höhe: 7 cm';
preg_match_all('/(?<what>\p{L}+): (?<n>\d+)/u', $text, $found, PREG_SET_ORDER);
foreach ($found as $match) {
    echo $match['what'], '=', $match['n'], ' ';
}
echo preg_replace_callback('/\d+/', fn($m) => $m[0] * 2, $text), ' ', json_encode(preg_split('/[\s,:]+/', 'a, b:c  d')), "\n";
echo strlen($text), ' ', strtoupper('abc'), ' ', substr($text, -4), ' ', ucwords('two words'), ' ', strrev('abc'), "\n";
printf("%05.1f|%-6s|%+d|%x|%e|%'*10s|%b|%c|%%|%2\$s\n", 3.14159, 'ab', 5, 255, 12345.678, 'pad', 5, 65);
echo sprintf('%08.3f', 3.14159), ' ', number_format(1234567.891, 2), ' ', number_format(0.5), ' ', str_pad('x', 5, '-', STR_PAD_BOTH), ' ', wordwrap('The quick brown fox', 10, "\n", true), "\n";
echo similar_text('World', 'Word'), ' ', levenshtein('kitten', 'sitting'), ' ', soundex('Robert'), ' ', metaphone('Thompson'), ' ', strtr('Hi all', ['Hi' => 'Hello', 'all' => 'world']), ' ', nl2br("a\nb"), "\n";
echo <<<"END"
    heredoc {$found[0]['n']}
      indented ${text}
    END . "\n", htmlspecialchars('<a href="x">'), ' ', strcmp('a', 'b'), ' ', str_contains('haystack', 'st') ? 1 : 0, ' ', vsprintf('%2$s-%1$s', ['a', 'b']), "\n";
var_dump(preg_match('/(/', 'x') === false, sscanf('age: 25 name: Bob', 'age: %d name: %s'));"#)], expected: Expected { stdout: Text::Is("Größe=12 Höhe=7 Größe: 24 cm, Höhe: 14 cm [\"a\",\"b\",\"c\",\"d\"]\n27 ABC 7 cm Two Words cba\n003.1|ab    |+5|ff|1.234568e+4|*******pad|101|A|%|ab\n0003.142 1,234,567.89 1 --x-- The quick\nbrown fox\n4 3 R163 0MPSN Hello world a<br />\nb\nheredoc 12\n  indented Größe: 12 cm, Höhe: 7 cm\n&lt;a href=&quot;x&quot;&gt; -1 1 b-a\nbool(true)\narray(2) {\n  [0]=>\n  int(25)\n  [1]=>\n  string(3) \"Bob\"\n}\n"), stderr: Text::Is("Warning: preg_match(): Compilation failed: missing closing parenthesis at offset 1 in /box/main.php on line 16\n"), ..SILENT } },
    Case { name: "numbers", given: NOTHING, programs: &[php("<?php
var_dump(7 / 2, intdiv(-7, 2), -7 % 3, fmod(-7, 3), 0.1 + 0.2, 1e100, 10 ** 9, 2 ** -1, 7 <=> 3, '10' == '1e1', 0 == 'a', null ?? 'd');
var_dump(round(2.5), round(-3.456, 2), floor(-1.5), base_convert('ff', 16, 2), bindec('1010'), hexdec('ff'), octdec('17'), 0b11 | 0x10, 5 & 3, 1 << 10, ~5, PHP_EOL, PHP_INT_SIZE > 3);
var_dump(is_nan(NAN), INF, -INF, max([1, 5, 3]), min(2, '1'), array_sum([1, 2.5]), array_product([2, '3']), (int) '12abc', (float) '1.5e3', is_numeric('1e5'), 1_000_000, sqrt(2), pi(), deg2rad(180), hypot(3, 4));")], expected: printed("float(3.5)\nint(-3)\nint(-1)\nfloat(-1)\nfloat(0.30000000000000004)\nfloat(1.0E+100)\nint(1000000000)\nfloat(0.5)\nint(1)\nbool(true)\nbool(false)\nstring(1) \"d\"\nfloat(3)\nfloat(-3.46)\nfloat(-2)\nstring(8) \"11111111\"\nint(10)\nint(255)\nint(15)\nint(19)\nint(1)\nint(1024)\nint(-6)\nstring(1) \"\n\"\nbool(true)\nbool(true)\nfloat(INF)\nfloat(-INF)\nint(5)\nstring(1) \"1\"\nfloat(3.5)\nint(6)\nint(12)\nfloat(1500)\nbool(true)\nint(1000000)\nfloat(1.4142135623730951)\nfloat(3.141592653589793)\nfloat(3.141592653589793)\nfloat(5)\n") },
    Case { name: "arrays", given: NOTHING, programs: &[php(r#"<?php
$words = ['pear', 'fig', 'apple', 'fig', 'kiwi'];
echo json_encode([array_count_values($words), array_unique($words), array_chunk($words, 2), array_flip(['a', 'b']), array_fill_keys(['x', 'y'], 0), range('a', 'e', 2), array_combine(['p', 'q'], [1, 2])]), "\n";
usort($words, fn($a, $b) => strlen($b) <=> strlen($a) ?: $a <=> $b);
echo implode(',', $words), ' ', json_encode([array_slice($words, 1, 2), array_splice($words, 0, 2), $words, array_search('fig', $words), in_array('kiwi', $words), array_reverse([1, 2, 'k' => 3])]), "\n";
$people = [['name' => 'Ada', 'age' => 36], ['name' => 'Bob', 'age' => 25], ['name' => 'Cy', 'age' => 36]];
array_multisort(array_column($people, 'age'), SORT_DESC, array_column($people, 'name'), SORT_DESC, $people);
echo json_encode([array_column($people, 'age', 'name'), array_filter([1, 0, 2, null]), array_map(null, [1, 2], ['a', 'b']), array_reduce([1, 2, 3], fn($c, $x) => $c * $x, 1), array_merge_recursive(['a' => [1]], ['a' => [2]]), [...[1, 2], ...['k' => 3]]]), "\n";
['a' => $a, 'b' => [, $b]] = ['a' => 1, 'b' => [2, 3]];
[$a, $b] = [$b, $a];
echo "$a $b ", array_key_last([1, 2, 3]), ' ', json_encode(array_diff_key(['a' => 1, 'b' => 2], ['a' => 9])), json_encode(array_intersect([1, 2, 3], [2, 3, 4])), "\n";
natcasesort($names = ['img12', 'IMG10', 'img2']);
ksort($people[0]);
array_walk_recursive($people, function (&$value) { $value = is_int($value) ? $value + 1 : $value; });
print_r($people);
$heap = new SplPriorityQueue; $heap->insert('low', 1); $heap->insert('high', 9);
$fixed = SplFixedArray::fromArray([1, 2, 3]); $stack = new SplStack; $stack->push(1); $stack->push(2);
echo $heap->extract(), ' ', $fixed->getSize(), ' ', $stack->pop(), ' ', count(new ArrayObject([1, 2])), ' ', implode(',', iterator_to_array(new LimitIterator(new ArrayIterator([1, 2, 3, 4]), 1, 2), false)), "\n";"#)], expected: Expected { ending: Ending::Exit(255), stdout: Text::Is("[{\"pear\":1,\"fig\":2,\"apple\":1,\"kiwi\":1},{\"0\":\"pear\",\"1\":\"fig\",\"2\":\"apple\",\"4\":\"kiwi\"},[[\"pear\",\"fig\"],[\"apple\",\"fig\"],[\"kiwi\"]],{\"a\":0,\"b\":1},{\"x\":0,\"y\":0},[\"a\",\"c\",\"e\"],{\"p\":1,\"q\":2}]\napple,kiwi,pear,fig,fig [[\"kiwi\",\"pear\"],[\"apple\",\"kiwi\"],[\"pear\",\"fig\",\"fig\"],1,false,{\"k\":3,\"0\":2,\"1\":1}]\n[{\"Cy\":36,\"Ada\":36,\"Bob\":25},{\"0\":1,\"2\":2},[[1,\"a\"],[2,\"b\"]],6,{\"a\":[1,2]},{\"0\":1,\"1\":2,\"k\":3}]\n3 1 2 {\"b\":2}{\"1\":2,\"2\":3}\n"), stderr: Text::Is("Fatal error: Uncaught Error: natcasesort(): Argument #1 ($array) cannot be passed by reference in /box/main.php:12\nStack trace:\n#0 {main}\n  thrown in /box/main.php on line 12\n"), error: Some(Error { kind: "Error", message: "natcasesort(): Argument #1 ($array) cannot be passed by reference", line: Some(12) }), ..SILENT } },
    Case { name: "classes, enums, generators and matching", given: NOTHING, programs: &[php(r#"<?php
namespace App\Shapes;
interface Shape { const UNIT = 'cm'; public function area(): float; }
trait Named { private static int $made = 0; public static function made(): int { return self::$made; } public function name(): string { return strtolower((new \ReflectionClass($this))->getShortName()); } }
abstract class Base implements Shape, \Stringable { use Named; public function __construct() { self::$made++; } public function __toString(): string { return sprintf('%s of %.2f %s', $this->name(), $this->area(), static::UNIT); } }
final class Circle extends Base { public function __construct(public readonly float $radius) { parent::__construct(); } public function area(): float { return M_PI * $this->radius ** 2; } }
final class Square extends Base { const UNIT = 'mm'; public function __construct(private float $side) { parent::__construct(); } public function area(): float { return $this->side ** 2; } public function __get($name) { return "no $name"; } public function __call($name, $arguments) { return $name . count($arguments); } public static function __callStatic($name, $arguments) { return "static $name"; } }
enum Suit: string { case Hearts = 'H'; case Spades = 'S'; const Wild = self::Spades; public function color(): string { return match ($this) { self::Hearts => 'Red', self::Spades => 'Black' }; } public static function fromLetter(string $letter): self { return self::tryFrom($letter) ?? self::Wild; } }
foreach ([new Circle(2), new Square(3)] as $shape) {
    echo $shape, "\n";
}
echo Base::made(), Square::made(), ' ', $shape->nothing, ' ', $shape->go(1, 2), ' ', Square::run(), ' ', $shape instanceof Shape ? 'shape' : '', ' ', Circle::class, "\n";
try {
    (new Circle(1))->radius = 3;
} catch (\Error $error) {
    echo $error->getMessage(), "\n";
}
echo Suit::fromLetter('H')->color(), ' ', Suit::fromLetter('?')->name, ' ', count(Suit::cases()), "\n";
function fibonacci(): \Generator { [$a, $b] = [0, 1]; while (true) { $sent = yield $a; if ($sent) { return 'stopped'; } [$a, $b] = [$b, $a + $b]; } }
foreach ($numbers = fibonacci() as $index => $number) { if ($index > 8) { $numbers->send(true); break; } echo $number, ' '; }
echo $numbers->getReturn(), "\n";
function inner() { yield 1; yield from [2, 3]; return 4; }
$outer = (function () { $last = yield from inner(); yield $last; })();
foreach ($outer as $value) { echo $value; }
$compose = fn(callable ...$f) => fn($x) => array_reduce($f, fn($carry, $g) => $g($carry), $x);
$counter = function () { static $n = 0; return ++$n; };
$counter();
function named(int $a, int $b = 2, int ...$rest) { return "$a $b " . json_encode($rest); }
echo ' ', $compose('trim', strrev(...), fn($s) => $s . '!')(' abc '), ' ', $counter(), ' ', named(b: 5, a: 1), ' ', named(1, 2, 3, 4), ' ', (clone $shape)?->name(), "\n";
$fiber = new \Fiber(function (string $first): string { $second = \Fiber::suspend("$first!"); return "$second?"; });"#)], expected: Expected { ending: Ending::Exit(255), stderr: Text::Is("Fatal error: Cannot use temporary expression in write context in /box/main.php on line 14\n"), error: Some(Error { kind: "FatalError", message: "Cannot use temporary expression in write context", line: Some(14) }), ..SILENT } },
    Case { name: "hashes, encodings and randomness", given: NOTHING, programs: &[php(r#"<?php
echo md5('a'), ' ', sha1('a'), ' ', hash('sha256', 'a'), ' ', hash('crc32b', 'abc'), ' ', crc32('abc'), ' ', hash_hmac('sha512', 'a', 'k') === hash_hmac('sha512', 'a', 'k') ? 'same' : '', "\n";
echo base64_encode('hello'), ' ', base64_decode('aGk='), ' ', bin2hex('ab'), ' ', urlencode('a b&c=d/é'), ' ', rawurlencode('a b'), ' ', http_build_query(['a' => 1, 'b' => [1, 2]]), ' ', json_encode(parse_url('https://u@h.org:8/p?q=1#f')), "\n";
parse_str('x[]=1&x[]=2&y=z', $parsed);
echo json_encode($parsed), ' ', json_encode(unpack('Nbig/vsmall', pack('Nv', 258, 1))), ' ', quoted_printable_encode('é='), ' ', convert_uuencode('x') !== '' ? 'uu' : '', ' ', strlen(random_bytes(16)), "\n";
$drawn = random_int(1, 6);
mt_srand(42);
$first = [mt_rand(), mt_rand(1, 100)];
mt_srand(42);
var_dump($drawn >= 1 && $drawn <= 6, $first === [mt_rand(), mt_rand(1, 100)], password_verify('secret', password_hash('secret', PASSWORD_BCRYPT, ['cost' => 4])), strlen(uniqid()) === 13, ctype_alpha('abc'), filter_var('a@b.co', FILTER_VALIDATE_EMAIL), filter_var('12', FILTER_VALIDATE_INT, ['options' => ['max_range' => 10]]));
mt_srand(1); echo mt_rand(), ' ', implode(',', (function () { mt_srand(3); $a = range(1, 5); shuffle($a); return $a; })()), "\n";"#)], expected: printed("0cc175b9c0f1b6a831c399e269772661 86f7e437faa5a7fce15d1ddcb9eaeaea377667b8 ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb 352441c2 891568578 same\naGVsbG8= hi 6162 a+b%26c%3Dd%2F%C3%A9 a%20b a=1&b%5B0%5D=1&b%5B1%5D=2 {\"scheme\":\"https\",\"host\":\"h.org\",\"port\":8,\"user\":\"u\",\"path\":\"\\/p\",\"query\":\"q=1\",\"fragment\":\"f\"}\n{\"x\":[\"1\",\"2\"],\"y\":\"z\"} {\"big\":258,\"small\":1} =C3=A9=3D uu 16\nbool(true)\nbool(true)\nbool(true)\nbool(true)\nbool(true)\nstring(6) \"a@b.co\"\nbool(false)\n895547922 4,3,5,1,2\n") },
];
