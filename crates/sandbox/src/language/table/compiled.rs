//! Languages that compile to machine code, or that are run as if they did.

use super::super::{AddressSpace, Language, Naming, Package, Sample, Toolchain};
use super::{INTERPRETER, STDIO_COMPILER};

// Optimised, since compiling a page of C costs the same either way. `-lm` comes after the source, where the linker looks for it.
const C_COMPILER: Toolchain = Toolchain {
    program: "gcc",
    package: Package::Debian("gcc"),
    compile: Some(&["{program}", "-std=gnu17", "-O2", "-pthread", "-o", "{build}/main", "{source}", "-lm"]),
    ..STDIO_COMPILER
};

pub(super) const C: Language = Language {
    id: "c",
    name: "C",
    aliases: &["gcc", "c99", "c11", "c17"],
    // A header can belong to C++ as well, but those that stand alone are C's.
    extensions: &["c", "h"],
    interpreters: &["tcc"],
    source: "main.c",
    naming: Naming::Fixed,
    toolchains: &[
        C_COMPILER,
        Toolchain { program: "clang", package: Package::Debian("clang"), ..C_COMPILER },
        Toolchain { program: "cc", ..C_COMPILER },
    ],
    sample: Sample {
        code: r#"#include <stdio.h>

int main(void) {
    int numbers[] = {3, 1, 4, 1, 5}, total = 0;
    for (int i = 0; i < 5; i++) total += numbers[i];
    printf("sum: %d, mean: %.1f\n", total, total / 5.0);
    return 0;
}
"#,
        stdout: "sum: 14, mean: 2.8\n",
    },
};

const CPP_COMPILER: Toolchain = Toolchain {
    program: "g++",
    package: Package::Debian("g++"),
    compile: Some(&["{program}", "-std=gnu++20", "-O2", "-pthread", "-o", "{build}/main", "{source}"]),
    ..STDIO_COMPILER
};

pub(super) const CPP: Language = Language {
    id: "cpp",
    name: "C++",
    aliases: &["c++", "cxx", "cc", "cplusplus", "g++"],
    extensions: &["cpp", "cc", "cxx", "c++", "hpp", "hh"],
    interpreters: &[],
    source: "main.cpp",
    naming: Naming::Fixed,
    toolchains: &[
        CPP_COMPILER,
        Toolchain { program: "clang++", package: Package::Debian("clang"), ..CPP_COMPILER },
        Toolchain { program: "c++", ..CPP_COMPILER },
    ],
    sample: Sample {
        code: r#"#include <iostream>
#include <numeric>
#include <vector>

int main() {
    std::vector<int> numbers{3, 1, 4, 1, 5};
    std::cout << "sum: " << std::accumulate(numbers.begin(), numbers.end(), 0) << '\n';
}
"#,
        stdout: "sum: 14\n",
    },
};

pub(super) const RUST: Language = Language {
    id: "rust",
    name: "Rust",
    aliases: &["rs", "rustc"],
    extensions: &["rs"],
    interpreters: &["rust-script"],
    source: "main.rs",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "rustc",
        // Drives the linker.
        also: &["cc"],
        package: Package::Debian("rustc"),
        // Overflow stops the program as it would under `cargo run`, although the code is optimised.
        compile: Some(&[
            "{program}",
            "--edition=2021",
            "--color=never",
            "-Awarnings",
            "-Copt-level=1",
            "-Cdebug-assertions=on",
            "-o",
            "{build}/main",
            "{source}",
        ]),
        run: &["{build}/main"],
        ..INTERPRETER
    }],
    sample: Sample {
        code: r#"fn main() {
    let words = ["bell", "jar", "sandbox"];
    let longest = words.iter().max_by_key(|word| word.len()).unwrap();
    let letters: usize = words.iter().map(|word| word.len()).sum();
    println!("{letters} letters, longest word: {longest}");
}
"#,
        stdout: "14 letters, longest word: sandbox\n",
    },
};

