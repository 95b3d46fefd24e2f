//! Scripting languages: an interpreter reads the source.

use super::super::{AddressSpace, Hook, Language, Naming, Package, PackageUse, Preset, Sample, Toolchain};
use super::INTERPRETER;

/// Where Debian and npm put the modules of tools that are themselves written in JavaScript.
const NODE_MODULES: (&str, &str) = ("NODE_PATH", "/usr/share/nodejs:/usr/lib/node_modules:/usr/local/lib/node_modules");

/// Imported at every start, before the program's own module is filled in.
const SITE: Preset = Preset {
    file: ("sitecustomize.py", include_str!("sitecustomize.py")),
    hook: Hook::Variable("PYTHONPATH", "{build}"),
};

const CPYTHON: Toolchain = Toolchain {
    program: "python3",
    package: Package::Debian("python3"),
    env: &[
        ("PYTHONUNBUFFERED", "1"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONNOUSERSITE", "1"),
        ("MPLBACKEND", "Agg"),
    ],
    variables: Some(SITE),
    waiting: Some(SITE),
    packages: PackageUse::Preset,
    ..INTERPRETER
};

pub(super) const PYTHON: Language = Language {
    id: "python",
    name: "Python",
    aliases: &["py", "python3", "py3", "cpython", "pypy"],
    extensions: &["py", "pyw"],
    interpreters: &["python", "pypy", "uv"],
    source: "main.py",
    naming: Naming::Fixed,
    toolchains: &[
        CPYTHON,
        Toolchain { program: "python", ..CPYTHON },
        Toolchain { program: "pypy3", package: Package::Debian("pypy3"), ..CPYTHON },
    ],
    sample: Sample {
        code: r#"prices = {"tea": 3.2, "cake": 4.5}
for name, price in prices.items():
    print(f"{name:>6}: {price:.2f}")
print(f" total: {sum(prices.values()):.2f}")
"#,
        stdout: "   tea: 3.20\n  cake: 4.50\n total: 7.70\n",
    },
};

const NODE: Toolchain = Toolchain {
    program: "node",
    package: Package::Debian("nodejs"),
    run: &["{program}", "--max-old-space-size={memory_mb}", "{source}"],
    env: &[NODE_MODULES],
    variables: Some(Preset {
        file: (
            "variables.cjs",
            "Object.assign(globalThis, JSON.parse(require('fs').readFileSync(__dirname + '/variables.json', 'utf8')));\n",
        ),
        hook: Hook::Variable("NODE_OPTIONS", "--require {build}/variables.cjs"),
    }),
    waiting: Some(Preset {
        file: ("waiting.cjs", include_str!("waiting.cjs")),
        hook: Hook::Variable("NODE_OPTIONS", "--require {build}/waiting.cjs"),
    }),
    packages: PackageUse::NodeModules,
    address_space: AddressSpace::Reserved,
    ..INTERPRETER
};

// The jail is the boundary, so Deno's own permissions are all granted: the program behaves as it would under Node.
// `--cached-only` turns an import from the network into an immediate error instead of retries.
const DENO: Toolchain = Toolchain {
    program: "deno",
    package: Package::Elsewhere("`npm install -g deno`"),
    run: &[
        "{program}",
        "run",
        "--quiet",
        "--allow-all",
        "--cached-only",
        "--no-config",
        "--no-lock",
        "--node-modules-dir=manual",
        "--v8-flags=--max-old-space-size={memory_mb}",
        "{source}",
    ],
    env: &[("DENO_DIR", "{build}/deno"), ("DENO_NO_UPDATE_CHECK", "1"), ("NO_COLOR", "1")],
    variables: Some(Preset {
        file: (
            "variables.mjs",
            "Object.assign(globalThis, JSON.parse(Deno.readTextFileSync(import.meta.dirname + '/variables.json')));\n",
        ),
        hook: Hook::Argument("--preload={build}/variables.mjs"),
    }),
    waiting: Some(Preset {
        file: ("waiting.mjs", include_str!("waiting.mjs")),
        hook: Hook::Argument("--preload={build}/waiting.mjs"),
    }),
    packages: PackageUse::NodeModules,
    address_space: AddressSpace::Reserved,
    ..INTERPRETER
};

const BUN: Toolchain = Toolchain {
    program: "bun",
    package: Package::Elsewhere("`npm install -g bun`"),
    run: &["{program}", "run", "--no-install", "{source}"],
    // JavaScriptCore sizes its heap by how much memory it believes the machine has, in bytes.
    packages: PackageUse::NodeModules,
    env: &[
        ("BUN_JSC_forceRAMSize", "{memory_mb}000000"),
        ("BUN_RUNTIME_TRANSPILER_CACHE_PATH", "0"),
        ("DO_NOT_TRACK", "1"),
        ("NO_COLOR", "1"),
    ],
    address_space: AddressSpace::Reserved,
    ..INTERPRETER
};

pub(super) const JAVASCRIPT: Language = Language {
    id: "javascript",
    name: "JavaScript",
    aliases: &["js", "node", "nodejs", "ecmascript", "mjs", "cjs"],
    extensions: &["js", "mjs", "cjs"],
    interpreters: &["node", "nodejs"],
    source: "main.js",
    naming: Naming::JavaScriptModule,
    toolchains: &[
        NODE,
        Toolchain { program: "nodejs", ..NODE },
        Toolchain {
            // Deno treats code that calls `require` as a script only if given the flag for it.
            run: &[
                "{program}",
                "run",
                "--quiet",
                "--allow-all",
                "--cached-only",
                "--no-config",
                "--no-lock",
                "--node-modules-dir=manual",
                "--unstable-detect-cjs",
                "--v8-flags=--max-old-space-size={memory_mb}",
                "{source}",
            ],
            ..DENO
        },
        BUN,
    ],
    sample: Sample {
        code: r"const prices = new Map([['tea', 3.2], ['cake', 4.5]]);
for (const [name, price] of prices) {
  console.log(`${name}: ${price.toFixed(2)}`);
}
const total = [...prices.values()].reduce((sum, price) => sum + price, 0);
console.log(`total: ${total.toFixed(2)}`);
",
        stdout: "tea: 3.20\ncake: 4.50\ntotal: 7.70\n",
    },
};

// Types are erased and not checked, as Deno, Bun and tsx do; `tsc` comes last because it alone insists on checking
// them.
pub(super) const TYPESCRIPT: Language = Language {
    id: "typescript",
    name: "TypeScript",
    aliases: &["ts", "deno", "bun", "ts-node", "mts", "cts"],
    extensions: &["ts", "mts", "cts"],
    interpreters: &["deno", "bun", "tsx", "ts-node"],
    source: "main.ts",
    naming: Naming::Fixed,
    toolchains: &[
        DENO,
        BUN,
        Toolchain {
            program: "tsx",
            also: &["node"],
            package: Package::Elsewhere("`npm install -g tsx`"),
            env: &[("NODE_OPTIONS", "--max-old-space-size={memory_mb}")],
            address_space: AddressSpace::Reserved,
            ..INTERPRETER
        },
        Toolchain {
            program: "ts-node",
            also: &["node"],
            package: Package::Debian("ts-node"),
            run: &[
                "{program}",
                "--transpile-only",
                "--skip-project",
                "--compilerOptions",
                r#"{"module":"commonjs","target":"es2022","esModuleInterop":true}"#,
                "{source}",
            ],
            env: &[("NODE_OPTIONS", "--max-old-space-size={memory_mb}"), NODE_MODULES],
            address_space: AddressSpace::Reserved,
            ..INTERPRETER
        },
        Toolchain {
            program: "tsc",
            also: &["node"],
            package: Package::Debian("node-typescript"),
            // Stands in for `@types/node`, which hosts rarely have: without it every use of `process` would be an
            // error.
            support: &[(
                "types/belljar/index.d.ts",
                "declare var process: any, require: any, module: any, exports: any, Buffer: any, global: any;\n\
                 declare var __dirname: string, __filename: string;\n\
                 declare module \"*\";\n",
            )],
            compile: Some(&[
                "{program}",
                "--outDir",
                "{build}",
                "--target",
                "es2022",
                "--module",
                "commonjs",
                "--moduleResolution",
                "node",
                "--esModuleInterop",
                "--sourceMap",
                "--typeRoots",
                "{build}/types",
                "--pretty",
                "false",
                "{source}",
            ]),
            run: &["node", "--enable-source-maps", "--max-old-space-size={memory_mb}", "{build}/main.js"],
            env: &[("NODE_OPTIONS", "--max-old-space-size={memory_mb}"), NODE_MODULES],
            address_space: AddressSpace::Reserved,
            ..INTERPRETER
        },
    ],
    sample: Sample {
        code: r#"interface Item { name: string; price: number }
const items: Item[] = [{ name: "tea", price: 3.2 }, { name: "cake", price: 4.5 }];
const total: number = items.reduce((sum, item) => sum + item.price, 0);
console.log(`${items.length} items: ${total.toFixed(2)}`);
"#,
        stdout: "2 items: 7.70\n",
    },
};

pub(super) const COFFEESCRIPT: Language = Language {
    id: "coffeescript",
    name: "CoffeeScript",
    aliases: &["coffee", "coffee-script"],
    extensions: &["coffee"],
    interpreters: &["coffee"],
    source: "main.coffee",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "coffee",
        also: &["node"],
        package: Package::Debian("coffeescript"),
        // Node's source maps need the inline map to name the caller's lines.
        run: &["{program}", "--inline-map", "{source}"],
        env: &[("NODE_OPTIONS", "--enable-source-maps --max-old-space-size={memory_mb}"), NODE_MODULES],
        address_space: AddressSpace::Reserved,
        ..INTERPRETER
    }],
    sample: Sample {
        code: r##"square = (x) -> x * x
numbers = (square n for n in [1..4] when n isnt 2)
total = numbers.reduce ((sum, n) -> sum + n), 0
console.log "#{numbers.join ', '} add up to #{total}"
"##,
        stdout: "1, 9, 16 add up to 26\n",
    },
};

