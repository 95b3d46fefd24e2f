//! Languages on the JVM and on .NET.

use super::super::{AddressSpace, Language, Naming, Package, Sample, Toolchain};
use super::INTERPRETER;

/// Debian keeps a JDK's configuration here, with links to it from `/usr`; without it `java` does not start.
const JDK_CONFIGURATION: &[&str] =
    &["/etc/java-11-openjdk", "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/java-25-openjdk"];

/// For launchers that are shell scripts. `JAVA_TOOL_OPTIONS` would reach every JVM, but each one reports it on standard
/// error.
///
/// One collector thread instead of one per core keeps the JVM within the limit on processes, and the first compiler
/// tier is all that a short-lived compiler needs.
const JAVA_OPTS: (&str, &str) =
    ("JAVA_OPTS", "-Xmx{memory_mb}m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -XX:-PrintWarnings");

const JVM: Toolchain =
    Toolchain { env: &[JAVA_OPTS], reads: JDK_CONFIGURATION, address_space: AddressSpace::Reserved, ..INTERPRETER };

pub(super) const JAVA: Language = Language {
    id: "java",
    name: "Java",
    aliases: &["jdk", "openjdk"],
    extensions: &["java"],
    interpreters: &["java"],
    source: "Main.java",
    naming: Naming::JavaTypes,
    // Two steps rather than `java Main.java`: that runs the file's first class, and programs often begin with their
    // helpers.
    toolchains: &[Toolchain {
        program: "javac",
        also: &["java"],
        package: Package::Debian("default-jdk-headless"),
        compile: Some(&[
            "{program}",
            "-J-Xmx{memory_mb}m",
            "-J-XX:+UseSerialGC",
            "-J-XX:TieredStopAtLevel=1",
            "-J-XX:-UsePerfData",
            "-encoding",
            "UTF-8",
            "-d",
            "{build}",
            "{source}",
        ]),
        run: &["java", "-Xmx{memory_mb}m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-cp", "{build}", "{entry}"],
        env: &[],
        version: &["-version"],
        ..JVM
    }],
    sample: Sample {
        code: r#"import java.util.List;

public class Main {
    record Item(String name, double price) {}

    public static void main(String[] args) {
        var items = List.of(new Item("tea", 3.2), new Item("cake", 4.5));
        System.out.printf("%d items: %.2f%n", items.size(), items.stream().mapToDouble(Item::price).sum());
    }
}
"#,
        stdout: "2 items: 7.70\n",
    },
};

pub(super) const KOTLIN: Language = Language {
    id: "kotlin",
    name: "Kotlin",
    aliases: &["kt", "kotlinc", "kts"],
    extensions: &["kt", "kts"],
    interpreters: &["kotlin", "kotlinc"],
    source: "main.kt",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "kotlinc",
        also: &["java"],
        package: Package::Debian("kotlin"),
        // The jar's manifest names the class with `main`, whatever package it is in.
        compile: Some(&["{program}", "-nowarn", "-include-runtime", "-d", "{build}/main.jar", "{source}"]),
        run: &["java", "-Xmx{memory_mb}m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-jar", "{build}/main.jar"],
        version: &["-version"],
        ..JVM
    }],
    sample: Sample {
        code: r#"data class Item(val name: String, val price: Int)

fun main() {
    val items = listOf(Item("tea", 3), Item("cake", 4))
    items.forEach { println("${it.name}: ${it.price}") }
    println("total: ${items.map { it.price }.sum()}")
}
"#,
        stdout: "tea: 3\ncake: 4\ntotal: 7\n",
    },
};

pub(super) const SCALA: Language = Language {
    id: "scala",
    name: "Scala",
    aliases: &["sc", "scala2", "scala3"],
    extensions: &["scala", "sc"],
    interpreters: &["scala", "scala-cli"],
    source: "main.scala",
    naming: Naming::Fixed,
    toolchains: &[
        Toolchain {
            program: "scala",
            also: &["java"],
            package: Package::Debian("scala"),
            // The compile daemon would outlive the run.
            run: &["{program}", "-nocompdaemon", "{source}"],
            version: &["-version"],
            ..JVM
        },
        Toolchain {
            program: "scala-cli",
            package: Package::Elsewhere("scala-cli.virtuslab.org"),
            run: &["{program}", "run", "--server=false", "--offline", "--quiet", "{source}", "--"],
            ..JVM
        },
    ],
    sample: Sample {
        code: r#"object Main extends App {
  case class Item(name: String, price: Int)
  val items = List(Item("tea", 3), Item("cake", 4))
  items.foreach(item => println(s"${item.name}: ${item.price}"))
  println(s"total: ${items.map(_.price).sum}")
}
"#,
        stdout: "tea: 3\ncake: 4\ntotal: 7\n",
    },
};

pub(super) const GROOVY: Language = Language {
    id: "groovy",
    name: "Groovy",
    aliases: &["gvy"],
    extensions: &["groovy", "gvy", "gradle"],
    interpreters: &["groovy"],
    source: "main.groovy",
    naming: Naming::Fixed,
    toolchains: &[Toolchain {
        program: "groovy",
        also: &["java"],
        package: Package::Debian("groovy"),
        reads: &[
            "/etc/groovy",
            "/etc/java-11-openjdk",
            "/etc/java-17-openjdk",
            "/etc/java-21-openjdk",
            "/etc/java-25-openjdk",
        ],
        ..JVM
    }],
    sample: Sample {
        code: r#"def prices = [tea: 3, cake: 4]
prices.each { name, price -> println "${name}: ${price}" }
def total = prices.values().sum()
println "total: ${total}"
"#,
        stdout: "tea: 3\ncake: 4\ntotal: 7\n",
    },
};

