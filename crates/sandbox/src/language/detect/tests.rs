use std::collections::HashMap;

use super::*;

fn detected(code: &str) -> Result<&'static str, DetectError> {
    detect(code, None).map(|detected| detected.language.id)
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let wrong: Vec<_> = cases
        .iter()
        .map(|(expected, code)| (*code, Ok(*expected), detected(code)))
        .filter(|(_, expected, found)| expected != found)
        .collect();
    assert!(wrong.is_empty(), "program, expected, found: {wrong:#?}");
}

#[track_caller]
fn check_unclear(code: &str, candidates: &[&'static str]) {
    assert_eq!(detected(code), Err(DetectError::Unclear { candidates: candidates.to_vec() }), "{code}");
}

#[test]
fn every_sample_is_found_or_asked_about() {
    for language in Language::all() {
        match detected(language.sample.code) {
            Ok(id) => assert_eq!(id, language.id, "{}", language.sample.code),
            Err(DetectError::Unclear { candidates }) => {
                assert!(candidates.contains(&language.id), "{} is not among {candidates:?}", language.id);
            }
            Err(error @ DetectError::UnknownFence { .. }) => panic!("{}: {error}", language.id),
        }
    }
}

#[test]
fn names_endings_and_interpreters_belong_to_one_language() {
    let mut owners = HashMap::new();
    for language in Language::all() {
        let names = language.aliases.iter().chain([&language.id]).map(|name| ("name", *name));
        let endings = language.extensions.iter().map(|ending| ("ending", *ending));
        let interpreters = language.interpreters.iter().map(|program| ("interpreter", *program));
        for key in names.chain(endings).chain(interpreters) {
            assert_eq!(key.1, key.1.to_ascii_lowercase(), "{} is looked up in lower case", key.1);
            assert_eq!(owners.insert(key, language.id), None, "{key:?}");
        }
    }
}

#[test]
fn every_sign_speaks_for_a_language_of_the_table() {
    for signals in SIGNALS {
        assert!(
            Language::find(signals.language).is_some_and(|language| language.id == signals.language),
            "{signals:?}"
        );
        assert!(signals.extends.is_none_or(|base| SIGNALS.iter().any(|other| other.language == base)), "{signals:?}");
    }
    // POSIX shell is told apart from Bash only by its `#!` line.
    let silent = |language: &&Language| SIGNALS.iter().all(|signals| signals.language != language.id);
    assert_eq!(Language::all().iter().filter(silent).map(|language| language.id).collect::<Vec<_>>(), ["sh"]);
}

#[test]
fn a_fence_names_the_language_and_is_not_part_of_the_program() {
    let find = |text| detect(text, None).map(|detected| (detected.language.id, detected.code));
    assert_eq!(find("```python\nprint(1)\n```"), Ok(("python", "print(1)\n")));
    assert_eq!(find("\n  ```js\nlet a\n```  \n"), Ok(("javascript", "let a\n")));
    assert_eq!(find("~~~~ c++ title=\"a.cpp\"\nint x;\n```\n~~~~"), Ok(("cpp", "int x;\n```\n")));
    assert_eq!(find("```{.ruby}\nputs 1\n```"), Ok(("ruby", "puts 1\n")));
    assert_eq!(find("```rust,ignore\nfn main() {}\n```"), Ok(("rust", "fn main() {}\n")));
    assert_eq!(find("```go:main.go\npackage main\n```"), Ok(("go", "package main\n")));
    assert_eq!(find("```hs\r\nmain = print 1\r\n```\r\n"), Ok(("haskell", "main = print 1\r\n")));
    assert_eq!(find("```python\n```"), Ok(("python", "")));
    assert_eq!(find("```\nconsole.log(1)\n```"), Ok(("javascript", "console.log(1)\n")));
    assert_eq!(find("```klingon\nqapla'\n```"), Err(DetectError::UnknownFence { tag: "klingon".to_owned() }),);
    assert_eq!(
        DetectError::UnknownFence { tag: "klingon".to_owned() }.to_string(),
        "the fence around `code` is tagged `klingon`, which is no language that belljar knows",
    );
}

#[test]
fn only_a_text_that_is_one_block_is_stripped() {
    assert_eq!(strip_fence("```\nx\n```"), "x\n");
    assert_eq!(strip_fence("````\n```\nx\n```\n````"), "```\nx\n```\n");
    for text in [
        "x",
        "```python\nx",
        "Here it is:\n```\nx\n```",
        "```\nx\n```\nand\n```\ny\n```",
        "``\nx\n``",
        "```x```",
        "```",
        "echo `date`\n`ls`",
        "",
    ] {
        assert_eq!(strip_fence(text), text);
    }
}

#[test]
fn a_shebang_comes_before_the_code() {
    check(&[
        ("python", "#!/usr/bin/env python3\nputs 1"),
        ("python", "#!/usr/bin/python3.11 -u\n1"),
        ("python", "#!/usr/bin/env -S uv run --script\n1"),
        ("sh", "#! /bin/sh\necho 1"),
        ("bash", "#!/usr/bin/env -i PATH=/bin bash\necho 1"),
        ("raku", "#!/usr/bin/env perl6\n1"),
        ("perl", "#!/usr/bin/perl5.36\n1"),
        ("javascript", "#!/usr/bin/env node\nprint(1)"),
        ("tcl", "#!/usr/bin/tclsh8.6\n1"),
        ("scheme", "#!/usr/bin/guile-3.0 -s\n!#\n1"),
        ("r", "#!/usr/bin/env Rscript\n1"),
        // Something that only looks like a shebang, and a shebang that helps nobody.
        ("rust", "#![allow(dead_code)]\nfn main() { println!(\"{}\", 1); }"),
        ("php", "#!/opt/mystery\n<?php echo 1;"),
    ]);
}

#[test]
fn a_file_name_comes_before_the_code() {
    let by_name = |name| detect("print(1)", Some(name)).map(|detected| detected.language.id);
    for (name, id) in [
        ("a.py", "python"),
        ("dir.js/a.LUA", "lua"),
        ("C:\\x\\a.swift", "swift"),
        ("a.test.ts", "typescript"),
        ("plot.R", "r"),
        ("a.h", "c"),
        ("a.sh", "bash"),
        ("a.pl", "perl"),
        ("a.m", "octave"),
        ("a.cc", "cpp"),
    ] {
        assert_eq!(by_name(name), Ok(id), "{name}");
    }
    for name in ["a.txt", "py", "", "a.", "a.py/b"] {
        assert!(matches!(by_name(name), Err(DetectError::Unclear { .. })), "{name}");
    }
}

#[test]
fn scripting_languages_are_told_by_their_code() {
    check(&[
        ("python", "import math\nprint(math.sqrt(2))"),
        ("python", "import numpy as np\nprint(np.arange(3).sum())"),
        ("python", "from collections import Counter\nCounter('hello')"),
        ("python", "def f(x):\n    return x * 2\n\nf(21)"),
        ("python", "x = 5\nif x > 3:\n    print('big')\nelse:\n    print('small')"),
        ("python", "for i in range(3):\n    print(i)"),
        ("python", "print(sum(range(10)))"),
        ("python", "[x**2 for x in range(10) if x % 2]"),
        ("python", "with open('a.txt') as f:\n    data = f.read()\nprint(data)"),
        (
            "python",
            "query = \"\"\"\nSELECT * FROM users;\nCREATE TABLE t (a);\n\"\"\"\nimport sqlite3\nfor row in db.execute(query):\n    print(row)",
        ),
        ("python", "class Node:\n    def __init__(self, head=None):\n        self.head = head\n"),
        ("python", "import asyncio\n\nasync def main():\n    await asyncio.sleep(1)\n\nasyncio.run(main())"),
        ("javascript", "console.log(1)"),
        ("javascript", "const xs = [1, 2];\nconsole.log(xs.map(x => x * 2));"),
        ("javascript", "const fs = require('fs');\nfs.readFileSync('a');"),
        ("javascript", "import fs from 'node:fs';\nconst a = await fs.promises.readFile('a');"),
        ("javascript", "function fib(n) {\n  return n < 2 ? n : fib(n - 1) + fib(n - 2);\n}\nconsole.log(fib(20));"),
        ("typescript", "const x: number = 1;\nconsole.log(x);"),
        (
            "typescript",
            "interface User { id: number; name: string }\nconst u: User = { id: 1, name: 'a' };\nconsole.log(u.name);",
        ),
        (
            "typescript",
            "type Shape = { kind: 'dot' } | { kind: 'line' };\nfunction f(s: Shape): string { return s.kind; }\nconsole.log(f({ kind: 'dot' }));",
        ),
        ("bash", "echo hello"),
        ("bash", "ls -la | grep txt"),
        ("bash", "for f in *.txt; do\n  wc -l \"$f\"\ndone"),
        ("bash", "set -euo pipefail\nname=$(whoami)\necho \"hi $name\""),
        ("ruby", "[1, 2, 3].each do |n|\n  puts n * 2\nend"),
        ("ruby", "class Dog < Animal\n  def speak\n    puts \"Woof, #{@name}\"\n  end\nend"),
        ("ruby", "def fact(n)\n  n <= 1 ? 1 : n * fact(n - 1)\nend\nputs fact(10)"),
        ("php", "<?php echo strtoupper('hi');"),
        ("php", "<html><?= $title ?></html>"),
        ("perl", "my @a = (1, 2, 3);\nprint join(', ', map { $_ * 2 } @a), \"\\n\";"),
        ("perl", "use strict;\nwhile (my $line = <STDIN>) {\n  print $line if $line =~ /x/;\n}"),
        ("raku", "my @primes = (1..50).grep(*.is-prime);\nsay @primes;\nsay [+] @primes;"),
        ("raku", "sub MAIN(Int $n) {\n  say $n %% 2 ?? 'even' !! 'odd';\n}"),
        ("lua", "local t = {1, 2, 3}\nfor i, v in ipairs(t) do\n  print(i, v)\nend"),
        ("lua", "local function fact(n)\n  if n <= 1 then return 1 end\n  return n * fact(n - 1)\nend\nprint(fact(5))"),
        ("tcl", "proc square {x} {\n  return [expr {$x * $x}]\n}\nputs [square 5]"),
        ("awk", "{ total += $2 }\nEND { print total / NR }"),
        ("powershell", "Get-ChildItem | Where-Object { $_.Length -gt 1MB }"),
        ("powershell", "$name = 'World'\nWrite-Host \"Hello $name\""),
        ("coffeescript", "square = (x) -> x * x\nconsole.log square 5"),
    ]);
}

#[test]
fn compiled_and_managed_languages_are_told_by_their_code() {
    check(&[
        ("c", "#include <stdio.h>\nint main() { printf(\"hi\\n\"); return 0; }"),
        (
            "c",
            "#include <stdlib.h>\n#include <string.h>\n\nstruct node { int value; struct node *next; };\n\nint main(void) { return 0; }",
        ),
        ("cpp", "#include <iostream>\nusing namespace std;\nint main() { cout << \"hi\" << endl; }"),
        (
            "cpp",
            "#include <cstdio>\n#include <vector>\ntemplate <typename T> T add(T a, T b) { return a + b; }\nint main() { printf(\"%d\", add(1, 2)); }",
        ),
        ("rust", "fn main() {\n    println!(\"hi\");\n}"),
        (
            "rust",
            "use std::collections::HashMap;\n\nfn main() {\n    let mut m: HashMap<&str, i32> = HashMap::new();\n    m.insert(\"a\", 1);\n}",
        ),
        ("go", "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"hi\")\n}"),
        (
            "java",
            "public class Main {\n  public static void main(String[] args) {\n    System.out.println(\"hi\");\n  }\n}",
        ),
        (
            "java",
            "import java.util.*;\n\nclass Main {\n  static int f(int n) { return n; }\n  public static void main(String[] a) { System.out.println(f(1)); }\n}",
        ),
        ("csharp", "using System;\nclass P { static void Main() { Console.WriteLine(\"hi\"); } }"),
        ("csharp", "Console.WriteLine(string.Join(\", \", Enumerable.Range(1, 3)));"),
        ("kotlin", "fun main() {\n    val xs = listOf(1, 2, 3)\n    println(xs.sum())\n}"),
        ("kotlin", "data class P(val x: Int, val y: Int)\n\nfun main() = println(P(1, 2))"),
        ("scala", "object Hello {\n  def main(args: Array[String]): Unit = {\n    println(\"hi\")\n  }\n}"),
        ("scala", "@main def run() =\n  val xs = List(1, 2, 3)\n  println(xs.map(_ * 2).mkString(\",\"))"),
        ("groovy", "def names = ['a', 'b']\nnames.each { println it }"),
        ("swift", "import Foundation\nlet x = 5\nprint(\"x is \\(x)\")"),
        ("swift", "func greet(_ name: String) -> String {\n    return \"Hello, \\(name)\"\n}\nprint(greet(\"you\"))"),
        ("dart", "import 'dart:math';\nvoid main() {\n  print(max(1, 2));\n}"),
        ("nim", "proc add(a, b: int): int =\n  a + b\n\necho add(1, 2)"),
        ("crystal", "def add(a : Int32, b : Int32) : Int32\n  a + b\nend\nputs add(1, 2)"),
        ("zig", "const std = @import(\"std\");\npub fn main() void {\n    std.debug.print(\"hi\\n\", .{});\n}"),
        ("d", "import std.stdio;\nvoid main() { writeln(\"hi\"); }"),
        ("v", "fn main() {\n\tmut x := 5\n\tx++\n\tprintln('${x}')\n}"),
        ("fortran", "program hello\n  implicit none\n  print *, 'hi'\nend program hello"),
        ("fortran", "      PROGRAM HELLO\n      INTEGER, PARAMETER :: N = 3\n      WRITE(*,*) N\n      END PROGRAM"),
        ("pascal", "program Hello;\nbegin\n  writeln('hi');\nend."),
        ("fsharp", "let square x = x * x\n[1..5] |> List.map square |> printfn \"%A\""),
    ]);
}

#[test]
fn functional_and_data_languages_are_told_by_their_code() {
    check(&[
        ("haskell", "main :: IO ()\nmain = putStrLn \"hi\""),
        ("haskell", "import Data.List (sort)\n\nmain = print (sort [3, 1, 2])"),
        ("ocaml", "let rec fact n = if n <= 1 then 1 else n * fact (n - 1)\nlet () = print_int (fact 5)"),
        ("elixir", "defmodule M do\n  def f(x), do: x * 2\nend\nIO.puts(M.f(2))"),
        ("elixir", "[1, 2, 3] |> Enum.map(&(&1 * 2)) |> IO.inspect()"),
        ("erlang", "-module(m).\n-export([main/1]).\nmain(_) -> io:format(\"hi~n\")."),
        ("racket", "#lang racket\n(displayln \"hi\")"),
        ("scheme", "(define (square x) (* x x))\n(display (square 5))\n(newline)"),
        ("lisp", "(defun square (x) (* x x))\n(format t \"~a~%\" (square 5))"),
        ("clojure", "(defn square [x] (* x x))\n(println (square 5))"),
        ("sql", "SELECT 1;"),
        ("sql", "create table t (a int);\ninsert into t values (1);\nselect * from t;"),
        ("sql", "WITH n AS (SELECT 1 AS x)\nSELECT x FROM n ORDER BY x;"),
        ("r", "x <- c(1, 2, 3)\nmean(x)"),
        ("r", "library(ggplot2)\nggplot(mtcars, aes(mpg, wt)) + geom_point()"),
        ("julia", "using LinearAlgebra\nA = [1 2; 3 4]\nprintln(det(A))"),
        ("julia", "function fib(n::Int)\n    n < 2 ? n : fib(n - 1) + fib(n - 2)\nend\nprintln(fib(10))"),
        ("octave", "x = linspace(0, 1, 5);\ny = x .^ 2;\ndisp(y)"),
        ("octave", "function r = square(x)\n  r = x * x;\nendfunction\nprintf(\"%d\\n\", square(5));"),
        ("scss", ".a {\n  .b { color: red; }\n  &:hover { color: blue; }\n  margin: 0;\n}"),
        ("sass", "$w: 10px\n.a\n  width: $w"),
    ]);
}

#[test]
fn what_could_be_several_languages_is_a_question() {
    check_unclear("", &[]);
    check_unclear("1 + 1", &[]);
    check_unclear("hello world", &[]);
    check_unclear("print(\"hi\")", &["python", "lua", "swift", "dart", "perl"]);
    check_unclear("puts \"hi\"", &["ruby", "tcl"]);
    check_unclear("println(\"hi\")", &["julia", "kotlin", "scala", "v"]);
    check_unclear("x = 5", &[]);
    assert_eq!(DetectError::Unclear { candidates: vec!["python"] }.to_string(), "the language of `code` is not clear",);
}

proptest::proptest! {
    #[test]
    fn any_text_is_answered(text in "(```|~~~|#!|[`\"'\\\\\n -~]|\\PC)*", name in proptest::option::of("\\PC*")) {
        match detect(&text, name.as_deref()) {
            Ok(found) => proptest::prop_assert!(text.contains(found.code)),
            Err(DetectError::Unclear { candidates }) => proptest::prop_assert!(candidates.len() <= MAX_CANDIDATES),
            Err(DetectError::UnknownFence { tag }) => proptest::prop_assert!(tag.chars().count() <= MAX_SHOWN_TAG),
        }
        proptest::prop_assert!(text.contains(strip_fence(&text)));
    }
}