pub(super) const BASH: Language = Language {
    id: "bash",
    name: "Bash",
    aliases: &["shell", "shellscript", "shell-script"],
    extensions: &["sh", "bash"],
    interpreters: &["bash"],
    source: "main.sh",
    naming: Naming::Fixed,
    toolchains: &[Toolchain { program: "bash", package: Package::Debian("bash"), ..INTERPRETER }],
    sample: Sample {
        code: r#"numbers=(3 1 4 1 5)
total=0
for number in "${numbers[@]}"; do
  (( total += number ))
done
echo "${#numbers[@]} numbers add up to $total"
"#,
        stdout: "5 numbers add up to 14\n",
    },
};

pub(super) const SH: Language = Language {
    id: "sh",
    name: "POSIX shell",
    aliases: &["posix", "posix-sh", "dash", "ash"],
    // `.sh` belongs to Bash: it runs both, and most files with that extension are written for it.
    extensions: &["dash"],
    interpreters: &["sh", "dash", "ash"],
    source: "main.sh",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "sh",
        package: Package::Debian("dash"),
        // Dash has no option that prints its version.
        version: &[],
        ..INTERPRETER
    }],
    sample: Sample {
        code: r#"#!/bin/sh
total=0
for number in 3 1 4 1 5; do
  total=$((total + number))
done
printf 'sum: %d\n' "$total"
"#,
        stdout: "sum: 14\n",
    },
};

