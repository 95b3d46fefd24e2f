//! Runs of one worker, one after the other and at the same time: each has a world of its own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use sandbox::{Outcome, Request};

use crate::{Server, request, within};

/// W12: looks for what [`PYTHON_CHANGES`] does, and says what it finds.
const PYTHON_LOOKS: &str = r"
import builtins, json, os, random, sys, tempfile
print('global', 'leaked' in globals())
print('builtin', hasattr(builtins, 'leaked'), len.__name__, builtins.print is print)
print('module', hasattr(json, 'leaked'), 'leaked_module' in sys.modules, json.dumps([1]))
print('environment', 'LEAKED' in os.environ, os.environ['HOME'])
print('files', sorted(os.listdir('/box')), sorted(os.listdir('/tmp')))
print('path', '/leaked' in sys.path, os.getcwd(), sys.argv)
print('limits', sys.getrecursionlimit(), sys.getswitchinterval())
print('streams', sys.stdout.name, sys.stdin.read())
print('types', 'leaked' in type('x', (), {}).__dict__, sys.gettrace(), sys.flags.optimize)
";
const PYTHON_CHANGES: &str = r"
import builtins, json, os, random, sys
leaked = 1
builtins.leaked = 1
json.leaked = 1
json.dumps = lambda value: 'leaked'
sys.modules['leaked_module'] = json
os.environ['LEAKED'] = 'yes'
os.environ['HOME'] = '/leaked'
open('/box/leaked', 'w').write('x')
open('/tmp/leaked', 'w').write('x')
sys.path.insert(0, '/leaked')
os.chdir('/tmp')
sys.argv.append('leaked')
sys.setrecursionlimit(1234)
random.seed(1)
";

#[tokio::test]
async fn python_leaves_nothing() {
    let Some(server) = Server::start(2) else { return };
    let clean = server.printed("python", PYTHON_LOOKS).await;
    // The control: what it does can be seen.
    let changed = server.printed("python", &format!("{PYTHON_CHANGES}\n{PYTHON_LOOKS}")).await;
    let pairs: Vec<(&str, &str)> = clean.lines().zip(changed.lines()).collect();
    let seen = pairs.iter().filter(|(before, after)| before != after).count();
    assert!(seen >= 7, "{pairs:#?}");
    assert!(!clean.contains("leaked"), "{clean}");
    // Both threads of the worker, more than once.
    for _ in 0..8 {
        server.printed("python", PYTHON_CHANGES).await;
        assert_eq!(server.printed("python", PYTHON_LOOKS).await, clean);
    }
    server.worker();
}

/// A run that ends by itself leaves its instance to others, put back; one that does not, does not.
#[tokio::test]
async fn however_a_run_ends_the_next_sees_nothing_of_it() {
    let Some(server) = Server::start(1) else { return };
    let clean = server.printed("python", PYTHON_LOOKS).await;
    let sure = "import gc, sys\nprint(sys.getallocatedblocks(), len(gc.get_objects()), id([]), len(sys.modules))";
    let place = server.printed("python", sure).await;
    for ending in [
        "sys.exit(3)",
        "os._exit(4)",
        "raise ValueError('out')",
        "def deep(n): return deep(n + 1)\nsys.setrecursionlimit(10 ** 6)\ndeep(0)",
        "kept = bytearray(30 << 20)",
        "kept = bytearray(3 << 30)",
        "while True: pass",
        "import time\ntime.sleep(60)",
    ] {
        let code = format!("{PYTHON_CHANGES}\n{ending}");
        server.run(Request { limits: within(Duration::from_millis(700)), ..request("python", &code) }).await;
        assert_eq!(server.printed("python", PYTHON_LOOKS).await, clean, "after {ending}");
        // To the byte: the same objects at the same addresses.
        assert_eq!(server.printed("python", sure).await, place, "after {ending}");
    }
    server.worker();
}

