//! Functional languages and Lisps with a runtime of their own.

use super::super::{AddressSpace, Language, Naming, Package, Sample, Toolchain};
use super::INTERPRETER;

pub(super) const HASKELL: Language = Language {
    id: "haskell",
    name: "Haskell",
    aliases: &["hs", "ghc", "runghc", "runhaskell"],
    extensions: &["hs"],
    interpreters: &["runghc", "runhaskell", "stack"],
    source: "main.hs",
    naming: Naming::HaskellModule,
    toolchains: &[Toolchain {
        program: "ghc",
        also: &["cc"],
        package: Package::Debian("ghc"),
        // Compiled programs buffer output and no option changes that, so an entry point of ours sets the mode and calls
        // theirs.
        support: &[(
            "Belljar.hs",
            "module Belljar (main) where\nimport qualified {entry}\nimport System.IO\n\
             main = hSetBuffering stdout LineBuffering >> {entry}.main\n",
        )],
        compile: Some(&[
            "{program}",
            "-v0",
            "-O1",
            "-fdiagnostics-color=never",
            "-threaded",
            "-with-rtsopts=-M{memory_mb}m",
            "-outputdir",
            "{build}/objects",
            "-i{build}",
            "-main-is",
            "Belljar",
            "-o",
            "{build}/main",
            "{build}/Belljar.hs",
            "{source}",
        ]),
        run: &["{build}/main"],
        // Debian links the compiler's package database from `/usr/lib/ghc`.
        reads: &["/var/lib/ghc"],
        address_space: AddressSpace::Reserved,
        ..INTERPRETER
    }],
    sample: Sample {
        code: r#"import Text.Printf (printf)

squares :: [Int] -> [Int]
squares = map (^ 2)

main :: IO ()
main = do
  let numbers = [3, 1, 4, 1, 5]
  printf "sum %d, squares %s\n" (sum numbers) (show (squares numbers))
"#,
        stdout: "sum 14, squares [9,1,16,1,25]\n",
    },
};

pub(super) const OCAML: Language = Language {
    id: "ocaml",
    name: "OCaml",
    aliases: &["ml"],
    extensions: &["ml"],
    interpreters: &["ocaml", "ocamlrun"],
    source: "main.ml",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "ocaml",
        package: Package::Debian("ocaml"),
        // The two libraries that single-file programs use; since 5.0 each is in a directory of its own.
        run: &["{program}", "-I", "+unix", "-I", "+str", "unix.cma", "str.cma", "{source}"],
        version: &["-version"],
        ..INTERPRETER
    }],
    sample: Sample {
        code: r#"let numbers = [3; 1; 4; 1; 5]
let total = List.fold_left ( + ) 0 numbers

let () =
  Printf.printf "%d numbers add up to %d\n" (List.length numbers) total
"#,
        stdout: "5 numbers add up to 14\n",
    },
};

/// BEAM starts a scheduler and helpers for every core, which on a large machine exceeds the limit on processes.
const BEAM_THREADS: (&str, &str) = ("ERL_FLAGS", "+S 2:2 +SDcpu 2:2 +SDio 2 +A 1");

pub(super) const ELIXIR: Language = Language {
    id: "elixir",
    name: "Elixir",
    aliases: &["ex", "exs"],
    extensions: &["exs", "ex"],
    interpreters: &["elixir", "iex"],
    source: "main.exs",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "elixir",
        also: &["erl"],
        package: Package::Debian("elixir"),
        env: &[BEAM_THREADS],
        version: &["--short-version"],
        address_space: AddressSpace::Reserved,
        ..INTERPRETER
    }],
    sample: Sample {
        code: r##"defmodule Basket do
  def total(items), do: items |> Enum.map(fn {_name, price} -> price end) |> Enum.sum()
end

items = [tea: 3, cake: 4]
Enum.each(items, fn {name, price} -> IO.puts("#{name}: #{price}") end)
IO.puts("total: #{Basket.total(items)}")
"##,
        stdout: "tea: 3\ncake: 4\ntotal: 7\n",
    },
};

// `escript` drops the first line of a file without `#!`, and `erlc` wants the file named after the module. Compiling
// the forms avoids both, and takes modules and scripts alike.
const ERLANG_DRIVER: &str = r##"#!/usr/bin/env escript
main([Source | Arguments]) ->
    {ok, Device} = file:open(Source, [read]),
    Start = case io:get_line(Device, "") of
        "#!" ++ _ -> 2;
        _ -> {ok, 0} = file:position(Device, 0), 1
    end,
    {ok, Epp} = epp:open([{fd, Device}, {name, Source}, {location, {Start, 1}}, {default_encoding, utf8}]),
    Parsed = epp:parse_file(Epp),
    Forms = case lists:keyfind(module, 3, Parsed) of
        false -> [{attribute, 1, file, {Source, 1}}, {attribute, 1, module, main}, {attribute, 1, compile, export_all} | Parsed];
        _ -> Parsed
    end,
    case compile:forms(Forms, [return_errors, {source, Source}]) of
        {ok, Module, Binary} ->
            {module, Module} = code:load_binary(Module, Source, Binary),
            Entries = [{main, [Arguments]}, {main, []}, {start, []}],
            case [Entry || {Name, With} = Entry <- Entries, erlang:function_exported(Module, Name, length(With))] of
                [{Name, With} | _] ->
                    apply(Module, Name, With);
                [] ->
                    io:format(standard_error, "~ts exports none of main/1, main/0 and start/0~n", [Source]),
                    halt(1)
            end;
        {error, Errors, _} ->
            Line = fun({Number, _Column}) -> Number; (Number) -> Number end,
            [io:format(standard_error, "~ts:~p: ~ts~n", [File, Line(Where), Pass:format_error(What)])
             || {File, Found} <- Errors, {Where, Pass, What} <- Found],
            halt(1)
    end.