pub(super) const RUBY: Language = Language {
    id: "ruby",
    name: "Ruby",
    aliases: &["rb", "jruby"],
    extensions: &["rb"],
    interpreters: &["ruby", "jruby"],
    source: "main.rb",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "ruby",
        package: Package::Debian("ruby"),
        // Ruby has neither an option nor a variable for this, and `-e` would take `$0`, `__FILE__` and `DATA` away from
        // the program.
        support: &[("unbuffered.rb", "$stdout.sync = true\n")],
        run: &["{program}", "-r{build}/unbuffered.rb", "{source}"],
        // Where Debian's `gem install` puts things.
        reads: &["/var/lib/gems"],
        ..INTERPRETER
    }],
    sample: Sample {
        code: r#"prices = { tea: 3.2, cake: 4.5 }
prices.each do |name, price|
  puts format("%-5s %.2f", name, price)
end
puts "total #{prices.values.sum.round(2)}"
"#,
        stdout: "tea   3.20\ncake  4.50\ntotal 7.7\n",
    },
};

pub(super) const PHP: Language = Language {
    id: "php",
    name: "PHP",
    aliases: &["php-cli"],
    extensions: &["php", "phtml"],
    interpreters: &["php"],
    source: "main.php",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "php",
        package: Package::Debian("php-cli"),
        run: &[
            "{program}",
            "-d",
            "display_errors=stderr",
            "-d",
            "log_errors=0",
            "-d",
            "memory_limit={memory_mb}M",
            "{source}",
        ],
        reads: &["/etc/php"],
        ..INTERPRETER
    }],
    sample: Sample {
        code: r#"<?php
$prices = ["tea" => 3.2, "cake" => 4.5];
foreach ($prices as $name => $price) {
    printf("%-5s%.2f\n", $name, $price);
}
echo "total ", number_format(array_sum($prices), 2), PHP_EOL;
"#,
        stdout: "tea  3.20\ncake 4.50\ntotal 7.70\n",
    },
};