pub(super) const GO: Language = Language {
    id: "go",
    name: "Go",
    aliases: &["golang"],
    extensions: &["go"],
    interpreters: &["gorun"],
    source: "main.go",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "go",
        package: Package::Debian("golang-go"),
        compile: Some(&["{program}", "build", "-o", "{build}/main", "{source}"]),
        run: &["{build}/main"],
        env: &[
            ("GOCACHE", "{build}/cache"),
            ("GOPATH", "{build}/path"),
            // `-p` is how many compilers run at once: on a machine with many cores the default hits the limit on
            // processes.
            ("GOFLAGS", "-mod=mod -p=4"),
            ("GOPROXY", "off"),
            ("GOTOOLCHAIN", "local"),
            ("GOTELEMETRY", "off"),
            // Resolvers in pure Go: with cgo, every program that imports `net` would mean compiling C.
            ("CGO_ENABLED", "0"),
            ("GOMEMLIMIT", "{memory_mb}MiB"),
        ],
        version: &["version"],
        address_space: AddressSpace::Reserved,
        ..INTERPRETER
    }],
    sample: Sample {
        code: r#"package main

import "fmt"

func main() {
	total := 0
	for _, number := range []int{3, 1, 4, 1, 5} {
		total += number
	}
	fmt.Printf("sum: %d\n", total)
}
"#,
        stdout: "sum: 14\n",
    },
};

pub(super) const SWIFT: Language = Language {
    id: "swift",
    name: "Swift",
    aliases: &["swiftc"],
    extensions: &["swift"],
    interpreters: &["swift"],
    source: "main.swift",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "swiftc",
        package: Package::Debian("swiftlang"),
        compile: Some(&["{program}", "-module-cache-path", "{build}/cache", "-o", "{build}/main", "{source}"]),
        ..STDIO_COMPILER
    }],
    sample: Sample {
        code: r#"let prices = ["tea": 3, "cake": 4]
for (name, price) in prices.sorted(by: { $0.key < $1.key }) {
    print("\(name): \(price)")
}
let total = prices.values.reduce(0, +)
print("total: \(total)")
"#,
        stdout: "cake: 4\ntea: 3\ntotal: 7\n",
    },
};

pub(super) const DART: Language = Language {
    id: "dart",
    name: "Dart",
    aliases: &[],
    extensions: &["dart"],
    interpreters: &["dart"],
    source: "main.dart",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "dart",
        package: Package::Elsewhere("the Dart project's package `dart`"),
        env: &[("DART_VM_OPTIONS", "--old_gen_heap_size={memory_mb}")],
        // The package's `/usr/bin/dart` is a link into `/usr/lib/dart`; nothing outside `/usr` is read.
        address_space: AddressSpace::Reserved,
        ..INTERPRETER
    }],
    sample: Sample {
        code: r"void main() {
  final prices = {'tea': 3, 'cake': 4};
  prices.forEach((name, price) => print('$name: $price'));
  final total = prices.values.fold<int>(0, (sum, price) => sum + price);
  print('total: $total');
}
",
        stdout: "tea: 3\ncake: 4\ntotal: 7\n",
    },
};

pub(super) const NIM: Language = Language {
    id: "nim",
    name: "Nim",
    aliases: &["nimrod"],
    extensions: &["nim", "nims"],
    interpreters: &["nim"],
    source: "main.nim",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "nim",
        // Nim compiles by way of C.
        also: &["gcc", "stdbuf"],
        package: Package::Debian("nim"),
        compile: Some(&[
            "{program}",
            "compile",
            "--verbosity:0",
            "--hints:off",
            "--colors:off",
            "--nimcache:{build}/cache",
            "--out:{build}/main",
            "{source}",
        ]),
        reads: &["/etc/nim"],
        ..STDIO_COMPILER
    }],
    sample: Sample {
        code: r#"import std/[sequtils, strformat]

let numbers = @[3, 1, 4, 1, 5]
var total = 0
for number in numbers:
  total += number
echo fmt"{numbers.len} numbers add up to {total}, {numbers.filterIt(it > 2).len} of them above 2"
"#,
        stdout: "5 numbers add up to 14, 3 of them above 2\n",
    },
};

