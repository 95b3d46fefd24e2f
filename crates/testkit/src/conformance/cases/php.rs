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
    Case { name: "a program without an opening tag is code", given: NOTHING, programs: &[php("echo 1 + 1, __LINE__,
__LINE__, '<?xml ?>';
")], expected: printed("212<?xml ?>") },
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
foreach ([fn() => intdiv(1, 0), fn() => 5 % 0, fn() => new DateTimeZone('x'), fn() => nothing(), fn() => json_decode('{', flags: JSON_THROW_ON_ERROR), fn() => match (new stdClass) { 1 => 2 }] as $attempt) {
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
throw new LogicException('done');"#)], expected: printed("ErrorException: Undefined variable $undefined\nDivisionByZeroError 10: Division by zero\n.DivisionByZeroError 10: Modulo by zero\n..Error 10: Call to undefined function nothing()\n.JsonException 10: Syntax error\n.UnhandledMatchError 10: Unhandled match case of type stdClass\n.last: done\nshutdown\n") },
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
    Case { name: "a fatal error of the compiler", given: NOTHING, programs: &[php("<?php
echo 'never';
function f() { $this = 1; }
")], expected: Expected { ending: Ending::Exit(255), stderr: Text::Is("Fatal error: Cannot re-assign $this in /box/main.php on line 3\n"), error: Some(Error { kind: "FatalError", message: "Cannot re-assign $this", line: Some(3) }), ..SILENT } },
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
$names = ['img12', 'IMG10', 'img2'];
natcasesort($names);
echo implode(' ', $names), ' ';
ksort($people[0]);
array_walk_recursive($people, function (&$value) { $value = is_int($value) ? $value + 1 : $value; });
print_r($people);
$heap = new SplPriorityQueue; $heap->insert('low', 1); $heap->insert('high', 9);
$fixed = SplFixedArray::fromArray([1, 2, 3]); $stack = new SplStack; $stack->push(1); $stack->push(2);
echo $heap->extract(), ' ', $fixed->getSize(), ' ', $stack->pop(), ' ', count(new ArrayObject([1, 2])), ' ', implode(',', iterator_to_array(new LimitIterator(new ArrayIterator([1, 2, 3, 4]), 1, 2), false)), "\n";"#)], expected: printed("[{\"pear\":1,\"fig\":2,\"apple\":1,\"kiwi\":1},{\"0\":\"pear\",\"1\":\"fig\",\"2\":\"apple\",\"4\":\"kiwi\"},[[\"pear\",\"fig\"],[\"apple\",\"fig\"],[\"kiwi\"]],{\"a\":0,\"b\":1},{\"x\":0,\"y\":0},[\"a\",\"c\",\"e\"],{\"p\":1,\"q\":2}]\napple,kiwi,pear,fig,fig [[\"kiwi\",\"pear\"],[\"apple\",\"kiwi\"],[\"pear\",\"fig\",\"fig\"],1,false,{\"k\":3,\"0\":2,\"1\":1}]\n[{\"Cy\":36,\"Ada\":36,\"Bob\":25},{\"0\":1,\"2\":2},[[1,\"a\"],[2,\"b\"]],6,{\"a\":[1,2]},{\"0\":1,\"1\":2,\"k\":3}]\n3 1 2 {\"b\":2}{\"1\":2,\"2\":3}\nimg2 IMG10 img12 Array\n(\n    [0] => Array\n        (\n            [age] => 37\n            [name] => Cy\n        )\n\n    [1] => Array\n        (\n            [name] => Ada\n            [age] => 37\n        )\n\n    [2] => Array\n        (\n            [name] => Bob\n            [age] => 26\n        )\n\n)\nhigh 3 2 2 2,3\n") },
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
    $circle = new Circle(1);
    $circle->radius = 3;
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
echo ' ', $compose('trim', strrev(...), fn($s) => $s . '!')(' abc '), ' ', $counter(), ' ', named(b: 5, a: 1), ' ', named(1, 2, 3, 4), ' ', (clone $shape)?->name(), "\n";"#)], expected: printed("circle of 12.57 cm\nsquare of 9.00 mm\n22 no nothing go2 static run shape App\\Shapes\\Circle\nCannot modify readonly property App\\Shapes\\Circle::$radius\nRed Spades 2\n0 1 1 2 3 5 8 13 21 stopped\n1234 cba! 2 1 5 [] 1 2 [3,4] square\n") },
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
    Case { name: "integers have 64 bits", given: NOTHING, programs: &[php(r#"<?php
var_dump(PHP_INT_SIZE, PHP_INT_MAX, PHP_INT_MIN, PHP_INT_MAX + 1, PHP_INT_MIN - 1, -PHP_INT_MAX - 1, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 9223372036854775808);
var_dump(3037000500 * 3037000500, 3037000499 * 3037000499, 2 ** 62, 2 ** 63, 2 ** 64, (-2) ** 63, 7 ** 22, intdiv(PHP_INT_MIN, 3), PHP_INT_MIN % -1, PHP_INT_MAX % 1000, -PHP_INT_MIN);
var_dump(1 << 40, 1 << 63, -1 >> 60, PHP_INT_MAX >> 33, PHP_INT_MAX & 0xFFFFFFFF00000000, 4294967296 | 1, ~4294967295, 4294967296 ^ 4294967295, 1 << 64);
$n = PHP_INT_MAX; $n++; $m = PHP_INT_MIN; $m--; $k = 4294967295; $k += 1; $l = 2147483647; $l++;
var_dump($n, $m, $k, $l, 12345678901 <=> 12345678902, 4294967296 == 0, array_sum([PHP_INT_MAX, 0]), array_sum([PHP_INT_MAX, 1]), array_product([3000000000, 3]), max(4294967296, 1), abs(-9007199254740993));
try { intdiv(PHP_INT_MIN, -1); } catch (ArithmeticError $e) { echo get_class($e), ': ', $e->getMessage(), "\n"; }
try { 1 << -1; } catch (ArithmeticError $e) { echo $e->getMessage(), "\n"; }"#)], expected: printed("int(8)\nint(9223372036854775807)\nint(-9223372036854775808)\nfloat(9.223372036854776E+18)\nfloat(-9.223372036854776E+18)\nint(-9223372036854775808)\nint(9223372036854775807)\nfloat(9.223372036854776E+18)\nfloat(9.223372036854776E+18)\nfloat(9.22337203700025E+18)\nint(9223372030926249001)\nint(4611686018427387904)\nfloat(9.223372036854776E+18)\nfloat(1.8446744073709552E+19)\nint(-9223372036854775808)\nint(3909821048582988049)\nint(-3074457345618258602)\nint(0)\nint(807)\nfloat(9.223372036854776E+18)\nint(1099511627776)\nint(-9223372036854775808)\nint(-1)\nint(1073741823)\nint(9223372032559808512)\nint(4294967297)\nint(-4294967296)\nint(8589934591)\nint(0)\nfloat(9.223372036854776E+18)\nfloat(-9.223372036854776E+18)\nint(4294967296)\nint(2147483648)\nint(-1)\nbool(false)\nint(9223372036854775807)\nfloat(9.223372036854776E+18)\nint(9000000000)\nint(4294967296)\nint(9007199254740993)\nArithmeticError: Division of PHP_INT_MIN by -1 is not an integer\nBit shift by negative number\n") },
    Case { name: "integers as text and back", given: NOTHING, programs: &[php(r#"<?php
var_dump((int) '9223372036854775807', (int) '9223372036854775808', (int) '-9223372036854775809', '9223372036854775807' + 0, '9223372036854775808' + 0, (int) 1e18, (int) 4294967296.9, intval('0x1fffffffff', 16), intval('777777777777', 8), intval('42', 0), PHP_INT_MAX . '', (float) PHP_INT_MAX, is_int(9999999999), (string) -5000000000);
printf("%d %u %x %o %b %05d %+d %e %s %c|%'010d|%-14d|\n", 9876543210, -1, 4886718345, 1 << 36, 1 << 33, 5000000000, 5000000000, 5000000000, 5000000000, 65, 7000000000, 7000000000);
echo number_format(9876543210), ' ', number_format(-5000000000), ' ', dechex(PHP_INT_MAX), ' ', hexdec('1fffffffff'), ' ', bindec(str_repeat('1', 40)), ' ', octdec('777777777777'), ' ', decbin(PHP_INT_MIN), ' ', base_convert('zzzzzzzz', 36, 10), "\n";
echo json_encode([PHP_INT_MAX, PHP_INT_MIN, 5000000000]), ' ', json_encode(json_decode('[9223372036854775807,9223372036854775808,-5000000000]')), ' ', var_export(json_decode('12345678901234567890', false, 512, JSON_BIGINT_AS_STRING), true), "\n";
echo serialize([5000000000, PHP_INT_MIN]), ' ', json_encode(unserialize('a:1:{i:5000000000;i:-5000000000;}')), ' ', var_export(PHP_INT_MIN, true), ' ', json_encode(sscanf('5000000000 1fffffffff', '%d %x')), "\n";
echo bin2hex(pack('q', -2)), bin2hex(pack('J', 1 << 40)), bin2hex(pack('P', PHP_INT_MAX)), ' ', json_encode(unpack('qa/Jb/Nc', pack('qJN', -5000000000, 5000000000, 4294967295))), "\n";
$big = [5000000000 => 'a', '5000000001' => 'b', -5000000000 => 'c', '9223372036854775808' => 'd']; $big[] = 'e';
echo json_encode($big), ' ', json_encode(array_keys($big)), ' ', $big[5000000000], isset($big['5000000001']) ? 'set' : '', "\n";
ksort($big); echo json_encode(array_map('gettype', array_keys($big))), ' ', json_encode(range(5000000000, 5000000010, 5)), ' ', json_encode(array_flip([6000000000])), "\n";
mt_srand(7); echo mt_rand(), ' ', mt_rand(0, 5000000000), ' ', mt_rand(PHP_INT_MIN, PHP_INT_MAX), ' ', mt_getrandmax(), ' ', rand(1, 10), ' ', implode(',', array_rand(range(0, 99), 3)), "\n";
$engine = new Random\Randomizer(new Random\Engine\Xoshiro256StarStar(5)); echo $engine->getInt(0, PHP_INT_MAX), ' ', bin2hex($engine->getBytes(4)), ' ', (new Random\Randomizer(new Random\Engine\PcgOneseq128XslRr64(5)))->getInt(0, 6000000000), "\n";
echo crc32('hello'), ' ', hash('xxh64', 'hello'), ' ', hash('xxh128', 'hello'), ' ', hash('murmur3f', 'hello'), ' ', hash('joaat', 'hello'), ' ', hash('fnv1a64', 'hello'), ' ', hash('sha3-256', ''), ' ', hash('whirlpool', 'a') === hash('whirlpool', 'a') ? 'w' : '', ' ', ip2long('255.255.255.255'), ' ', long2ip(4294967294), "\n";
echo strtotime('2100-01-01 UTC'), ' ', date('Y-m-d', 4102444800), ' ', mktime(0, 0, 0, 1, 1, 2050), ' ', (new DateTime('@7258118400'))->format('Y'), ' ', date('Y', -5000000000), ' ', PHP_FLOAT_DIG, ' ', hrtime(true) > 0 ? 'ok' : '', ' ', microtime(true) > 1e9 ? 'ok' : '', "\n";"#)], expected: printed("int(9223372036854775807)\nint(9223372036854775807)\nint(-9223372036854775808)\nint(9223372036854775807)\nfloat(9.223372036854776E+18)\nint(1000000000000000000)\nint(4294967296)\nint(137438953471)\nint(68719476735)\nint(42)\nstring(19) \"9223372036854775807\"\nfloat(9.223372036854776E+18)\nbool(true)\nstring(11) \"-5000000000\"\n9876543210 18446744073709551615 123456789 1000000000000 1000000000000000000000000000000000 5000000000 +5000000000 5.000000e+9 5000000000 A|7000000000|7000000000    |\n9,876,543,210 -5,000,000,000 7fffffffffffffff 137438953471 1099511627775 68719476735 1000000000000000000000000000000000000000000000000000000000000000 2821109907455\n[9223372036854775807,-9223372036854775808,5000000000] [9223372036854775807,9.223372036854776e+18,-5000000000] '12345678901234567890'\na:2:{i:0;i:5000000000;i:1;i:-9223372036854775808;} {\"5000000000\":-5000000000} -9223372036854775807-1 [5000000000,137438953471]\nfeffffffffffffff0000010000000000ffffffffffffff7f {\"a\":-5000000000,\"b\":5000000000,\"c\":4294967295}\n{\"5000000000\":\"a\",\"5000000001\":\"b\",\"-5000000000\":\"c\",\"9223372036854775808\":\"d\",\"5000000002\":\"e\"} [5000000000,5000000001,-5000000000,\"9223372036854775808\",5000000002] aset\n[\"integer\",\"integer\",\"integer\",\"integer\",\"string\"] [5000000000,5000000005,5000000010] {\"6000000000\":0}\n163870807 364041824 -1136149265103967754 2147483647 8 79,87,88\n5320248114040590185 dc24264d 2097790374\n907060870 26c7827d889f6da3 b5e9c1ad071b3e7fc779cfaa5e523818 cbd8a7b341bd9b025b1e906a48ae1d19 c8fd181b a430d84680aabd0b a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a w 4294967295 255.255.255.254\n4102444800 2100-01-01 2524608000 2200 1811 15 ok ok\n") },
    Case { name: "readonly classes, enums with interfaces, closures", given: NOTHING, programs: &[php(r#"<?php
declare(strict_types=1);
readonly class Point { public function __construct(public int $x = 0, public ?Point $next = null) {} public function with(int $x): static { return new static($x, $this); } }
interface HasLabel { public function label(): string; }
enum Status: int implements HasLabel { case On = 1; case Off = 0; const DEFAULT = self::On; public function label(): string { return ucfirst(strtolower($this->name)); } public static function labels(): array { return array_map(fn(self $s) => $s->label(), self::cases()); } }
$p = (new Point(1))->with(2);
try { $p->x = 5; } catch (Error $e) { echo get_class($e), ': ', $e->getMessage(), "\n"; }
echo $p->next?->x, ' ', $p->next?->next?->x ?? 'none', ' ', json_encode($p), ' ', Status::from(0)->label(), ' ', implode(',', Status::labels()), ' ', Status::tryFrom(9)?->name ?? 'null', ' ', Status::DEFAULT->name, ' ', json_encode(Status::cases()), "\n";
try { Status::from(7); } catch (ValueError $e) { echo $e->getMessage(), "\n"; }
try { strlen(5); } catch (TypeError $e) { echo $e->getMessage(), "\n"; }
class Counter { private int $n = 0; public function step(): callable { return function (int $by = 1): int { return $this->n += $by; }; } }
$step = (new Counter)->step(); $step(); echo $step(5), ' ', Closure::bind(fn() => $this->n, new Counter, Counter::class)(), ' ', (function () { return get_class($this); })->call(new Counter), "\n";
$curry = fn($f) => fn($a) => fn($b) => $f($a, $b);
$memo = function (int $n) use (&$memo): int { static $seen = []; return $seen[$n] ??= $n < 2 ? $n : $memo($n - 1) + $memo($n - 2); };
echo $curry(max(...))(3)(9), ' ', $memo(80), ' ', implode(' ', array_map(strtoupper(...), ['a', 'b'])), ' ', (new ReflectionFunction($curry))->getNumberOfParameters(), "\n";
$kind = fn(mixed $v): string => match (true) { is_int($v) && $v > 100 => 'large', is_int($v) => 'small', is_string($v), is_array($v) => gettype($v) . count((array) $v), default => 'other' };
echo implode(' ', array_map($kind, [500, 5, 'x', [1, 2], null])), "\n";
abstract class Model implements ArrayAccess, IteratorAggregate, Countable, JsonSerializable { protected array $data = []; public function offsetExists(mixed $o): bool { return isset($this->data[$o]); } public function offsetGet(mixed $o): mixed { return $this->data[$o] ?? null; } public function offsetSet(mixed $o, mixed $v): void { if ($o === null) { $this->data[] = $v; } else { $this->data[$o] = $v; } } public function offsetUnset(mixed $o): void { unset($this->data[$o]); } public function getIterator(): Iterator { yield from $this->data; } public function count(): int { return count($this->data); } public function jsonSerialize(): mixed { return $this->data; } }
$m = new class extends Model { public function __clone() { $this->data['cloned'] = true; } };
$m['a'] = 1; $m[] = 2; unset($m['zz']); $c = clone $m;
foreach ($c as $k => $v) { echo $k, '=', var_export($v, true), ' '; }
echo count($m), ' ', json_encode($c), ' ', isset($m['a']) ? 'set' : '', ' ', str_contains(get_class($m), 'Model@anonymous') ? 'anonymous' : get_class($m), "\n";
#[Attribute] class Route { public function __construct(public string $path, public array $methods = ['GET']) {} }
class Controller { #[Route('/home', methods: ['GET', 'POST'])] public function home(int|string $id, ?array $o = null, self ...$more): static|null { return null; } }
$method = new ReflectionMethod('Controller', 'home');
$route = $method->getAttributes()[0]->newInstance();
echo $route->path, ' ', implode('|', $route->methods), ' ', $method->getReturnType(), ' ', implode(', ', array_map(fn($p) => $p->getType() . ' $' . $p->getName(), $method->getParameters())), "\n";"#)], expected: printed("Error: Cannot modify readonly property Point::$x\n1 none {\"x\":2,\"next\":{\"x\":1,\"next\":null}} Off On,Off null On [1,0]\n7 is not a valid backing value for enum Status\nstrlen(): Argument #1 ($string) must be of type string, int given\n6 0 Counter\n9 23416728348467685 A B 1\nlarge small string1 array2 other\na=1 0=2 cloned=true 2 {\"a\":1,\"0\":2,\"cloned\":true} set anonymous\n/home GET|POST ?static string|int $id, ?array $o, self $more\n") },
    Case { name: "the library of data structures", given: NOTHING, programs: &[php(r#"<?php
$list = new SplDoublyLinkedList; foreach ([1, 2, 3] as $i) { $list->push($i); } $list->unshift(0); $list->offsetUnset(1);
$list->setIteratorMode(SplDoublyLinkedList::IT_MODE_LIFO); foreach ($list as $i) { echo $i; } echo ' ';
$queue = new SplQueue; $queue->enqueue('a'); $queue->enqueue('b'); echo $queue->dequeue(), count($queue), ' ';
$heap = new SplMinHeap; foreach ([5, 1, 3] as $i) { $heap->insert($i); } foreach ($heap as $i) { echo $i; } echo ' ';
class ByLength extends SplHeap { protected function compare(mixed $a, mixed $b): int { return strlen($a) - strlen($b); } }
$words = new ByLength; foreach (['aa', 'a', 'aaaa'] as $w) { $words->insert($w); } echo $words->top(), ' ';
$queue = new SplPriorityQueue; $queue->setExtractFlags(SplPriorityQueue::EXTR_BOTH); foreach (['x' => 1, 'y' => 3, 'z' => 2] as $v => $p) { $queue->insert($v, $p); } echo json_encode($queue->extract()), "\n";
$store = new SplObjectStorage; $one = new stdClass; $store[$one] = 'data'; $store[new stdClass] = 'other'; echo count($store), $store[$one], $store->contains($one) ? 'yes' : 'no', ' ';
$map = new WeakMap; $key = new stdClass; $map[$key] = 5; echo count($map); unset($key); echo count($map), ' ';
$fixed = new SplFixedArray(3); $fixed[1] = 'm'; try { $fixed[5] = 1; } catch (RuntimeException $e) { echo $e->getMessage(), ' '; } echo json_encode($fixed->toArray()), "\n";
$it = new CallbackFilterIterator(new ArrayIterator(range(1, 10)), fn($n) => $n % 3 == 0); echo implode(',', iterator_to_array($it, false)), ' ';
$both = new MultipleIterator(MultipleIterator::MIT_KEYS_ASSOC); $both->attachIterator(new ArrayIterator([1, 2]), 'a'); $both->attachIterator(new ArrayIterator([3, 4]), 'b'); foreach ($both as $pair) { echo json_encode($pair); } echo ' ';
$append = new AppendIterator; $append->append(new ArrayIterator([1])); $append->append(new ArrayIterator([2])); echo implode(',', iterator_to_array($append, false)), ' ';
echo implode(',', iterator_to_array(new RecursiveIteratorIterator(new RecursiveArrayIterator([1, [2, [3, 4]], 5])), false)), ' ', implode(',', iterator_to_array(new RegexIterator(new ArrayIterator(['apple', 'bob', 'avocado']), '/^a/'))), "\n";
function numbers(int $from) { while (true) { $cmd = yield $from => $from * $from; if ($cmd === 'stop') { return 'done'; } $from += $cmd ?? 1; } }
$g = numbers(3); echo $g->key(), $g->current(), ' '; echo $g->send(10), ' '; $g->next(); echo $g->key(), ' '; $g->send('stop'); echo $g->valid() ? 'on' : 'off', $g->getReturn(), ' ';
function guarded() { try { while (true) { try { yield 1; } catch (InvalidArgumentException $e) { yield 'caught ' . $e->getMessage(); } } } finally { echo '(closed)'; } }
$g = guarded(); $g->current(); echo $g->throw(new InvalidArgumentException('bad')), ' '; unset($g); echo "\n";
function chunked(iterable $it, int $n) { $part = []; foreach ($it as $x) { $part[] = $x; if (count($part) == $n) { yield $part; $part = []; } } if ($part) { yield $part; } }
foreach (chunked((fn() => yield from range(1, 5))(), 2) as $part) { echo json_encode($part); }
spl_autoload_register(function ($class) { echo "[load $class]"; eval("class $class { const V = 7; }"); }); echo Lazy::V, ' ', class_exists('Missing2', false) ? 'y' : 'n', ' ', iterator_count(new InfiniteIterator(new EmptyIterator)), ' ', implode(',', class_implements(new ArrayObject)), "\n";"#)], expected: printed("320 a1 135 aaaa {\"data\":\"y\",\"priority\":3}\n2datayes 10 Index invalid or out of range [null,\"m\",null]\n3,6,9 {\"a\":1,\"b\":3}{\"a\":2,\"b\":4} 1,2 1,2,3,4,5 apple,avocado\n39 169 14 offdone caught bad (closed)\n[1,2][3,4][5][load Lazy]7 n 0 IteratorAggregate,Traversable,ArrayAccess,Serializable,Countable\n") },
    Case { name: "exit from within", given: NOTHING, programs: &[php(r#"<?php
class Late { function __destruct() { echo "destroyed\n"; } }
$late = new Late;
register_shutdown_function(fn() => print("shutdown\n"));
function leave() { try { exit(300); } finally { echo "never\n"; } }
ob_start();
echo "buffered\n";
array_map(fn($x) => leave(), [1]);"#)], expected: Expected { ending: Ending::Exit(44), stdout: Text::Is("buffered\nshutdown\ndestroyed\n"), ..SILENT } },
    Case { name: "bailing out of the deep", given: NOTHING, programs: &[php(r#"<?php
register_shutdown_function(function () { echo 'last: ', error_get_last()['message'], "\n"; });
ob_start();
echo "held\n";
function deep($n) { if ($n > 0) { return array_map('deep', [$n - 1]); } trigger_error('far down', E_USER_ERROR); }
deep(50);
echo "never\n";"#)], expected: Expected { ending: Ending::Exit(255), stdout: Text::Is("held\nlast: far down\n"), stderr: Text::Is("Fatal error: far down in /box/main.php on line 5\n"), error: Some(Error { kind: "FatalError", message: "far down", line: Some(5) }), ..SILENT } },
];