const JAVASCRIPT_LOOKS: &str = r"
const fs = require('fs');
console.log('global', typeof globalThis.leaked, [3, 1].map((x) => x).length);
console.log('builtin', typeof Array.prototype.leaked, JSON.stringify([1]), typeof Object.prototype.leaked);
console.log('module', typeof fs.leaked, typeof require('path').leaked);
console.log('environment', process.env.LEAKED, process.env.HOME);
console.log('files', fs.readdirSync('/box').join(), fs.readdirSync('/tmp').join());
console.log('process', process.cwd(), process.argv.length, process.exitCode);
";
const JAVASCRIPT_CHANGES: &str = r"
globalThis.leaked = 1;
Array.prototype.leaked = 1;
Array.prototype.map = () => [];
JSON.stringify = () => 'leaked';
require('fs').leaked = 1;
require('path').leaked = 1;
process.env.LEAKED = 'yes';
process.env.HOME = '/leaked';
require('fs').writeFileSync('/box/leaked', 'x');
require('fs').writeFileSync('/tmp/leaked', 'x');
process.chdir('/tmp');
";

#[tokio::test]
async fn javascript_leaves_nothing() {
    let Some(server) = Server::start(2) else { return };
    let clean = server.printed("javascript", JAVASCRIPT_LOOKS).await;
    let changed = server.printed("javascript", &format!("{JAVASCRIPT_CHANGES}\n{JAVASCRIPT_LOOKS}")).await;
    let pairs: Vec<(&str, &str)> = clean.lines().zip(changed.lines()).collect();
    let seen = pairs.iter().filter(|(before, after)| before != after).count();
    assert_eq!(seen, 6, "{pairs:#?}");
    assert!(!clean.contains("leaked"), "{clean}");
    for _ in 0..8 {
        server.printed("javascript", JAVASCRIPT_CHANGES).await;
        assert_eq!(server.printed("javascript", JAVASCRIPT_LOOKS).await, clean);
    }
    server.worker();
}

const RUBY_LOOKS: &str = r#"
require 'json'
puts "global #{$leaked.inspect} #{defined?(leaked).inspect}"
puts "constant #{defined?(Leaked).inspect} #{[3, 1].map { |x| x }.length}"
puts "builtin #{[].respond_to?(:leaked)} #{[1].to_json} #{1 + 1}"
puts "environment #{ENV['LEAKED'].inspect} #{ENV['HOME']}"
puts "files #{Dir.children('/box').sort} #{Dir.children('/tmp').sort}"
puts "process #{Dir.pwd} #{ARGV} #{$0} #{$LOAD_PATH.include?('/leaked')} #{$stdout.sync}"
"#;
const RUBY_CHANGES: &str = r"
require 'json'
$leaked = 1
def leaked = 1
Leaked = 1
class Array
  def leaked = 1
  def map = []
  def to_json(*) = 'leaked'
end
ENV['LEAKED'] = 'yes'
ENV['HOME'] = '/leaked'
File.write('/box/leaked', 'x')
File.write('/tmp/leaked', 'x')
Dir.chdir('/tmp')
ARGV << 'leaked'
$LOAD_PATH.unshift('/leaked')
GC.start
srand(1)
";

#[tokio::test]
async fn ruby_leaves_nothing() {
    let Some(server) = Server::start(2) else { return };
    let clean = server.printed("ruby", RUBY_LOOKS).await;
    let changed = server.printed("ruby", &format!("{RUBY_CHANGES}\n{RUBY_LOOKS}")).await;
    let pairs: Vec<(&str, &str)> = clean.lines().zip(changed.lines()).collect();
    let seen = pairs.iter().filter(|(before, after)| before != after).count();
    assert_eq!(seen, 6, "{pairs:#?}");
    assert!(!clean.contains("leaked"), "{clean}");
    for _ in 0..8 {
        server.printed("ruby", RUBY_CHANGES).await;
        assert_eq!(server.printed("ruby", RUBY_LOOKS).await, clean);
    }
    server.worker();
}

const LUA_LOOKS: &str = "print('global', leaked, print == print_too)\nprint('library', string.leaked, ('x'):rep(2), math.pi)\n\
    print('module', package.loaded.leaked, package.path)\nprint('file', io.open('/box/leaked'), io.open('/tmp/leaked'))\n\
    print('type', getmetatable('').__index == string, #arg)";