pub(super) const CRYSTAL: Language = Language {
    id: "crystal",
    name: "Crystal",
    aliases: &["cr"],
    extensions: &["cr"],
    interpreters: &["crystal"],
    source: "main.cr",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "crystal",
        also: &["cc"],
        package: Package::Debian("crystal"),
        compile: Some(&["{program}", "build", "--no-color", "-o", "{build}/main", "{source}"]),
        run: &["{build}/main"],
        env: &[("CRYSTAL_CACHE_DIR", "{build}/cache")],
        ..INTERPRETER
    }],
    sample: Sample {
        code: r##"prices = {"tea" => 3.2, "cake" => 4.5}
prices.each do |name, price|
  puts "#{name}: #{price}"
end
total : Float64 = prices.values.sum
puts "total: #{total.round(2)}"
"##,
        stdout: "tea: 3.2\ncake: 4.5\ntotal: 7.7\n",
    },
};

pub(super) const ZIG: Language = Language {
    id: "zig",
    name: "Zig",
    aliases: &["ziglang"],
    extensions: &["zig"],
    interpreters: &["zig"],
    source: "main.zig",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "zig",
        also: &["stdbuf"],
        package: Package::Elsewhere("ziglang.org, or `pip install ziglang`"),
        compile: Some(&["{program}", "build-exe", "-lc", "--color", "off", "-femit-bin={build}/main", "{source}"]),
        env: &[("ZIG_LOCAL_CACHE_DIR", "{build}/cache"), ("ZIG_GLOBAL_CACHE_DIR", "{build}/cache")],
        version: &["version"],
        ..STDIO_COMPILER
    }],
    sample: Sample {
        // Zig's own way of writing to standard output changes between releases; C's does not.
        code: r#"extern fn printf(format: [*:0]const u8, ...) c_int;

pub fn main() void {
    const numbers = [_]c_int{ 3, 1, 4, 1, 5 };
    var total: c_int = 0;
    for (numbers) |number| total += number;
    _ = printf("sum: %d\n", total);
}
"#,
        stdout: "sum: 14\n",
    },
};

const LDC: Toolchain = Toolchain {
    program: "ldc2",
    also: &["cc", "stdbuf"],
    package: Package::Debian("ldc"),
    compile: Some(&["{program}", "-g", "--od={build}/objects", "--of={build}/main", "{source}"]),
    reads: &["/etc/ldc2.conf"],
    ..STDIO_COMPILER
};

pub(super) const D: Language = Language {
    id: "d",
    name: "D",
    aliases: &["dlang"],
    extensions: &["d"],
    interpreters: &["rdmd", "dmd", "ldc"],
    source: "main.d",
    naming: Naming::Fixed,
    toolchains: &[
        LDC,
        Toolchain {
            program: "dmd",
            package: Package::Elsewhere("dlang.org"),
            compile: Some(&["{program}", "-g", "-od={build}/objects", "-of={build}/main", "{source}"]),
            reads: &["/etc/dmd.conf"],
            ..LDC
        },
        Toolchain {
            program: "gdc",
            package: Package::Debian("gdc"),
            compile: Some(&["{program}", "-g", "-o", "{build}/main", "{source}"]),
            reads: &[],
            ..LDC
        },
    ],
    sample: Sample {
        code: r#"import std.algorithm, std.range, std.stdio;

void main() {
    auto squares = iota(1, 6).map!(n => n * n);
    writefln("%(%d %) add up to %d", squares, squares.sum);
}
"#,
        stdout: "1 4 9 16 25 add up to 55\n",
    },
};

