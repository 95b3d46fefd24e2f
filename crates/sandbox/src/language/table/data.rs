//! Languages for data, numbers and style sheets.

use super::super::{AddressSpace, Language, Naming, Package, Sample, Toolchain};
use super::INTERPRETER;

pub(super) const SQL: Language = Language {
    id: "sql",
    name: "SQL (SQLite)",
    aliases: &["sqlite", "sqlite3"],
    extensions: &["sql"],
    interpreters: &["sqlite"],
    source: "main.sql",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "sqlite3",
        package: Package::Debian("sqlite3"),
        // With `-bail` the first error ends the run, with a non-zero exit code; standard input stays the caller's. As
        // in `runtimes/sql`.
        run: &["{program}", "-batch", "-bail", "-header", "-column", "{database}", ".read {source}"],
        ..INTERPRETER
    }],
    sample: Sample {
        code: "CREATE TABLE items (name TEXT, price REAL);\n\
               INSERT INTO items VALUES ('tea', 3.2), ('cake', 4.5);\n\
               SELECT name, price FROM items ORDER BY price;\n",
        stdout: "name  price\n----  -----\ntea   3.2  \ncake  4.5  \n",
    },
};

pub(super) const R: Language = Language {
    id: "r",
    name: "R",
    aliases: &["rscript", "rlang"],
    extensions: &["r"],
    interpreters: &["rscript", "littler"],
    source: "main.R",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "Rscript",
        package: Package::Debian("r-base-core"),
        run: &["{program}", "--vanilla", "{source}"],
        env: &[("R_MAX_VSIZE", "{memory_mb}Mb")],
        reads: &["/etc/R"],
        ..INTERPRETER
    }],
    sample: Sample {
        code: r#"numbers <- c(3, 1, 4, 1, 5)
cat(sprintf("mean: %.2f\n", mean(numbers)))
squares <- sapply(numbers, function(n) n^2)
print(squares)
"#,
        stdout: "mean: 2.80\n[1]  9  1 16  1 25\n",
    },
};

pub(super) const JULIA: Language = Language {
    id: "julia",
    name: "Julia",
    aliases: &["jl"],
    extensions: &["jl"],
    interpreters: &["julia"],
    source: "main.jl",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "julia",
        package: Package::Elsewhere("julialang.org"),
        run: &[
            "{program}",
            "--startup-file=no",
            "--history-file=no",
            "--color=no",
            "--heap-size-hint={memory_mb}M",
            "{source}",
        ],
        // The empty last entry keeps the depots that ship with Julia.
        env: &[("JULIA_DEPOT_PATH", "{build}/depot:")],
        reads: &["/etc/julia"],
        address_space: AddressSpace::Reserved,
        ..INTERPRETER
    }],
    sample: Sample {
        code: r#"numbers = [3, 1, 4, 1, 5]
squares = [n^2 for n in numbers]
for (n, square) in zip(numbers, squares)
    println("$n squared is $square")
end
println("total: ", sum(squares))
"#,
        stdout: "3 squared is 9\n1 squared is 1\n4 squared is 16\n1 squared is 1\n5 squared is 25\ntotal: 52\n",
    },
};

pub(super) const OCTAVE: Language = Language {
    id: "octave",
    name: "GNU Octave",
    aliases: &["matlab"],
    // The extension is MATLAB's too, and Objective-C's.
    extensions: &["m"],
    interpreters: &["octave", "octave-cli"],
    source: "main.m",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "octave-cli",
        package: Package::Debian("octave"),
        run: &["{program}", "--quiet", "--no-init-file", "--no-history", "--no-window-system", "{source}"],
        reads: &["/etc/octaverc"],
        ..INTERPRETER
    }],
    sample: Sample {
        code: r"numbers = [3 1 4 1 5];
squares = numbers .^ 2;
printf('mean %.2f\n', mean(numbers));
printf('squares%s\n', sprintf(' %d', squares));
",
        stdout: "mean 2.80\nsquares 9 1 16 1 25\n",
    },
};

// Ruby Sass, which may own the name, spells the option like this too.
const DART_SASS: Toolchain = Toolchain {
    program: "sass",
    package: Package::Elsewhere("`npm install -g sass`"),
    run: &["{program}", "--style=expanded", "{source}"],
    address_space: AddressSpace::Reserved,
    ..INTERPRETER
};

pub(super) const SASS: Language = Language {
    id: "sass",
    name: "Sass",
    aliases: &[],
    extensions: &["sass"],
    interpreters: &["sass"],
    source: "main.sass",
    naming: Naming::Fixed,
    toolchains: &[
        DART_SASS,
        Toolchain {
            program: "sassc",
            package: Package::Debian("sassc"),
            run: &["{program}", "--sass", "--style", "expanded", "{source}"],
            ..INTERPRETER
        },
    ],
    sample: Sample {
        code: "$accent: #336699\n\n.card\n  .title\n    color: $accent\n    padding: 4px * 2\n",
        stdout: ".card .title {\n  color: #336699;\n  padding: 8px;\n}\n",
    },
};

pub(super) const SCSS: Language = Language {
    id: "scss",
    name: "SCSS",
    aliases: &[],
    extensions: &["scss"],
    interpreters: &["scss"],
    source: "main.scss",
    naming: Naming::Fixed,
    toolchains: &[
        DART_SASS,
        Toolchain {
            program: "sassc",
            package: Package::Debian("sassc"),
            run: &["{program}", "--style", "expanded", "{source}"],
            ..INTERPRETER
        },
    ],
    sample: Sample {
        code: "$accent: #336699;\n\n.card {\n  .title {\n    color: $accent;\n    padding: 4px * 2;\n  }\n}\n",
        stdout: ".card .title {\n  color: #336699;\n  padding: 8px;\n}\n",
    },
};
