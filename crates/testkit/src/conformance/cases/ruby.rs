//! Programs in Ruby: input, files, errors and the standard library. What they print is the same in all versions since 3.0.

use crate::conformance::case::{
    Case, Code, Ending, Expected, Given, Input, NOTHING, Program, SILENT, Text, fails, printed,
};

const fn ruby(code: &'static str) -> Program {
    Program { language: "ruby", code: Code::Text(code) }
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "standard input, line by line",
        given: Given { stdin: Input::Bytes("ada\nbøb\n\nlast".as_bytes()), ..NOTHING },
        programs: &[ruby(
            "name = gets.chomp\nputs \"hi #{name}\"\nwhile (line = gets)\n  p [$., line.chomp, line.length]\nend\np gets",
        )],
        expected: printed("hi ada\n[2, \"bøb\", 4]\n[3, \"\", 1]\n[4, \"last\", 4]\nnil\n"),
    },
    Case {
        name: "standard input, all at once",
        given: Given { stdin: Input::Bytes(b"3 1 2\n10 20\n"), ..NOTHING },
        programs: &[ruby(
            "rows = STDIN.read.lines.map { |line| line.split.map(&:to_i) }\np rows, rows.flatten.sum, $stdin.eof?",
        )],
        expected: printed("[[3, 1, 2], [10, 20]]\n36\ntrue\n"),
    },
    Case {
        name: "ARGF is standard input, or the files that arguments name",
        given: Given { args: &["a.txt", "b.txt"], files: &[("a.txt", "one\ntwo\n"), ("b.txt", "three\n")], ..NOTHING },
        programs: &[ruby("ARGF.each_line { |line| puts \"#{ARGF.filename}:#{ARGF.file.lineno} #{line}\" }\np ARGV")],
        expected: printed("a.txt:1 one\na.txt:2 two\nb.txt:1 three\n[]\n"),
    },
    Case {
        name: "arguments and options",
        given: Given { args: &["--times", "2", "-v", "ü x"], ..NOTHING },
        programs: &[ruby(
            "require 'optparse'\noptions = {}\nOptionParser.new do |o|\n  o.on('-v', '--verbose') { options[:verbose] = true }\n  \
             o.on('--times N', Integer) { |n| options[:times] = n }\nend.parse!\nputs options.sort.map { |k, v| \"#{k}=#{v}\" }, ARGV.inspect",
        )],
        expected: printed("times=2\nverbose=true\n[\"ü x\"]\n"),
    },
    Case {
        name: "environment",
        given: Given { env: &["GREETING=héllo", "EMPTY="], ..NOTHING },
        programs: &[ruby(
            "p ENV['GREETING'], ENV.fetch('EMPTY'), ENV['NONE'], ENV.key?('HOME')\nENV['GREETING'] = 'x'\np ENV.values_at('GREETING')",
        )],
        expected: printed("\"héllo\"\n\"\"\nnil\ntrue\n[\"x\"]\n"),
    },
    Case {
        name: "where the program is",
        given: NOTHING,
        programs: &[ruby(
            "puts __FILE__, $0, $PROGRAM_NAME, __dir__, Dir.pwd, __LINE__\nputs 'main' if __FILE__ == $0\nputs self",
        )],
        expected: printed("/box/main.rb\n/box/main.rb\n/box/main.rb\n/box\n/box\n1\nmain\nmain\n"),
    },
    Case {
        name: "what follows __END__",
        given: NOTHING,
        programs: &[ruby("DATA.each_line { |line| puts line.upcase }\np DATA.class\n__END__\ntea\ncake")],
        expected: printed("TEA\nCAKE\nFile\n"),
    },
    Case {
        name: "files of its own",
        given: Given {
            files: &[
                ("lib/basket.rb", "module Basket\n  def self.total = [1, 2].sum\nend\n"),
                ("here.rb", "HERE = __FILE__\n"),
            ],
            ..NOTHING
        },
        programs: &[ruby(
            "p require_relative('lib/basket'), require('./here'), require('/box/here')\np Basket.total, HERE\np load('lib/basket.rb')",
        )],
        expected: printed("true\ntrue\nfalse\n3\n\"/box/here.rb\"\ntrue\n"),
    },
    Case {
        name: "reading and writing files",
        given: Given { files: &[("in.csv", "name,price\ntea,3.20\ncake,4.50\n")], ..NOTHING },
        programs: &[ruby(
            r##"require 'csv'
rows = CSV.read('in.csv', headers: true)
total = rows.sum { |row| row['price'].to_f }
File.open('out.txt', 'w') { |file| rows.each { |row| file.puts row.to_h.values.join(' ') } }
File.write('out.txt', format("total %.2f\n", total), mode: 'a')
print File.read('out.txt')
p File.size('out.txt'), File.exist?('none'), File.extname('out.txt'), Dir.children('.').sort
File.foreach('out.txt').with_index(1) { |line, n| puts "#{n} #{line}" if n > 2 }"##,
        )],
        expected: Expected {
            files: &[("out.txt", 30, "text/plain")],
            ..printed(
                "tea 3.20\ncake 4.50\ntotal 7.70\n30\nfalse\n\".txt\"\n[\"in.csv\", \"main.rb\", \"out.txt\"]\n3 total 7.70\n",
            )
        },
    },
    Case {
        name: "directories and temporary files",
        given: NOTHING,
        programs: &[ruby(
            r##"require 'fileutils'
require 'tempfile'
require 'tmpdir'
FileUtils.mkdir_p('a/b')
FileUtils.touch('a/b/c.txt')
FileUtils.cp('a/b/c.txt', 'a/d.txt')
puts Dir.glob('a/**/*').sort
FileUtils.rm_rf('a')
p Dir.exist?('a')
Tempfile.create('x') { |file| file.write('hello'); file.rewind; p file.read, File.dirname(file.path) }
Dir.mktmpdir { |folder| File.write("#{folder}/y", '1'); p Dir.children(folder) }
begin
  File.read('none')
rescue Errno::ENOENT => error
  puts error.message
end"##,
        )],
        expected: printed(
            "a/b\na/b/c.txt\na/d.txt\nfalse\n\"hello\"\n\"/tmp\"\n[\"y\"]\nNo such file or directory @ rb_sysopen - none\n",
        ),
    },
    Case {
        name: "a file that is left open",
        given: NOTHING,
        programs: &[ruby("$file = File.open('left.txt', 'w')\n$file.write('not closed')")],
        expected: Expected { files: &[("left.txt", 10, "text/plain")], ..SILENT },
    },
    Case {
        name: "JSON and YAML",
        given: NOTHING,
        programs: &[ruby(
            r#"require 'json'
require 'yaml'
data = JSON.parse('{"a": [1, 2.5, null, "ü"], "b": {"c": true}}')
puts data['a'].inspect, JSON.generate(data), data.to_json == JSON.dump(data)
puts JSON.pretty_generate({ name: 'tea', tags: [1] }), { 'x' => [1, 'two'], 'z' => nil }.to_yaml
p YAML.load("- 1\n- two\n- [3.5, true]\n"), JSON.parse('{"k": 1}', symbolize_names: true).keys
begin
  JSON.parse('{')
rescue JSON::ParserError => error
  puts error.class
end"#,
        )],
        expected: printed(
            "[1, 2.5, nil, \"ü\"]\n{\"a\":[1,2.5,null,\"ü\"],\"b\":{\"c\":true}}\ntrue\n{\n  \"name\": \"tea\",\n  \"tags\": [\n    1\n  ]\n}\n---\nx:\n- 1\n- two\nz:\n[1, \"two\", [3.5, true]]\n[:k]\nJSON::ParserError\n",
        ),
    },
    Case {
        name: "dates and times",
        given: NOTHING,
        programs: &[ruby(
            r"require 'date'
require 'time'
day = Date.new(2024, 2, 28)
puts day + 2, (Date.new(2024, 12, 25) - day).to_i, day.strftime('%a %d %b %Y'), Date.valid_date?(2023, 2, 29)
time = Time.at(0).utc
puts time.iso8601, Time.parse('2024-05-06 07:08:09 UTC').to_i, Time.utc(2000, 1, 31).yday, DateTime.parse('2001-02-03T04:05:06+07:00')",
        )],
        expected: printed(
            "2024-03-01\n301\nWed 28 Feb 2024\nfalse\n1970-01-01T00:00:00Z\n1714979289\n31\n2001-02-03T04:05:06+07:00\n",
        ),
    },
    Case {
        name: "text, patterns and encodings",
        given: NOTHING,
        programs: &[ruby(
            r#"text = "Größe: 12 cm, Höhe: 7 cm"
p text.scan(/(\p{L}+): (\d+)/), text[/(?<n>\d+) cm/, :n], text =~ /H/, $~[0]
puts text.gsub(/\d+/) { |n| (n.to_i * 2).to_s }, text.tr('öß', 'os'), text.unpack('U3').inspect
p text.bytesize, text.encode('ISO-8859-1').bytesize, "a\xff".valid_encoding?, "a\xff".scrub('?'), 'ÀÉ'.downcase
puts '%05.1f|%-6s|%+d|%x|%e' % [3.14159, 'ab', 5, 255, 12345.678], 'abc'.succ, 'az'.next, "tab\tq".inspect
puts <<~TEXT
  heredoc #{1 + 1}
    indented
TEXT"#,
        )],
        expected: printed(
            "[[\"Größe\", \"12\"], [\"Höhe\", \"7\"]]\n\"12\"\n14\n\"H\"\nGröße: 24 cm, Höhe: 14 cm\nGrose: 12 cm, Hohe: 7 cm\n[71, 114, 246]\n27\n24\nfalse\n\"a?\"\n\"àé\"\n003.1|ab    |+5|ff|1.234568e+04\nabd\nba\n\"tab\\tq\"\nheredoc 2\n  indented\n",
        ),
    },
    Case {
        name: "numbers",
        given: NOTHING,
        programs: &[ruby(
            r"p 2**100, 7 / 2, -7 / 2, -7 % 3, 7.fdiv(2), 10.divmod(3), 0.1 + 0.2, 1e20.to_i, 255.to_s(2), '0x1f'.hex
p 3.7.round, 3.14159.round(2), 1234567.89.floor(-2), 10.gcd(4), Rational(3, 4) + 1, Complex(1, 2) * Complex(0, 1), 10.pow(50, 97)
p Integer('42'), Float('1.5'), Integer.sqrt(99), (1..5).reduce(:*), 1_000.digits, Float::NAN.nan?, 5.clamp(1, 3), 12.0 / 0",
        )],
        expected: printed(
            "1267650600228229401496703205376\n3\n-4\n2\n3.5\n[3, 1]\n0.30000000000000004\n100000000000000000000\n\"11111111\"\n31\n4\n3.14\n1234500\n2\n(7/4)\n(-2+1i)\n94\n42\n1.5\n9\n120\n[0, 0, 0, 1]\ntrue\n3\nInfinity\n",
        ),
    },
    Case {
        name: "collections",
        given: NOTHING,
        programs: &[ruby(
            r"require 'set'
words = %w[pear fig apple fig kiwi]
p words.tally.sort, words.group_by(&:size).map { |k, v| [k, v] }, words.uniq.sort_by { |w| [-w.size, w] }, words.each_slice(2).to_a
p words.each_with_object(Hash.new(0)) { |w, h| h[w[0]] += 1 }.to_a, words.partition { |w| w.size > 3 }, words.chunk_while { |a, b| a < b }.to_a
p (1..Float::INFINITY).lazy.select(&:even?).map { |n| n * n }.first(3), [3, 1, 2].sort.reverse, [1, [2, [3]]].flatten, [1, 2, 3].each_cons(2).to_a
p Set.new([1, 2]).subset?(Set.new([1, 2, 3])), [1, 2, 3].zip('a'..'c'), (1..10).step(4).to_a, [4, 5].each_with_index.map { |x, i| x * i }
fib = Enumerator.new { |y| a, b = 0, 1; loop { y << a; a, b = b, a + b } }
p fib.take(10), fib.next, fib.next, fib.peek, [1, 2, 3, 4].sum { |x| x / 2.0 }",
        )],
        expected: printed(
            "[[\"apple\", 1], [\"fig\", 2], [\"kiwi\", 1], [\"pear\", 1]]\n[[4, [\"pear\", \"kiwi\"]], [3, [\"fig\", \"fig\"]], [5, [\"apple\"]]]\n[\"apple\", \"kiwi\", \"pear\", \"fig\"]\n[[\"pear\", \"fig\"], [\"apple\", \"fig\"], [\"kiwi\"]]\n[[\"p\", 1], [\"f\", 2], [\"a\", 1], [\"k\", 1]]\n[[\"pear\", \"apple\", \"kiwi\"], [\"fig\", \"fig\"]]\n[[\"pear\"], [\"fig\"], [\"apple\", \"fig\", \"kiwi\"]]\n[4, 16, 36]\n[3, 2, 1]\n[1, 2, 3]\n[[1, 2], [2, 3]]\ntrue\n[[1, \"a\"], [2, \"b\"], [3, \"c\"]]\n[1, 5, 9]\n[0, 5]\n[0, 1, 1, 2, 3, 5, 8, 13, 21, 34]\n0\n1\n1\n5.0\n",
        ),
    },
    Case {
        name: "classes, modules and pattern matching",
        given: NOTHING,
        programs: &[ruby(
            r##"module Loud
  def speak = super.upcase + '!'
end
Animal = Struct.new(:name, :legs, keyword_init: true) do
  include Comparable
  def <=>(other) = legs <=> other.legs
  def speak = "#{name} speaks"
end
class Animal
  prepend Loud
  def method_missing(name, *) = name.to_s.end_with?('?') ? false : super
  def respond_to_missing?(name, _ = false) = name.to_s.end_with?('?')
end
ant, hen = Animal.new(name: 'ant', legs: 6), Animal.new(name: 'hen', legs: 2)
puts ant.speak, [ant, hen].min.name, ant.hungry?, Animal.ancestors.first, ant.respond_to?(:big?)
case { kind: 'point', at: [1, 2, 3] }
in { kind: String => kind, at: [first, *rest] } if first == 1
  puts kind, rest.inspect
end
add = ->(a, b = 10, *c, d:, e: 5) { a + b + c.sum + d + e }
p add.(1, d: 2), add.curry.arity, add.parameters.length, %i[a b].map(&:to_proc).length
def kinds(&block) = block ? block.call(1) : :none
p kinds, kinds { |n| n + 1 }, (catch(:done) { 10.times { |i| throw :done, i if i == 3 } }), defined?(nothing), ant.frozen?"##,
        )],
        expected: printed(
            "ANT SPEAKS!\nhen\nfalse\nLoud\ntrue\npoint\n[2, 3]\n18\n-1\n5\n2\n:none\n2\n3\nnil\nfalse\n",
        ),
    },
    Case {
        name: "digests, Base64, ERB and more of the library",
        given: NOTHING,
        programs: &[ruby(
            r#"require 'digest'
require 'erb'
require 'stringio'
require 'securerandom'
require 'forwardable'
require 'delegate'
require 'shellwords'
require 'zlib'
require 'pp'
require 'time'
puts Digest::MD5.hexdigest('a'), Digest::SHA256.hexdigest('a')[0, 16], ['hello'].pack('m0'), 'aGk='.unpack1('m')
puts ERB.new("<% 2.times do |i| %><%= i %>;<% end %>").result, Zlib::Inflate.inflate(Zlib::Deflate.deflate('x' * 99)).size, Zlib.crc32('abc')
io = StringIO.new("a\nb\n")
p io.gets, io.read, SecureRandom.hex(4).size, SecureRandom.uuid.count('-'), 'it is'.shellsplit, Shellwords.escape("it's")
class Stack
  extend Forwardable
  def_delegators :@items, :push, :size
  def initialize = @items = []
end
stack = Stack.new
stack.push(1, 2)
p stack.size, SimpleDelegator.new([3, 4]).sum, Marshal.load(Marshal.dump([1, :a, 'b', 2.5, { 'k' => nil }])).length
pp (1..40).to_a
$stdout.printf("%s-%03d\n", 'x', 7)
$stdout << 'chained ' << 1 << "\n""#,
        )],
        expected: printed(
            "0cc175b9c0f1b6a831c399e269772661\nca978112ca1bbdca\naGVsbG8=\nhi\n0;1;\n99\n891568578\n\"a\\n\"\n\"b\\n\"\n8\n4\n[\"it\", \"is\"]\n\"it\\\\'s\"\n2\n7\n5\n[1,\n 2,\n 3,\n 4,\n 5,\n 6,\n 7,\n 8,\n 9,\n 10,\n 11,\n 12,\n 13,\n 14,\n 15,\n 16,\n 17,\n 18,\n 19,\n 20,\n 21,\n 22,\n 23,\n 24,\n 25,\n 26,\n 27,\n 28,\n 29,\n 30,\n 31,\n 32,\n 33,\n 34,\n 35,\n 36,\n 37,\n 38,\n 39,\n 40]\nx-007\nchained 1\n",
        ),
    },
    Case {
        name: "what is there without `require`",
        given: NOTHING,
        programs: &[ruby(
            "pp [1, nil]\nprint [2].pretty_inspect\np Monitor.new.synchronize { 3 }, Gem::Version.new('1.10') > Gem::Version.new('1.9')\n\
             p Gem::Requirement.new('~> 1.2').satisfied_by?(Gem::Version.new('2.0'))",
        )],
        expected: printed("[1, nil]\n[2]\n3\ntrue\nfalse\n"),
    },
    Case {
        name: "names that libraries have too",
        given: NOTHING,
        programs: &[ruby(
            "class Matrix < Array\n  def trace = each_with_index.sum { |row, i| row[i] }\nend\nclass Logger\n  def initialize(name) = @name = name\n  \
             def log(text) = puts(\"#{@name}: #{text}\")\nend\nCSV = 'none'\nPrime = Struct.new(:n)\nLogger.new('x').log(Matrix[[1, 2], [3, 4]].trace)\n\
             p CSV, Prime.new(7).n, defined?(JSON), defined?(OpenStruct)\nrequire 'json'\nputs [1].to_json, JSON.name",
        )],
        expected: printed("x: 5\n\"none\"\n7\nnil\nnil\n[1]\nJSON\n"),
    },
    Case {
        name: "exceptions that are rescued",
        given: NOTHING,
        programs: &[ruby(
            r#"class Broken < StandardError
  def initialize(message = 'it is broken') = super
end
def risky(n)
  raise Broken if n == 1
  raise ArgumentError, 'two' if n == 2
  Integer('x')
rescue ArgumentError => error
  "rescued #{error.message}"
else
  'fine'
ensure
  puts "ensured #{n}"
end
begin
  risky(1)
rescue => error
  puts error.class, error.message, error.backtrace.first[/\A[^:]+:\d+/], error.backtrace_locations.first.lineno
end
puts risky(2), risky(3)
attempts = 0
begin
  attempts += 1
  raise 'again' if attempts < 3
  puts attempts
rescue RuntimeError
  retry
end
begin
  begin
    1 / 0
  rescue ZeroDivisionError
    raise 'wrapped'
  end
rescue => error
  puts error.cause.message
end
puts (Float('x') rescue 'not a number')
begin; exit 3; rescue SystemExit => error; puts error.status; end
warn 'to stderr'
def deep(n) = n.zero? ? raise('bottom') : [n].map { |x| deep(x - 1) }
begin; deep(150); rescue => error; puts error.message, error.backtrace.length > 300; end
begin; def forever = forever; forever; rescue SystemStackError => error; puts error.message; end"#,
        )],
        expected: Expected {
            stderr: Text::Is("to stderr\n"),
            ..printed(
                "ensured 1\nBroken\nit is broken\n/box/main.rb:5\n5\nensured 2\nensured 3\nrescued two\nrescued invalid value for Integer(): \"x\"\n3\ndivided by 0\nnot a number\n3\nbottom\ntrue\nstack level too deep\n",
            )
        },
    },
    Case {
        name: "an exception that is not rescued",
        given: NOTHING,
        programs: &[ruby(
            "def half(n)\n  raise ArgumentError, \"odd: #{n}\" if n.odd?\n  n / 2\nend\n\nputs half(4)\nputs half(3)\n",
        )],
        expected: Expected {
            stdout: Text::Is("2\n"),
            ..fails(": odd: 3 (ArgumentError)\n", "ArgumentError", "odd: 3", 2)
        },
    },
    Case {
        name: "an exception in another file",
        given: Given { files: &[("basket.rb", "def total\n  1 / 0\nend\n")], ..NOTHING },
        programs: &[ruby("require_relative 'basket'\n\ntotal\n")],
        expected: fails("/box/basket.rb:2:in ", "ZeroDivisionError", "divided by 0", 3),
    },
    Case {
        name: "the last handler runs first",
        given: NOTHING,
        programs: &[ruby(
            "at_exit { puts 'one' }\nat_exit { puts 'two'; at_exit { puts 'three' } }\nEND { puts 'end' }\nat_exit { puts $!.class }\n\
             puts 'body'\nabort 'gone'",
        )],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Is("gone\n"),
            ..printed("body\nSystemExit\nend\ntwo\nthree\none\n")
        },
    },
    Case {
        name: "a handler decides on the exit code",
        given: NOTHING,
        programs: &[ruby("at_exit { exit 9 }\nputs 'body'\nexit 2")],
        expected: Expected { ending: Ending::Exit(9), ..printed("body\n") },
    },
    Case {
        name: "exit codes wrap",
        given: NOTHING,
        programs: &[ruby("puts 'x'\nexit 300")],
        expected: Expected { ending: Ending::Exit(44), ..printed("x\n") },
    },
    Case {
        name: "leaving at once",
        given: NOTHING,
        programs: &[ruby("at_exit { puts 'never' }\nprint 'here'\nexit! 4")],
        expected: Expected { ending: Ending::Exit(4), ..printed("here") },
    },
    Case {
        name: "output in order, and not only text",
        given: NOTHING,
        programs: &[ruby(
            "$stdout.binmode\nputs [1, [2, [nil]]], nil\nprint 'a', 'b'\np\np 1, 2\nputs\nputs [], '', \"x\\n\"\nSTDOUT.write('w', 1, \"\\n\")\n$, = nil\nputs [nil, true].to_s\ndisplay\nputs",
        )],
        expected: printed("1\n2\n\n\nab1\n2\n\n\nx\nw1\n[nil, true]\nmain\n"),
    },
];