pub(super) const CLOJURE: Language = Language {
    id: "clojure",
    name: "Clojure",
    aliases: &["clj", "babashka", "bb"],
    extensions: &["clj", "cljc", "bb"],
    interpreters: &["clojure", "clj", "bb"],
    source: "main.clj",
    naming: Naming::Fixed,
    toolchains: &[
        Toolchain {
            program: "clojure",
            also: &["java"],
            package: Package::Debian("clojure"),
            // Debian's `clojure` script passes no options to the JVM, so this is the command that it ends with.
            run: &[
                "java",
                "-Xmx{memory_mb}m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-XX:-UsePerfData",
                "-cp",
                "/usr/share/java/clojure.jar",
                "clojure.main",
                "{source}",
            ],
            env: &[],
            version: &["-e", "(clojure-version)"],
            ..JVM
        },
        Toolchain { program: "bb", package: Package::Elsewhere("babashka.org"), env: &[], reads: &[], ..JVM },
    ],
    sample: Sample {
        code: r#"(def prices {:tea 3 :cake 4})
(doseq [[item price] prices]
  (println (str (name item) ": " price)))
(println "total:" (reduce + (vals prices)))
"#,
        stdout: "tea: 3\ncake: 4\ntotal: 7\n",
    },
};

/// Quiet, offline and without servers that outlive the run; caches go where they are thrown away.
const DOTNET_ENVIRONMENT: &[(&str, &str)] = &[
    ("DOTNET_CLI_HOME", "{build}"),
    ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
    ("DOTNET_GENERATE_ASPNET_CERTIFICATE", "false"),
    ("DOTNET_NOLOGO", "1"),
    ("DOTNET_SKIP_FIRST_TIME_EXPERIENCE", "1"),
    ("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1"),
    ("MSBUILDDISABLENODEREUSE", "1"),
    ("NUGET_PACKAGES", "{build}/packages"),
    ("NO_COLOR", "1"),
];

const DOTNET: Toolchain = Toolchain {
    program: "dotnet",
    package: Package::Elsewhere("Microsoft's package `dotnet-sdk-8.0` or later"),
    env: DOTNET_ENVIRONMENT,
    reads: &["/etc/dotnet"],
    address_space: AddressSpace::Reserved,
    ..INTERPRETER
};

pub(super) const CSHARP: Language = Language {
    id: "csharp",
    name: "C#",
    aliases: &["c#", "cs", "dotnet", "mono"],
    extensions: &["cs", "csx"],
    interpreters: &["dotnet", "csharp", "dotnet-script"],
    source: "main.cs",
    naming: Naming::Fixed,
    toolchains: &[
        Toolchain {
            // A project is the only way to reach the compiler that works in every SDK since 6. It asks for whatever
            // framework the SDK brings.
            support: &[(
                "program.csproj",
                r#"<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net$(BundledNETCoreAppTargetFrameworkVersion)</TargetFramework>
    <AssemblyName>program</AssemblyName>
    <EnableDefaultItems>false</EnableDefaultItems>
    <ImplicitUsings>enable</ImplicitUsings>
    <UseAppHost>false</UseAppHost>
  </PropertyGroup>
  <ItemGroup><Compile Include="{source}" /></ItemGroup>
</Project>
"#,
            )],
            compile: Some(&[
                "{program}",
                "build",
                "{build}/program.csproj",
                "--output",
                "{build}/out",
                "--nologo",
                "--verbosity",
                "quiet",
                "-p:UseSharedCompilation=false",
                "-p:WarningLevel=0",
            ]),
            run: &["{program}", "{build}/out/program.dll"],
            ..DOTNET
        },
        Toolchain {
            program: "mcs",
            also: &["mono"],
            package: Package::Debian("mono-mcs"),
            compile: Some(&["{program}", "-debug", "-optimize", "-out:{build}/main.exe", "{source}"]),
            run: &["mono", "--debug", "{build}/main.exe"],
            env: &[("MONO_GC_PARAMS", "max-heap-size={memory_mb}m")],
            reads: &["/etc/mono"],
            ..INTERPRETER
        },
    ],
    sample: Sample {
        code: r#"using System;
using System.Linq;

class Program {
    static void Main(string[] args) {
        var numbers = new[] { 3, 1, 4, 1, 5 };
        Console.WriteLine($"{numbers.Length} numbers add up to {numbers.Sum()}");
    }
}
"#,
        stdout: "5 numbers add up to 14\n",
    },
};

pub(super) const FSHARP: Language = Language {
    id: "fsharp",
    name: "F#",
    aliases: &["f#", "fs", "fsi", "fsx"],
    // Forth uses `.fs` as well, but is not in the table.
    extensions: &["fsx", "fs", "fsscript"],
    interpreters: &["fsharpi", "fsi"],
    source: "main.fsx",
    naming: Naming::Fixed,
    toolchains: &[Toolchain { run: &["{program}", "fsi", "--quiet", "--nologo", "{source}"], ..DOTNET }],
    sample: Sample {
        code: r#"let numbers = [ 3; 1; 4; 1; 5 ]
let squares = numbers |> List.map (fun n -> n * n)
printfn "%d numbers, squares add up to %d" numbers.Length (List.sum squares)
"#,
        stdout: "5 numbers, squares add up to 52\n",
    },
};