"##;

pub(super) const ERLANG: Language = Language {
    id: "erlang",
    name: "Erlang",
    aliases: &["erl", "escript"],
    extensions: &["erl", "escript", "hrl"],
    interpreters: &["escript", "erl"],
    source: "main.erl",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "erl",
        also: &["escript"],
        package: Package::Debian("erlang-base"),
        support: &[("driver.escript", ERLANG_DRIVER)],
        run: &["escript", "{build}/driver.escript", "{source}"],
        env: &[BEAM_THREADS],
        version: &[
            "-noshell",
            "-eval",
            "{ok, Version} = file:read_file(filename:join([code:root_dir(), \"releases\", \
             erlang:system_info(otp_release), \"OTP_VERSION\"])), io:put_chars(Version), halt().",
        ],
        address_space: AddressSpace::Reserved,
        ..INTERPRETER
    }],
    sample: Sample {
        code: r#"-module(basket).
-export([main/1]).

main(_Args) ->
    Items = [{tea, 3}, {cake, 4}],
    [io:format("~p: ~p~n", [Name, Price]) || {Name, Price} <- Items],
    io:format("total: ~p~n", [lists:sum([Price || {_, Price} <- Items])]).
"#,
        stdout: "tea: 3\ncake: 4\ntotal: 7\n",
    },
};

pub(super) const RACKET: Language = Language {
    id: "racket",
    name: "Racket",
    aliases: &["rkt"],
    extensions: &["rkt", "rktl"],
    interpreters: &["racket"],
    source: "main.rkt",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "racket",
        package: Package::Debian("racket"),
        support: &[(
            "unbuffered.rkt",
            "(module unbuffered '#%kernel (file-stream-buffer-mode (current-output-port) 'line))\n",
        )],
        run: &["{program}", "-t", "{build}/unbuffered.rkt", "-u", "{source}"],
        reads: &["/etc/racket"],
        ..INTERPRETER
    }],
    sample: Sample {
        code: r#"#lang racket
(define prices (list (cons "tea" 3) (cons "cake" 4)))
(for ([item prices])
  (printf "~a: ~a\n" (car item) (cdr item)))
(printf "total: ~a\n" (apply + (map cdr prices)))
"#,
        stdout: "tea: 3\ncake: 4\ntotal: 7\n",
    },
};

const GUILE: Toolchain = Toolchain {
    program: "guile",
    package: Package::Debian("guile-3.0"),
    support: &[("unbuffered.scm", "(setvbuf (current-output-port) 'line)\n")],
    run: &["{program}", "--no-auto-compile", "-l", "{build}/unbuffered.scm", "-s", "{source}"],
    ..INTERPRETER
};

pub(super) const SCHEME: Language = Language {
    id: "scheme",
    name: "Scheme",
    aliases: &["scm", "guile", "chicken"],
    extensions: &["scm", "ss", "sld"],
    interpreters: &["guile", "csi", "chicken", "scheme"],
    source: "main.scm",
    naming: Naming::Fixed,
    toolchains: &[
        GUILE,
        Toolchain { program: "guile-3.0", ..GUILE },
        Toolchain {
            program: "csi",
            also: &["stdbuf"],
            package: Package::Debian("chicken-bin"),
            run: &["stdbuf", "-oL", "{program}", "-script", "{source}"],
            // Debian keeps the import libraries here.
            reads: &["/var/lib/chicken"],
            version: &["-release"],
            ..INTERPRETER
        },
    ],
    sample: Sample {
        code: r#"(define numbers '(3 1 4 1 5))
(define (square n) (* n n))
(display "sum of squares: ")
(display (apply + (map square numbers)))
(newline)
"#,
        stdout: "sum of squares: 52\n",
    },
};

pub(super) const LISP: Language = Language {
    id: "lisp",
    name: "Common Lisp",
    aliases: &["common-lisp", "commonlisp", "cl", "sbcl", "clisp"],
    extensions: &["lisp", "lsp", "cl"],
    interpreters: &["sbcl", "clisp", "ecl"],
    source: "main.lisp",
    naming: Naming::Fixed,
    toolchains: &[
        Toolchain {
            program: "sbcl",
            package: Package::Debian("sbcl"),
            run: &["{program}", "--dynamic-space-size", "{memory_mb}MB", "--script", "{source}"],
            address_space: AddressSpace::Reserved,
            ..INTERPRETER
        },
        Toolchain {
            program: "clisp",
            package: Package::Debian("clisp"),
            run: &["{program}", "-q", "-norc", "-on-error", "exit", "{source}"],
            ..INTERPRETER
        },
    ],
    sample: Sample {
        code: r#"(defparameter *prices* '((tea . 3) (cake . 4)))
(dolist (item *prices*)
  (format t "~(~a~): ~d~%" (car item) (cdr item)))
(format t "total: ~d~%" (reduce #'+ (mapcar #'cdr *prices*)))
"#,
        stdout: "tea: 3\ncake: 4\ntotal: 7\n",
    },
};