pub(super) const V: Language = Language {
    id: "v",
    name: "V",
    aliases: &["vlang"],
    // Verilog and Coq use the extension as well; neither is in the table.
    extensions: &["v", "vsh"],
    interpreters: &["v"],
    source: "main.v",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "v",
        also: &["cc", "stdbuf"],
        package: Package::Elsewhere("vlang.io"),
        compile: Some(&["{program}", "-nocolor", "-o", "{build}/main", "{source}"]),
        env: &[("VTMP", "{build}/tmp"), ("VMODULES", "{build}/modules")],
        version: &["version"],
        ..STDIO_COMPILER
    }],
    sample: Sample {
        code: r"fn main() {
	numbers := [3, 1, 4, 1, 5]
	mut total := 0
	for number in numbers {
		total += number
	}
	println('${numbers.len} numbers add up to ${total}')
}
",
        stdout: "5 numbers add up to 14\n",
    },
};

pub(super) const KIT: Language = Language {
    id: "kit",
    name: "Kit",
    aliases: &["kitlang"],
    extensions: &["kit"],
    interpreters: &["kitc"],
    source: "main.kit",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "kitc",
        also: &["cc", "stdbuf"],
        package: Package::Elsewhere("kitlang.org"),
        compile: Some(&[
            "{program}",
            "--quiet",
            "--build-dir",
            "{build}/objects",
            "--output",
            "{build}/main",
            "{source}",
        ]),
        ..STDIO_COMPILER
    }],
    sample: Sample {
        code: r#"function main() {
    var total = 0;
    var number = 1;
    while (number < 5) {
        total = total + number;
        number++;
    }
    printf("sum: %i\n", total);
}
"#,
        stdout: "sum: 10\n",
    },
};

pub(super) const FORTRAN: Language = Language {
    id: "fortran",
    name: "Fortran",
    aliases: &["f90", "f95", "gfortran"],
    extensions: &["f90", "f95", "f03", "f08"],
    interpreters: &[],
    source: "main.f90",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "gfortran",
        package: Package::Debian("gfortran"),
        compile: Some(&[
            "{program}",
            "-O2",
            "-fdiagnostics-color=never",
            "-J{build}",
            "-o",
            "{build}/main",
            "{source}",
        ]),
        run: &["{build}/main"],
        env: &[("GFORTRAN_UNBUFFERED_PRECONNECTED", "y")],
        ..INTERPRETER
    }],
    sample: Sample {
        code: r"program statistics
  implicit none
  integer :: numbers(5) = [3, 1, 4, 1, 5]
  write (*, '(a, i0, a, f0.2)') 'sum: ', sum(numbers), ', mean: ', real(sum(numbers)) / size(numbers)
end program statistics
",
        stdout: "sum: 14, mean: 2.80\n",
    },
};

pub(super) const PASCAL: Language = Language {
    id: "pascal",
    name: "Pascal",
    aliases: &["fpc", "freepascal", "objectpascal", "delphi"],
    extensions: &["pas", "pp", "lpr", "dpr"],
    interpreters: &["instantfpc"],
    source: "main.pas",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "fpc",
        package: Package::Debian("fp-compiler"),
        // The run-time library flushes only at exit. A unit that is loaded before the program's own makes every write
        // go through.
        support: &[(
            "belljar.pas",
            "unit belljar;\ninterface\nimplementation\nbegin\n  \
             TextRec(Output).FlushFunc := TextRec(Output).InOutFunc;\nend.\n",
        )],
        // Object Pascal with long strings, which is what programs are written in today; a `{$mode}` in the program
        // still wins.
        compile: Some(&[
            "{program}",
            "-l-",
            "-v0e",
            "-O1",
            "-gl",
            "-Mobjfpc",
            "-Sh",
            "-Fu{build}",
            "-FU{build}",
            "-Fabelljar",
            "-o{build}/main",
            "{source}",
        ]),
        run: &["{build}/main"],
        reads: &["/etc/fpc.cfg"],
        version: &["-iV"],
        ..INTERPRETER
    }],
    sample: Sample {
        code: r"program Statistics;
const
  Numbers: array[1..5] of Integer = (3, 1, 4, 1, 5);
var
  Number, Total: Integer;
begin
  Total := 0;
  for Number in Numbers do Total := Total + Number;
  WriteLn('sum: ', Total, ', mean: ', Total / Length(Numbers):0:2);
end.
",
        stdout: "sum: 14, mean: 2.80\n",
    },
};