pub(super) const PERL: Language = Language {
    id: "perl",
    name: "Perl",
    aliases: &["pl", "perl5"],
    // `.pl` is Prolog's too; Perl is what callers send.
    extensions: &["pl", "pm"],
    interpreters: &["perl"],
    source: "main.pl",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "perl",
        package: Package::Debian("perl"),
        // Perl puts `use 5;$|=1;` before the first line: autoflush, while line numbers, `$0` and `DATA` stay intact.
        run: &["{program}", "-M5;$|=1", "{source}"],
        reads: &["/etc/perl"],
        version: &["-e", "print $^V"],
        ..INTERPRETER
    }],
    sample: Sample {
        code: r#"use strict;
use warnings;
my %prices = (tea => 3.2, cake => 4.5);
my $total = 0;
$total += $_ for values %prices;
printf "%s: %.2f\n", $_, $prices{$_} for sort keys %prices;
printf "total: %.2f\n", $total;
"#,
        stdout: "cake: 4.50\ntea: 3.20\ntotal: 7.70\n",
    },
};

const RAKUDO: Toolchain = Toolchain { program: "raku", package: Package::Debian("rakudo"), ..INTERPRETER };

pub(super) const RAKU: Language = Language {
    id: "raku",
    name: "Raku",
    aliases: &["perl6", "rakudo"],
    extensions: &["raku", "rakumod", "p6", "pl6"],
    interpreters: &["raku", "rakudo", "perl6"],
    source: "main.raku",
    naming: Naming::Fixed,
    toolchains: &[RAKUDO, Toolchain { program: "perl6", ..RAKUDO }],
    sample: Sample {
        code: r#"use v6;
my @numbers = 1, 1, * + * ... * > 50;
say "Fibonacci: @numbers[0..^9].join(' ')";
say "sum of the even ones: { [+] @numbers.grep(* %% 2) }";
"#,
        stdout: "Fibonacci: 1 1 2 3 5 8 13 21 34\nsum of the even ones: 44\n",
    },
};

// `print` flushes here, `io.write` does not.
const PUC_LUA: Toolchain = Toolchain {
    program: "lua",
    package: Package::Debian("lua5.4"),
    run: &["{program}", "-e", "io.stdout:setvbuf('no')", "{source}"],
    version: &["-v"],
    ..INTERPRETER
};

