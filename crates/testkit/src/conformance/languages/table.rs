//! The rows, in the order of the languages' own table.

use super::{Broken, Conversing, Row};
use crate::conformance::case::Error;

/// A language with a program of each kind.
macro_rules! row {
    ($language:literal, $file:literal, $code:expr => $exit_code:literal, $kind:literal, $message:literal, $line:expr) => {
        Row {
            language: $language,
            conversation: Conversing::Program(include_str!(concat!("../programs/", $file))),
            broken: Broken::Program {
                code: $code,
                exit_code: $exit_code,
                error: Error { kind: $kind, message: $message, line: $line },
            },
        }
    };
}

/// A language whose programs only print.
const fn printing(language: &'static str, code: &'static str, exit_code: u8, error: Error) -> Row {
    Row { language, conversation: Conversing::Impossible, broken: Broken::Program { code, exit_code, error } }
}

/// Its sample is tried where it is found; the rest is for whoever has it.
const fn untried(language: &'static str) -> Row {
    Row { language, conversation: Conversing::Untried, broken: Broken::Untried }
}

const UNDEFINED_COLOUR: Error =
    Error { kind: "CompileError", message: "Undefined variable: \"$missing\".", line: Some(4) };

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row!("python", "python.py",
        "def total(basket):\n    if not basket:\n        raise ValueError('no basket')\n\n\ntotal([])\n"
        => 1, "ValueError", "no basket", Some(3)),
    row!("javascript", "javascript.js",
        "function total() {\n  throw new RangeError('no basket');\n}\n\ntotal();\n"
        => 1, "RangeError", "no basket", Some(2)),
    row!("typescript", "typescript.ts",
        "function total(basket: number[]): number {\n  throw new RangeError('no basket');\n}\n\ntotal([]);\n"
        => 1, "RangeError", "no basket", Some(2)),
    row!("bash", "bash.sh",
        "set -u\n\necho \"$basket\"\n"
        => 1, "Error", "basket: unbound variable", Some(3)),
    row!("sh", "bash.sh",
        "set -u\n\necho \"$basket\"\n"
        => 2, "Error", "basket: parameter not set", Some(3)),
    row!("c", "c.c",
        "#include <stdio.h>\n\nint main(void) {\n    return basket;\n}\n"
        => 1, "CompileError", "‘basket’ undeclared (first use in this function)", Some(4)),
    row!("cpp", "cpp.cpp",
        "#include <vector>\n\nint main() {\n    return basket;\n}\n"
        => 1, "CompileError", "‘basket’ was not declared in this scope", Some(4)),
    row!("rust", "rust.rs",
        "fn main() {\n    let basket: Vec<i32> = Vec::new();\n    if basket.is_empty() {\n        panic!(\"no basket\");\n    }\n}\n"
        => 101, "panic", "no basket", Some(4)),
    row!("go", "go.go",
        "package main\n\nfunc main() {\n\tpanic(\"no basket\")\n}\n"
        => 2, "panic", "no basket", Some(4)),
    row!("java", "java.java",
        "public class Broken {\n    public static void main(String[] args) {\n\
         \x20       throw new IllegalStateException(\"no basket\");\n    }\n}\n"
        => 1, "java.lang.IllegalStateException", "no basket", Some(3)),
    row!("csharp", "csharp.cs",
        "using System;\n\nclass Broken {\n    static void Main() {\n\
         \x20       throw new InvalidOperationException(\"no basket\");\n    }\n}\n"
        => 1, "System.InvalidOperationException", "no basket", Some(5)),
    row!("kotlin", "kotlin.kt",
        "fun main() {\n    val basket = listOf<Int>()\n    if (basket.isEmpty()) throw IllegalStateException(\"no basket\")\n}\n"
        => 1, "java.lang.IllegalStateException", "no basket", Some(3)),
    row!("ruby", "ruby.rb",
        "def total\n  raise 'no basket'\nend\n\ntotal\n"
        => 1, "RuntimeError", "no basket", Some(2)),
    row!("php", "php.php",
        "<?php\n\nfunction total() {\n    throw new RuntimeException('no basket');\n}\n\ntotal();\n"
        => 255, "RuntimeException", "no basket", Some(4)),
    row!("perl", "perl.pl",
        "use strict;\nmy $basket;\n\ndie \"no basket\";\n"
        => 255, "Error", "no basket", Some(4)),
    row!("lua", "lua.lua",
        "local function total()\n  error('no basket')\nend\n\ntotal()\n"
        => 1, "Error", "no basket", Some(2)),
    printing("sql", "SELECT 1;\nSELECT total FROM basket;\n", 1,
        Error { kind: "SQLError", message: "no such table: basket", line: Some(2) }),
    // `Rscript` keeps no line numbers.
    row!("r", "r.R",
        "total <- function() {\n  stop(\"no basket\")\n}\ntotal()\n"
        => 1, "Error", "no basket", None),
    untried("julia"),
    untried("swift"),
    row!("scala", "scala.scala",
        "object Broken {\n  def main(args: Array[String]): Unit = {\n\
         \x20   throw new IllegalStateException(\"no basket\")\n  }\n}\n"
        => 1, "java.lang.IllegalStateException", "no basket", Some(3)),
    row!("groovy", "groovy.groovy",
        "def total() {\n    throw new IllegalStateException('no basket')\n}\n\ntotal()\n"
        => 1, "java.lang.IllegalStateException", "no basket", Some(2)),
    row!("clojure", "clojure.clj",
        "(def total 1)\n\n(println basket)\n"
        => 1, "CompileError", "Unable to resolve symbol: basket in this context", Some(3)),
    untried("fsharp"),
    untried("dart"),
    row!("haskell", "haskell.hs",
        "total :: [Int] -> Int\ntotal [] = error \"no basket\"\ntotal basket = sum basket\n\n\
         main :: IO ()\nmain = print (total [])\n"
        => 1, "ErrorCall", "no basket", Some(2)),
    row!("ocaml", "ocaml.ml",
        "let total = 1\n\nlet () = print_int basket\n"
        => 2, "CompileError", "Unbound value basket", Some(3)),
    row!("elixir", "elixir.exs",
        "defmodule Basket do\n  def total, do: raise(\"no basket\")\nend\n\nBasket.total()\n"
        => 1, "RuntimeError", "no basket", Some(2)),
    row!("erlang", "erlang.erl",
        "-module(broken).\n-export([main/1]).\n\nmain(_) ->\n    error(no_basket).\n"
        => 127, "error", "no_basket", Some(5)),
    row!("racket", "racket.rkt",
        "#lang racket/base\n\n(display basket)\n"
        => 1, "SyntaxError", "basket: unbound identifier", Some(3)),
    // Guile and SBCL evaluate a file form by form, and name no lines.
    row!("scheme", "scheme.scm",
        "(define (total)\n  (error \"no basket\"))\n\n(total)\n"
        => 1, "Error", "no basket", None),
    row!("lisp", "lisp.lisp",
        "(defun total ()\n  (error \"no basket\"))\n\n(total)\n"
        => 1, "SIMPLE-ERROR", "no basket", None),
    row!("nim", "nim.nim",
        "proc total(): int =\n  raise newException(ValueError, \"no basket\")\n\necho total()\n"
        => 1, "ValueError", "no basket", Some(2)),
    row!("crystal", "crystal.cr",
        "def total\n  raise \"no basket\"\nend\n\ntotal\n"
        => 1, "Exception", "no basket", Some(2)),
    untried("zig"),
    row!("d", "d.d",
        "void main() {\n    int[] basket;\n    if (basket.length == 0) throw new Exception(\"no basket\");\n}\n"
        => 1, "object.Exception", "no basket", Some(3)),
    untried("v"),
    untried("kit"),
    row!("fortran", "fortran.f90",
        "program broken\n  implicit none\n  integer :: total\n  total = basket\nend program broken\n"
        => 1, "CompileError", "Symbol ‘basket’ has no IMPLICIT type", Some(4)),
    row!("pascal", "pascal.pas",
        "program Broken;\nvar\n  Total: Integer;\nbegin\n  Total := Basket;\nend.\n"
        => 1, "CompileError", "Identifier not found \"Basket\"", Some(5)),
    row!("raku", "raku.raku",
        "sub total() {\n    die \"no basket\";\n}\n\ntotal();\n"
        => 1, "Error", "no basket", Some(2)),
    row!("tcl", "tcl.tcl",
        "proc total {} {\n    error \"no basket\"\n}\n\ntotal\n"
        => 1, "Error", "no basket", Some(5)),
    row!("awk", "awk.awk",
        "BEGIN {\n    print \"start\"\n    print 1 +* 2\n}\n"
        => 1, "SyntaxError", "syntax error", Some(3)),
    untried("powershell"),
    row!("coffeescript", "coffeescript.coffee",
        "total = ->\n  throw new RangeError 'no basket'\n\ntotal()\n"
        => 1, "RangeError", "no basket", Some(2)),
    row!("octave", "octave.m",
        "function total ()\n  error ('no basket');\nend\n\ntotal ();\n"
        => 1, "Error", "no basket", Some(2)),
    printing("sass", "$accent: #336699\n\n.card\n  color: $missing\n", 65, UNDEFINED_COLOUR),
    printing("scss", "$accent: #336699;\n\n.card {\n  color: $missing;\n}\n", 65, UNDEFINED_COLOUR),
];