const LUA_CHANGES: &str = "leaked = 1 print_too = print string.leaked = 1 string.rep = function() return 'leaked' end math.pi = 3\n\
    package.loaded.leaked = 1 package.path = 'leaked' io.open('/box/leaked', 'w'):close() io.open('/tmp/leaked', 'w'):close()\n\
    getmetatable('').__index = {rep = string.rep, leaked = 1} arg[1] = 'leaked'";

/// Says what it finds, and leaves something of every kind.
const C_LOOKS_AND_CHANGES: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int counter;
static char *held;
int main(void) {
    char place[64];
    printf("static %d %d, heap %d\n", counter++, held != NULL, malloc(100) == held);
    printf("files %d %d\n", access("/tmp/left", F_OK), access("/box/left", F_OK));
    printf("environment %s, in %s\n", getenv("LEFT") ? getenv("LEFT") : "none", getcwd(place, sizeof place));
    held = malloc(1 << 20);
    for (int i = 0; i < 1 << 20; i++) held[i] = 7;
    fclose(fopen("/tmp/left", "w")); fclose(fopen("/box/left", "w"));
    setenv("LEFT", "yes", 1); chdir("/tmp");
    return 0;
}
"#;

/// Runs of a program that was compiled once are in one worker.
#[tokio::test]
async fn c_leaves_nothing() {
    let Some(server) = Server::start(2) else { return };
    let first = server.printed("c", C_LOOKS_AND_CHANGES).await;
    assert_eq!(first, "static 0 0, heap 0\nfiles -1 -1\nenvironment none, in /box\n");
    for _ in 0..8 {
        assert_eq!(server.printed("c", C_LOOKS_AND_CHANGES).await, first);
    }
    // And at the same time, in several.
    let run = || server.printed("c", C_LOOKS_AND_CHANGES);
    let printed = tokio::join!(run(), run(), run());
    assert_eq!(printed, (first.clone(), first.clone(), first));
}

#[tokio::test]
async fn lua_leaves_nothing() {
    let Some(server) = Server::start(2) else { return };
    let clean = server.printed("lua", LUA_LOOKS).await;
    let changed = server.printed("lua", &format!("{LUA_CHANGES}\n{LUA_LOOKS}")).await;
    let pairs: Vec<(&str, &str)> = clean.lines().zip(changed.lines()).collect();
    assert!(pairs.len() == 5 && pairs.iter().all(|(before, after)| before != after), "{pairs:#?}");
    for _ in 0..8 {
        server.printed("lua", LUA_CHANGES).await;
        assert_eq!(server.printed("lua", LUA_LOOKS).await, clean);
    }
    server.worker();
}

const SQL_LOOKS: &str = "SELECT count(*) AS tables FROM sqlite_master;\nSELECT readfile('/box/leaked') IS NULL AS clean;\n\
    SELECT readfile('/tmp/leaked.db') IS NULL AS clean;\nPRAGMA user_version;";
const SQL_CHANGES: &str = "CREATE TABLE leaked(a);\nPRAGMA user_version = 7;\nSELECT writefile('/box/leaked', 'x');\n\
    ATTACH '/tmp/leaked.db' AS other;\nCREATE TABLE other.leaked(a);";

#[tokio::test]
async fn sql_leaves_nothing() {
    let Some(server) = Server::start(2) else { return };
    let clean = server.printed("sql", SQL_LOOKS).await;
    let changed = server.printed("sql", &format!("{SQL_CHANGES}\n{SQL_LOOKS}")).await;
    assert!(!changed.ends_with(&clean), "{changed}");
    for _ in 0..8 {
        server.printed("sql", SQL_CHANGES).await;
        assert_eq!(server.printed("sql", SQL_LOOKS).await, clean);
    }
    server.worker();
}

const PHP_LOOKS: &str = r#"
echo 'global ', json_encode($leaked ?? null), "\n";
echo 'names ', json_encode([defined('LEAKED'), function_exists('leaked'), class_exists('Leaked')]), "\n";
echo 'environment ', json_encode([getenv('LEAKED'), getenv('HOME'), $_SERVER['HOME']]), "\n";
echo 'files ', json_encode([scandir('/box'), scandir('/tmp')]), "\n";
echo 'process ', json_encode([getcwd(), $argv, get_include_path(), ini_get('precision'), date_default_timezone_get()]), "\n";
echo 'streams ', json_encode([stream_get_wrappers(), spl_autoload_functions(), ob_get_level()]), "\n";
"#;
const PHP_CHANGES: &str = r"
$leaked = 1;
define('LEAKED', 1);
function leaked() {}
class Leaked {}
putenv('LEAKED=yes');
putenv('HOME=/leaked');
file_put_contents('/box/leaked', 'x');
file_put_contents('/tmp/leaked', 'x');
chdir('/tmp');
$argv[] = 'leaked';
set_include_path('/leaked');
ini_set('precision', '3');
date_default_timezone_set('Asia/Tokyo');
stream_wrapper_register('leaked', 'Leaked');
mt_srand(1);
";