pub(super) const LUA: Language = Language {
    id: "lua",
    name: "Lua",
    aliases: &["luajit"],
    extensions: &["lua"],
    interpreters: &["lua", "luajit"],
    source: "main.lua",
    naming: Naming::Fixed,
    toolchains: &[
        Toolchain { program: "lua5.4", ..PUC_LUA },
        PUC_LUA,
        Toolchain { program: "lua5.3", package: Package::Debian("lua5.3"), ..PUC_LUA },
        Toolchain { program: "luajit", package: Package::Debian("luajit"), ..PUC_LUA },
    ],
    sample: Sample {
        code: r#"local numbers = {3, 1, 4, 1, 5}
local total = 0
for _, number in ipairs(numbers) do
  total = total + number
end
print(#numbers .. " numbers add up to " .. total)
"#,
        stdout: "5 numbers add up to 14\n",
    },
};

pub(super) const TCL: Language = Language {
    id: "tcl",
    name: "Tcl",
    aliases: &["tclsh"],
    extensions: &["tcl"],
    interpreters: &["tclsh", "wish", "expect"],
    source: "main.tcl",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "tclsh",
        package: Package::Debian("tcl"),
        // `tclsh` takes a script and nothing else.
        version: &[],
        ..INTERPRETER
    }],
    sample: Sample {
        code: r#"set numbers {3 1 4 1 5}
set total 0
foreach number $numbers {
    incr total $number
}
puts "[llength $numbers] numbers add up to $total"
"#,
        stdout: "5 numbers add up to 14\n",
    },
};

const GAWK: Toolchain = Toolchain {
    program: "gawk",
    also: &["stdbuf"],
    package: Package::Debian("gawk"),
    // After `--` come the caller's arguments.
    run: &["stdbuf", "-oL", "{program}", "-f", "{source}", "--"],
    ..INTERPRETER
};

pub(super) const AWK: Language = Language {
    id: "awk",
    name: "AWK",
    aliases: &["gawk", "mawk", "nawk"],
    extensions: &["awk"],
    interpreters: &["awk", "gawk", "mawk", "nawk"],
    source: "main.awk",
    naming: Naming::Fixed,
    toolchains: &[
        GAWK,
        Toolchain {
            program: "mawk",
            package: Package::Debian("mawk"),
            run: &["stdbuf", "-oL", "{program}", "-W", "interactive", "-f", "{source}", "--"],
            version: &["-W", "version"],
            ..GAWK
        },
        Toolchain { program: "awk", ..GAWK },
    ],
    sample: Sample {
        code: r#"BEGIN {
    count = split("3 1 4 1 5", numbers, " ")
    for (i = 1; i <= count; i++) total += numbers[i]
    printf "%d numbers add up to %d\n", count, total
}
"#,
        stdout: "5 numbers add up to 14\n",
    },
};

pub(super) const POWERSHELL: Language = Language {
    id: "powershell",
    name: "PowerShell",
    aliases: &["pwsh", "ps1", "posh"],
    extensions: &["ps1", "psm1"],
    interpreters: &["pwsh", "powershell"],
    source: "main.ps1",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "pwsh",
        package: Package::Elsewhere("Microsoft's package `powershell`"),
        run: &["{program}", "-NoLogo", "-NoProfile", "-NonInteractive", "-File", "{source}"],
        env: &[
            ("POWERSHELL_TELEMETRY_OPTOUT", "1"),
            ("POWERSHELL_UPDATECHECK", "Off"),
            ("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1"),
            ("NO_COLOR", "1"),
        ],
        // The package is a link into `/opt`.
        reads: &["/opt/microsoft/powershell"],
        address_space: AddressSpace::Reserved,
        ..INTERPRETER
    }],
    sample: Sample {
        code: r#"$numbers = 3, 1, 4, 1, 5
$total = ($numbers | Measure-Object -Sum).Sum
Write-Output "$($numbers.Count) numbers add up to $total"
"#,
        stdout: "5 numbers add up to 14\n",
    },
};