#[tokio::test]
async fn php_leaves_nothing() {
    let Some(server) = Server::start(2) else { return };
    let looks = format!("<?php\n{PHP_LOOKS}");
    let changes = format!("<?php\n{PHP_CHANGES}");
    let clean = server.printed("php", &looks).await;
    let after = server.printed("php", &format!("{changes}\n{PHP_LOOKS}")).await;
    let pairs: Vec<(&str, &str)> = clean.lines().zip(after.lines()).collect();
    let seen = pairs.iter().filter(|(before, after)| before != after).count();
    assert_eq!(seen, 6, "{pairs:#?}");
    assert!(!clean.contains("leaked"), "{clean}");
    for _ in 0..8 {
        server.printed("php", &changes).await;
        assert_eq!(server.printed("php", &looks).await, clean);
    }
    server.worker();
}

/// W4: every source of randomness, in ten runs of the same snapshot.
#[tokio::test]
async fn randomness_is_new_in_every_run() {
    let Some(server) = Server::start(2) else { return };
    let mut sources = vec![
        ("python", "import random\nprint(random.random())"),
        ("python", "import random\nprint(random.Random().random())"),
        ("python", "import random\nprint(random.SystemRandom().random())"),
        ("python", "import uuid\nprint(uuid.uuid4())"),
        ("python", "import uuid\nprint(uuid.uuid1())"),
        ("python", "import secrets\nprint(secrets.token_hex())"),
        ("python", "import os\nprint(os.urandom(16).hex())"),
        ("python", "import tempfile\nprint(tempfile.mktemp())"),
        ("python", "print(open('/dev/urandom', 'rb').read(16).hex())"),
        ("javascript", "console.log(Math.random())"),
        ("javascript", "console.log(crypto.randomUUID())"),
        ("javascript", "console.log(crypto.getRandomValues(new Uint32Array(4)).join())"),
        ("javascript", "console.log(require('crypto').randomBytes(16).toString('hex'))"),
        ("javascript", "console.log(require('crypto').randomInt(2 ** 40))"),
        ("typescript", "const n: number = Math.random(); console.log(n)"),
        ("ruby", "puts rand"),
        ("ruby", "puts rand(2**40), [*1..50].shuffle.join"),
        ("ruby", "puts Random.new.rand, Random.rand, Random.bytes(8).unpack1('H*')"),
        ("ruby", "srand\nputs rand"),
        ("ruby", "require 'securerandom'\nputs SecureRandom.uuid"),
        ("ruby", "require 'tempfile'\nputs Tempfile.create('x').path"),
        ("ruby", "require 'openssl'\nputs OpenSSL::Random.random_bytes(8).unpack1('H*')"),
        ("ruby", "puts Random.new_seed, Random.urandom(8).unpack1('H*')"),
        ("php", "<?php echo mt_rand(), rand(), mt_rand();"),
        ("php", "<?php echo random_int(0, 1 << 30), bin2hex(random_bytes(8));"),
        ("php", "<?php echo uniqid('', true), lcg_value();"),
        ("php", "<?php $a = range(1, 50); shuffle($a); echo implode($a), str_shuffle('abcdefghijklmnop');"),
        ("php", "<?php echo tempnam('/tmp', 'x');"),
        (
            "php",
            "<?php echo (new Random\\Randomizer)->getInt(0, 1 << 30), password_hash('x', PASSWORD_BCRYPT, ['cost' => 4]);",
        ),
        ("lua", "print(math.random(0))"),
        ("lua", "math.randomseed() print(math.random(0))"),
        ("lua", "print(os.tmpname())"),
        ("sql", "SELECT random();"),
        ("sql", "SELECT hex(randomblob(16));"),
    ];
    if server.has_numpy {
        sources.extend([
            ("python", "import numpy\nprint(numpy.random.rand())"),
            ("python", "import numpy\nprint(numpy.random.RandomState().rand())"),
            ("python", "import numpy\nprint(numpy.random.default_rng().random())"),
            ("python", "import numpy\nprint(numpy.random.SeedSequence().entropy)"),
        ]);
    }
    for (language, code) in sources {
        let mut seen = BTreeSet::new();
        for _ in 0..10 {
            seen.insert(server.printed(language, code).await);
        }
        assert_eq!(seen.len(), 10, "{code}: {seen:?}");
    }
    // And a seed makes it the same again, in every run.
    for (language, code) in [("python", "import random\nrandom.seed(7)\nprint(random.random())")] {
        assert_eq!(server.printed(language, code).await, server.printed(language, code).await);
    }
}

/// Other runs' memory: a run fills a hundred megabytes with a mark and ends; those after it take fresh memory and look at it as it comes.
#[tokio::test]
async fn memory_comes_without_what_was_in_it() {
    const LOOKS: &str = "import numpy\nmark = bytes(int(digit) + 200 for digit in '31415926535897932384626433')\n\
                         found = sum(numpy.empty(16 << 20, numpy.uint8).tobytes().count(mark) for _ in range(6))\n";
    let Some(server) = Server::start(2) else { return };
    if !server.has_numpy {
        return testkit::runtimes::skip("NumPy is not set up");
    }
    let fill = "import numpy\nmark = bytes(int(digit) + 200 for digit in '31415926535897932384626433')\n\
                held = [bytearray(mark * ((16 << 20) // len(mark))) for _ in range(6)]\ndel held\n";
    // The control: within one run it is found.
    let found = server.printed("python", &format!("{fill}{LOOKS}print(found > 0)")).await;
    assert_eq!(found, "True\n");
    for _ in 0..6 {
        server.printed("python", fill).await;
        assert_eq!(server.printed("python", &format!("{LOOKS}print(found)")).await, "0\n");
    }
    server.worker();
}

/// Two hundred runs, sixteen at a time, in two languages, each with a name, input, files and output of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_at_the_same_time_never_mix() {
    const PYTHON: &str = "import sys, time\nname = sys.stdin.read()\nopen(name, 'w').write(name)\n\
                          for _ in range(50): print(name); print(name, file=sys.stderr)\n\
                          time.sleep(0.002)\nprint(name * 1000)\nsys.exit(int(name) % 200)";
    const JAVASCRIPT: &str = "const fs = require('fs'); const name = fs.readFileSync(0, 'utf8'); fs.writeFileSync(name, name);\n\
                              for (let i = 0; i < 50; i++) { console.log(name); console.error(name); }\n\
                              await new Promise((done) => setTimeout(done, 2));\n\
                              console.log(name.repeat(1000)); process.exit(Number(name) % 200);";
    let Some(server) = Server::start(16) else { return };
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..200_u16 {
        let server = Arc::clone(&server);
        runs.spawn(async move {
            let name = format!("{number:04}");
            let (language, code) = if number % 2 == 0 { ("python", PYTHON) } else { ("javascript", JAVASCRIPT) };
            let mut request = request(language, code);
            request.stdin = name.clone().into();
            (number, name, server.run(request).await)
        });
    }
    while let Some(run) = runs.join_next().await {
        let (number, name, outcome) = run.expect("a run");
        check_named(number, &name, &outcome);
    }
    server.worker();
}

fn check_named(number: u16, name: &str, outcome: &Outcome) {
    let exit_code = u8::try_from(number % 200).expect("small");
    assert_eq!(outcome.status, sandbox::Status::Completed { exit_code }, "{outcome:?}");
    let lines = format!("{name}\n").repeat(50);
    assert_eq!(outcome.stdout.text, format!("{lines}{}\n", name.repeat(1000)));
    assert_eq!(outcome.stderr.text, lines);
    let files: Vec<(&str, u64)> = outcome.files.iter().map(|file| (file.path.as_str(), file.size)).collect();
    assert_eq!(files, [(name, 4)]);
}
