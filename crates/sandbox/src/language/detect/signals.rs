//! What programs in each language look like.
//!
//! A weight says how sure a sign is: 1 shared by many languages, 2 to 3 by a few, 4 to 5 typical of one, 6 and more next to certain.
//! Each sign counts once. The rows are tuned on public collections of sample programs; a change to one wants the tests next to it.

use super::outline::Outline;

/// The signs of one language.
#[derive(Debug)]
pub(super) struct Signals {
    /// The language's id.
    pub language: &'static str,
    /// The language that it adds to. Its own signs decide whether a program is more than one of that language.
    pub extends: Option<&'static str>,
    /// Weighed signs; a negative weight is a sign of something else.
    pub signals: &'static [(i32, Pattern)],
}

/// One sign. Lists hold alternatives. Lines are compared without indentation and trailing space.
#[derive(Debug)]
pub(super) enum Pattern {
    /// A line begins with one of these.
    Starts(&'static [&'static str]),
    /// A line is one of these.
    Is(&'static [&'static str]),
    /// A line begins with the first and ends with the second.
    Spans(&'static str, &'static str),
    /// A line begins with the first and has the second somewhere after it.
    Holds(&'static str, &'static str),
    /// The text has one of these anywhere.
    Has(&'static [&'static str]),
    /// The text has one of these as a word of its own.
    Word(&'static [&'static str]),
    /// The text has one of these, strings and comments included: how a language puts values into strings.
    Quoted(&'static [&'static str]),
    /// Its comment lines begin with this.
    Comment(&'static str),
    /// A line passes this test. It still has its indentation.
    Line(fn(&str) -> bool),
    /// The same in any case; the inner pattern is in lower case.
    AnyCase(&'static Self),
}

impl Pattern {
    pub(super) fn is_in(&self, outline: &Outline<'_>) -> bool {
        match self {
            Self::Quoted(parts) => parts.iter().any(|part| outline.raw.contains(part)),
            Self::Comment(marker) => outline.comments.contains(marker),
            Self::AnyCase(pattern) => pattern.is_in_text(&outline.lowered),
            Self::Starts(_) | Self::Is(_) | Self::Spans(..) | Self::Holds(..) | Self::Has(_) | Self::Word(_) | Self::Line(_) => {
                self.is_in_text(&outline.text)
            }
        }
    }

    fn is_in_text(&self, text: &str) -> bool {
        let mut lines = text.lines().map(str::trim);
        match self {
            Self::Starts(starts) => lines.any(|line| starts.iter().any(|start| line.starts_with(start))),
            Self::Is(wholes) => lines.any(|line| wholes.contains(&line)),
            Self::Spans(start, end) => lines.any(|line| line.strip_prefix(start).is_some_and(|rest| rest.ends_with(end))),
            Self::Holds(start, part) => lines.any(|line| line.strip_prefix(start).is_some_and(|rest| rest.contains(part))),
            Self::Has(parts) => parts.iter().any(|part| text.contains(part)),
            Self::Word(words) => words.iter().any(|word| has_word(text, word)),
            Self::Line(test) => text.lines().any(test),
            Self::Quoted(_) | Self::Comment(_) | Self::AnyCase(_) => false,
        }
    }
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_');
    // `int(` has to begin a word; what follows its bracket does not matter.
    let joins = |left: Option<char>, right: Option<char>| is_part(left) && is_part(right);
    text.match_indices(word).any(|(at, _)| {
        let (before, from) = text.split_at(at);
        let after = from.strip_prefix(word).unwrap_or("");
        !joins(before.chars().next_back(), word.chars().next()) && !joins(word.chars().next_back(), after.chars().next())
    })
}

/// `name=value` without spaces, not indented.
fn is_shell_assignment(line: &str) -> bool {
    line.split_once('=').is_some_and(|(name, value)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !value.starts_with(['=', '>', '~', ' '])
            && !value.ends_with([';', ','])
    })
}

/// `name() {` at the left margin.
fn is_shell_function(line: &str) -> bool {
    line.strip_suffix('{').map(str::trim_end).and_then(|line| line.strip_suffix("()")).is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    })
}

/// `def name` or `def name(…)` with nothing after it: no colon, no brace, no `do`.
fn is_ruby_method(line: &str) -> bool {
    line.trim().strip_prefix("def ").is_some_and(|rest| {
        let name = rest.split(['(', ' ']).next().unwrap_or("");
        let bare = rest.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '?' | '!' | '.'));
        !name.is_empty() && (bare || rest.ends_with(')')) && !rest.contains(" = ") && !rest.contains(": ")
    })
}

/// `for x in y` or `for i = 1:n` with nothing to open the body.
fn is_bare_for(line: &str) -> bool {
    line.trim().strip_prefix("for ").is_some_and(|rest| {
        (rest.contains(" in ") || rest.contains(" = ") || rest.contains('='))
            && !rest.ends_with([':', '{', ';'])
            && !rest.ends_with(" do")
            && !rest.ends_with("then")
            && !rest.starts_with('(')
    })
}

/// `using Name` without a semicolon.
fn is_julia_using(line: &str) -> bool {
    line.trim().strip_prefix("using ").is_some_and(|rest| rest.starts_with(char::is_uppercase) && !rest.ends_with(';'))
}

/// `x = [1 2 3]`: numbers with only spaces between them.
fn is_spaced_matrix(line: &str) -> bool {
    line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).is_some_and(|(inside, _)| {
        inside.trim().contains(' ')
            && !inside.contains(',')
            && inside.split([' ', ';']).all(|item| item.is_empty() || item.parse::<f64>().is_ok())
    })
}

/// A Sass variable, by whether a semicolon ends it.
fn is_sass_variable(line: &str) -> bool {
    is_style_variable(line) && !line.trim_end().ends_with([';', '{', ',', ')'])
}

fn is_scss_variable(line: &str) -> bool {
    is_style_variable(line) && line.trim_end().ends_with(';')
}

fn is_style_variable(line: &str) -> bool {
    line.trim().strip_prefix('$').and_then(|rest| rest.split_once(':')).is_some_and(|(name, value)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            && value.starts_with(' ')
    })
}

fn is_sass_property(line: &str) -> bool {
    is_style_property(line) && !line.trim_end().ends_with([';', '{', ',', ':'])
}

fn is_scss_property(line: &str) -> bool {
    is_style_property(line) && line.trim_end().ends_with(';')
}

fn is_style_property(line: &str) -> bool {
    const NAMES: &[&str] = &[
        "background", "border", "bottom", "box-shadow", "color", "cursor", "display", "flex", "float", "font", "font-family",
        "font-size", "font-weight", "height", "left", "line-height", "margin", "max-width", "opacity", "padding", "position",
        "right", "text-align", "text-decoration", "top", "transition", "width", "z-index",
    ];
    line.trim().split_once(": ").is_some_and(|(name, _)| {
        NAMES.iter().any(|known| name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')))
    })
}

/// `square = (x) -> x * x`: an assigned function without braces or keyword.
fn is_coffee_function(line: &str) -> bool {
    let line = line.trim();
    let assigned = line.contains(" = (") || line.contains(": (") || line.contains("= ->") || line.contains(": ->");
    assigned && line.contains(" ->") && !line.contains('{') && !line.starts_with("let ") && !line.starts_with("type ")
}

/// `console.log numbers`: a call without brackets.
fn is_coffee_call(line: &str) -> bool {
    line.trim().strip_prefix("console.log ").is_some_and(|rest| !rest.starts_with('('))
}

use Pattern::{AnyCase, Comment, Has, Holds, Is, Line, Quoted, Spans, Starts, Word};

pub(super) static SIGNALS: &[Signals] = &[
    Signals {
        language: "python",
        extends: None,
        signals: &[
            (6, Holds("from ", " import ")),
            (5, Spans("def ", ":")),
            (5, Spans("async def ", ":")),
            (4, Spans("class ", ":")),
            (3, Spans("if ", ":")),
            (3, Spans("for ", ":")),
            (3, Spans("while ", ":")),
            (4, Spans("with ", ":")),
            (3, Is(&["try:", "else:", "finally:"])),
            (4, Spans("except", ":")),
            (3, Spans("elif ", ":")),
            (6, Has(&["__name__", "__init__", "__str__", "__repr__"])),
            (4, Has(&[" in range(", " in enumerate("])),
            (2, Word(&["range("])),
            (2, Word(&["print("])),
            (-6, Starts(&["echo ", "var ", "let ", "proc "])),
            (4, Has(&["print(f\"", "print(f'"])),
            (2, Has(&["self."])),
            (2, Word(&["sys.argv", "input(", "len(", "str(", "int(", "sum(", "sorted("])),
            (2, Word(&["None", "True", "False"])),
            (3, Has(&[" is None", " is not None", " not in "])),
            (5, Holds("import ", " as ")),
            (4, Starts(PYTHON_MODULES)),
            (2, Has(&[".append(", ".items()", ".join(", ".format(", ".strip()"])),
            (2, Has(&["lambda ", "[x for ", " for x in ", "**"])),
            (3, Is(&["pass"])),
            (3, Starts(&["@dataclass", "@property", "@staticmethod", "@classmethod"])),
            (1, Starts(&["raise ", "assert ", "yield ", "del "])),
            (1, Comment("#")),
        ],
    },
    Signals {
        language: "javascript",
        extends: None,
        signals: &[
            (6, Has(&["console.log(", "console.error(", "console.table(", "console.log ("])),
            (3, Has(&[" === ", " !== "])),
            (3, Holds("const ", " = ")),
            (1, Starts(&["let ", "var "])),
            (2, Has(&["=> {", ") => ", "=> "])),
            (4, Has(&["require('", "require(\""])),
            (4, Starts(&["async function ", "function* "])),
            (2, Spans("function ", "{")),
            (2, Has(&["= function(", "= function (", "(function("])),
            (5, Has(&["document.", "window.", "process.argv", "process.stdin", "process.stdout", "module.exports"])),
            (4, Has(&["JSON.stringify(", "JSON.parse(", "Math.floor(", "Math.max(", "Object.keys(", "new Promise(", "Array.from("])),
            (4, Holds("import ", " from ")),
            (4, Starts(&["export default ", "export const ", "export function "])),
            (2, Quoted(&["`${", "${"])),
            (3, Has(&["typeof ", "instanceof ", "undefined"])),
            (2, Has(&[".map(", ".forEach(", ".filter(", ".reduce(", ".push(", ".length"])),
            (1, Has(&["await ", "new ", "null"])),
            (-6, Line(is_coffee_function)),
            (1, Comment("//")),
        ],
    },
    Signals {
        language: "typescript",
        extends: Some("javascript"),
        signals: &[
            (4, Has(&[": string", ": number", ": boolean", ": any", ": unknown", "string[]", "number[]"])),
            (3, Has(&["): void", "): Promise<", ": Record<", ": Array<", "Map<string", "<T>("])),
            (3, Spans("interface ", "{")),
            (3, Spans("export interface ", "{")),
            (3, Holds("type ", " = ")),
            (3, Holds("export type ", " = ")),
            (4, Has(&[" as const", " as any", " as string", " as number", "keyof ", "import type "])),
            (1, Starts(&["enum ", "private ", "public ", "readonly ", "abstract "])),
        ],
    },
    Signals {
        language: "bash",
        extends: None,
        signals: &[
            (5, Is(&["fi", "done", "esac", ";;"])),
            (5, Has(&["; then", "; do"])),
            (3, Is(&["then", "do"])),
            (5, Has(&["[[ ", "if [ ", "while [ "])),
            (4, Starts(&["echo "])),
            (2, Has(&["$(", "`"])),
            (3, Has(&["$((", "${#", "[@]}", "$#", "$@", "$?", "$1"])),
            (2, Quoted(&["\"$", "${"])),
            (4, Starts(SHELL_COMMANDS)),
            (2, Line(is_shell_assignment)),
            (3, Line(is_shell_function)),
            (5, Starts(&["set -e", "set -u", "set -o ", "read -r ", "read -p ", "declare -", "local -"])),
            (4, Has(&["| grep", "| awk", "| sort", "| head", "| wc", "| tr", "| sed", "| xargs", "| cut"])),
            (4, Has(&[">&2", "2>&1", "/dev/null", "<<EOF", "<< EOF"])),
            (2, Starts(&["printf '", "printf \"", "export ", "local ", "shift", "exit "])),
            (1, Comment("#")),
        ],
    },
    Signals {
        language: "c",
        extends: None,
        signals: &[
            (6, Has(&["<stdio.h>", "<stdlib.h>", "<string.h>", "<math.h>", "<unistd.h>", "<stdint.h>", "<stdbool.h>"])),
            (3, Starts(&["#include"])),
            (3, Starts(&["#define ", "#ifdef ", "#ifndef ", "#endif", "#pragma "])),
            (4, Starts(&["int main(", "int main ("])),
            (2, Has(&["printf("])),
            (3, Has(&["scanf(", "malloc(", "sizeof(", "strlen(", "fgets("])),
            (2, Has(&["char *", "char*", "int *", "void *", "->"])),
            (2, Starts(&["typedef ", "struct ", "static ", "unsigned ", "extern "])),
            (1, Starts(&["int ", "char ", "double ", "float ", "void "])),
            (1, Word(&["NULL"])),
            (1, Comment("//")),
        ],
    },
    Signals {
        language: "cpp",
        extends: Some("c"),
        signals: &[
            (6, Has(&["<iostream>", "<vector>", "<string>", "<algorithm>", "<map>", "<memory>", "<numeric>", "<set>", "<cmath>"])),
            (5, Has(&["std::cout", "std::cin", "std::string", "std::vector", "std::endl", "std::map", "std::unique_ptr", "std::sort("])),
            (6, Starts(&["using namespace "])),
            (5, Has(&["cout <<", "cin >>", "<< endl"])),
            (4, Starts(&["template <", "template<"])),
            (3, Has(&["public:", "private:", "protected:", "nullptr", "static_cast<", "constexpr "])),
            (1, Has(&["::"])),
        ],
    },
    Signals {
        language: "rust",
        extends: None,
        signals: &[
            (6, Has(&["println!(", "print!(", "eprintln!(", "format!(", "vec![", "panic!(", "assert_eq!(", "writeln!("])),
            (3, Starts(&["fn main()"])),
            (2, Starts(&["fn ", "pub fn "])),
            (5, Starts(&["let mut "])),
            (5, Starts(&["use std::", "use crate::", "use super::"])),
            (4, Starts(&["impl ", "impl<"])),
            (3, Has(&["&str", "&mut ", "&self", "Option<", "Result<", "Vec<", ".unwrap()", "String::from(", "Some(", "Box<"])),
            (4, Starts(&["#[derive", "#[cfg", "#[test]", "#![", "#[allow"])),
            (3, Has(&[": i32", ": u32", ": u64", ": f64", ": usize", "-> i32", "-> bool", "-> String", " as usize"])),
            (2, Spans("match ", "{")),
            (2, Starts(&["pub struct ", "pub enum ", "struct ", "enum ", "mod "])),
            (1, Has(&[" -> ", ".iter()", ".collect"])),
            (1, Starts(&["let "])),
            (1, Comment("//")),
        ],
    },
    Signals {
        language: "go",
        extends: None,
        signals: &[
            (8, Is(&["package main"])),
            (1, Starts(&["package "])),
            (5, Has(&["fmt.Print", "fmt.Sprint", "fmt.Error", "fmt.Scan", "fmt.Fprint"])),
            (4, Starts(&["func main() {"])),
            (3, Starts(&["func (", "func "])),
            (3, Has(&[" := "])),
            (3, Starts(&["import (", "import \""])),
            (5, Has(&["err != nil", "[]int{", "[]string{", "chan ", "go func(", "map[string]", "[]byte(", ":= range "])),
            (5, Spans("type ", "struct {")),
            (4, Spans("type ", "interface {")),
            (2, Starts(&["defer "])),
            (1, Comment("//")),
        ],
    },
    Signals {
        language: "java",
        extends: None,
        signals: &[
            (8, Has(&["public static void main", "static void main(String"])),
            (6, Has(&["System.out.print", "System.in", "System.err.print"])),
            (3, Starts(&["public class ", "public final class ", "public interface ", "public enum "])),
            (5, Starts(&["import java.", "import javax.", "import static java."])),
            (2, Starts(&["private ", "protected ", "public "])),
            (3, Has(&["String[] ", "new ArrayList<", "new HashMap<", "List<", "Map<String", "Integer.parseInt("])),
            (3, Has(&["@Override"])),
            (1, Has(&[" throws ", " implements ", " extends ", "final "])),
            (1, Comment("//")),
        ],
    },
    Signals {
        language: "csharp",
        extends: None,
        signals: &[
            (7, Has(&["Console.Write", "Console.Read"])),
            (6, Starts(&["using System"])),
            (3, Starts(&["namespace "])),
            (6, Has(&["static void Main(", "static async Task Main(", "static int Main("])),
            (2, Has(&["string[] args", "string[] "])),
            (4, Has(&["foreach (var ", "{ get; set; }", "{ get; }", "IEnumerable<", "List<int>", "Dictionary<string", "Dictionary<int"])),
            (2, Has(&[".Select(", ".Where(", ".ToList()", ".Length", ".Count"])),
            (1, Has(&["public class ", "$\"", "var ", "static "])),
            (1, Comment("//")),
        ],
    },
    Signals {
        language: "kotlin",
        extends: None,
        signals: &[
            (6, Starts(&["fun main("])),
            (4, Starts(&["fun ", "private fun ", "override fun ", "inline fun "])),
            (2, Starts(&["val "])),
            (1, Starts(&["var "])),
            (1, Has(&["println("])),
            (6, Starts(&["data class ", "sealed class ", "companion object", "enum class "])),
            (5, Has(&["listOf(", "mutableListOf(", "mapOf(", "arrayOf(", "setOf(", "intArrayOf("])),
            (2, Has(&[": Int", ": String", ": Boolean", ": Double", ": Array<"])),
            (3, Has(&["when (", "when {", "readLine()", "readln()", " until ", "?.let"])),
            (5, Starts(&["import kotlin", "import kotlinx"])),
            (2, Quoted(&["${", "\"$"])),
            (1, Comment("//")),
        ],
    },
    Signals {
        language: "ruby",
        extends: None,
        signals: &[
            (3, Starts(&["puts "])),
            (4, Line(is_ruby_method)),
            (2, Is(&["end"])),
            (5, Has(&[" do |", "{ |", "{|"])),
            (3, Quoted(&["#{"])),
            (6, Starts(&["attr_accessor ", "attr_reader ", "attr_writer "])),
            (3, Starts(&["require '", "require \"", "require_relative "])),
            (4, Has(&[".each ", ".each_with_index", ".nil?", ".to_s", ".to_i", ".inspect", ".empty?", ".times ", ".map {", ".map(&", ".new("])),
            (4, Holds("class ", " < ")),
            (1, Word(&["nil", "elsif", "unless", "gets", "yield"])),
            (3, Has(&["$stdin", "$stdout", "ARGV", "STDIN", "gets.chomp", "rescue "])),
            (2, Starts(&["p ", "print ", "raise ", "class ", "module "])),
            (2, Has(&["@"])),
            (1, Has(&[" => ", " then"])),
            (1, Comment("#")),
        ],
    },
    Signals {
        language: "php",
        extends: None,
        // Without the opening tag PHP prints the program instead of running it.
        signals: &[(12, Quoted(&["<?php", "<?="]))],
    },
    Signals {
        language: "perl",
        extends: None,
        signals: &[
            (6, Starts(&["use strict", "use warnings", "no strict"])),
            (5, Starts(&["my $", "my @", "my %", "my (", "our $", "our @"])),
            (5, Has(&["foreach my ", "for my ", "push @", "keys %", "scalar @", "scalar(@", "chomp", "shift @"])),
            (4, Has(&["@_", "$_", "=~ ", "qw(", "<STDIN>", "$ARGV[", "@ARGV", "->{", "}->", "%$", "@$", "@{$"])),
            (3, Spans("sub ", "{")),
            (2, Starts(&["print \"", "printf \"", "printf(\"", "print(\"", "die \"", "print $"])),
            (2, Has(&["elsif", "unless (", " eq ", " ne ", "join("])),
            (2, Starts(&["$"])),
            (2, Is(&["1;", "__END__"])),
            (1, Comment("#")),
        ],
    },
    Signals {
        language: "raku",
        extends: Some("perl"),
        signals: &[
            (8, Starts(&["use v6"])),
            (3, Starts(&["say ", "put "])),
            (7, Has(&["sub MAIN", "multi MAIN", "@*ARGS", "$*IN", "$*OUT", "$*ERR"])),
            (4, Has(&[".say", ".put", ".grep(*", ".map(*", ".elems", ".words", ".comb"])),
            (5, Has(&[" -> $", " -> @", "-> Int ", "multi sub ", "has $.", "has $!", "[+] ", "[*] ", "returns Int"])),
            (3, Has(&[" %% ", " ... ", "..^", "gather ", " ~ ", "loop ("])),
            (4, Starts(&["my Int ", "my Str ", "my Num ", "my Bool ", "constant ", "subset ", "unit "])),
        ],
    },
    Signals {
        language: "lua",
        extends: None,
        signals: &[
            (7, Starts(&["local function "])),
            (4, Holds("local ", " = ")),
            (3, Spans("function ", ")")),
            (3, Spans("if ", " then")),
            (2, Starts(&["elseif "])),
            (4, Spans("for ", " do")),
            (3, Spans("while ", " do")),
            (2, Is(&["end", "end)", "end,"])),
            (3, Has(&[" .. "])),
            (6, Has(&["ipairs(", " pairs(", "io.write(", "string.format(", "table.insert(", "table.concat(", "setmetatable(", "io.read(", "string.sub("])),
            (3, Has(&[" ~= ", "arg[", "tonumber(", "math.floor(", "#arg", "= #", ", #"])),
            (2, Word(&["print("])),
            (-3, Has(&[";\n"])),
            (1, Word(&["nil", "local"])),
            (2, Comment("--")),
        ],
    },
    Signals {
        language: "sql",
        extends: None,
        signals: &[
            (5, AnyCase(&Starts(&["select "]))),
            (8, AnyCase(&Starts(&["create table ", "create view ", "create index ", "create temp "]))),
            (7, AnyCase(&Starts(&["insert into ", "delete from ", "drop table ", "alter table "]))),
            (5, AnyCase(&Holds("update ", " set "))),
            (5, AnyCase(&Holds("with ", " as ("))),
            (2, AnyCase(&Has(&[" from ", "\nfrom "]))),
            (3, AnyCase(&Has(&["group by ", "order by ", " join ", " where ", "\nwhere ", " values ", "values ("]))),
            (1, Comment("--")),
        ],
    },
    Signals {
        language: "r",
        extends: None,
        signals: &[
            (6, Has(&["<- function("])),
            (3, Has(&[" <- "])),
            (4, Starts(&["library(", "require(", "suppressPackageStartupMessages("])),
            (3, Has(&["<- c(", "= c(", "(c("])),
            (3, Starts(&["cat("])),
            (5, Has(&["data.frame(", "%>%", "sapply(", "lapply(", "ggplot(", "paste0(", "paste(", "commandArgs(", "as.numeric(", "as.integer(", "%in%", "%%"])),
            (3, Has(&["seq_along(", "length(", "nchar(", "matrix(", "rnorm(", "summary(", "is.na(", "sprintf(", "mean("])),
            (1, Word(&["print("])),
            (2, Word(&["TRUE", "FALSE", "NULL", "NA"])),
            (2, Has(&["for (i in ", " in 1:", " in seq"])),
            (1, Comment("#")),
        ],
    },
    Signals {
        language: "julia",
        extends: None,
        signals: &[
            (2, Has(&["println("])),
            (2, Is(&["end"])),
            (-4, Has(&[";\n"])),
            (5, Line(is_julia_using)),
            (3, Spans("function ", ")")),
            (6, Has(&["::Int", "::Float64", "::String", "::Vector", "::Bool", "Vector{", "Dict{", "Array{"])),
            (7, Starts(&["mutable struct ", "abstract type "])),
            (3, Line(is_bare_for)),
            (7, Has(&["push!(", "append!(", "sort!(", "pop!(", "@printf", "@show", "@time", "ARGS", "parse(Int"])),
            (3, Has(&["÷", "∈", "Dict(", "nothing", "collect(", "length(", ".^", "isempty("])),
            (1, Starts(&["elseif ", "if ", "struct ", "return "])),
            (2, Quoted(&["\"$", "$("])),
            (1, Comment("#")),
        ],
    },
    Signals {
        language: "swift",
        extends: None,
        signals: &[
            (7, Starts(&["import Foundation", "import SwiftUI", "import UIKit", "import Swift"])),
            (3, Starts(&["func ", "private func ", "static func "])),
            (1, Starts(&["let "])),
            (1, Starts(&["var "])),
            (4, Quoted(&["\\("])),
            (5, Has(&["guard let ", "guard ", "..<", "CommandLine.arguments", "readLine(", "fatalError("])),
            (2, Has(&["if let ", "-> Int", "-> String", "-> Bool", "-> ["])),
            (2, Has(&[": Int", ": String", ": Double", ": [", "[String: ", "[Int]"])),
            (3, Has(&["(_ "])),
            (2, Word(&["print("])),
            (4, Starts(&["protocol ", "extension ", "mutating func ", "init("])),
            (1, Word(&["nil", "self"])),
            (1, Comment("//")),
        ],
    },
    Signals {
        language: "scala",
        extends: None,
        signals: &[
            (7, Holds("object ", "extends App")),
            (5, Spans("object ", "{")),
            (6, Has(&["args: Array[String]", "@main def "])),
            (5, Starts(&["case class ", "case object ", "sealed trait "])),
            (2, Starts(&["val ", "trait ", "lazy val "])),
            (3, Has(&["println(s\"", "s\""])),
            (6, Starts(&["import scala."])),
            (5, Has(&[": Unit =", ": Int =", ": String =", ": Boolean =", "List[Int", "List[String", "Seq[", "Option[", "Array["])),
            (3, Has(&["List(", "Seq(", ".foldLeft(", ".mkString", ".toInt", "match {"])),
            (1, Has(&["println(", " => ", "yield ", "extends "])),
            (2, Spans("def ", "{")),
            (2, Spans("def ", "=")),
            (1, Comment("//")),
        ],
    },
    Signals {
        language: "groovy",
        extends: None,
        signals: &[
            (4, Starts(&["println \"", "println '", "println "])),
            (3, Holds("def ", " = ")),
            (3, Spans("def ", "{")),
            (5, Has(&[".each {", ".each{", ".collect {", ".collect{", ".findAll {", ".times {", ".eachWithIndex {", ".inject("])),
            (7, Starts(&["@Grab", "import groovy", "@groovy", "#!/usr/bin/env groovy"])),
            (3, Has(&["{ it", "[:]", " as int", " as Integer", "System.in.", "args[0]", ".toInteger()"])),
            (1, Has(&["System.out.println", "new ", "final ", "class "])),
            (2, Quoted(&["${", "\"$"])),
            (1, Comment("//")),
        ],
    },
    Signals {
        language: "clojure",
        extends: None,
        signals: &[
            (8, Starts(&["(ns ", "(defn ", "(defn- "])),
            (6, Has(&["(println ", "(fn [", "(let [", "(doseq [", "(loop [", "(recur "])),
            (3, Starts(&["(def "])),
            (4, Has(&["(for [", "(-> ", "(->> ", "(:require", "(require '", "(if-let [", "(when-let [", "(dotimes ["])),
            (3, Has(&["{:", "(str ", "(vals ", "(keys ", "(assoc ", "(conj ", "#(", "(atom ", "swap!"])),
            (1, Has(&["(map ", "(reduce ", "(filter "])),
            (1, Comment(";")),
        ],
    },
    Signals {
        language: "fsharp",
        extends: None,
        signals: &[
            (8, Has(&["printfn "])),
            (5, Has(&["|> List.", "|> Seq.", "|> Array.", "|> Map.", "|> Set."])),
            (10, Starts(&["[<EntryPoint>]"])),
            (6, Starts(&["open System", "let mutable "])),
            (3, Has(&["Seq.", "Array.", "Map.", "async {", "member ", "failwithf "])),
            (3, Spans("match ", " with")),
            (2, Has(&["|> ", "fun "])),
            (2, Starts(&["let rec ", "type ", "elif "])),
            (1, Starts(&["let "])),
            (1, Comment("//")),
        ],
    },
    Signals {
        language: "dart",
        extends: None,
        signals: &[
            (4, Starts(&["void main() {", "void main(List<String>", "main() {", "void main() =>", "main(List<String>", "void main() async {"])),
            (8, Starts(&["import 'dart:", "import \"dart:", "import 'package:", "import \"package:"])),
            (6, Has(&["List<String> args", "List<String> arguments", "stdin.readLineSync", "stdout.write("])),
            (2, Word(&["print("])),
            (2, Starts(&["final ", "late "])),
            (1, Starts(&["var ", "int ", "String ", "bool ", "double "])),
            (3, Has(&["List<int>", "Future<", "Map<String, ", "@override", "factory ", ".fold<", "int.parse(", "int.tryParse("])),
            (2, Quoted(&["'$", "\"$", "${"])),
            (1, Comment("//")),
        ],
    },
    Signals {
        language: "haskell",
        extends: None,
        signals: &[
            (8, Starts(&["main ::", "{-# LANGUAGE"])),
            (6, Has(&[":: IO ()"])),
            (6, Starts(&["main = do", "main = "])),
            (5, Spans("module ", "where")),
            (6, Starts(&["import qualified ", "import Data.", "import Control.", "import System.", "import Text.", "import Prelude"])),
            (3, Has(&[" :: "])),
            (5, Has(&["putStrLn", "mapM_ ", "putStr ", "getArgs", "getLine"])),
            (3, Is(&["where"])),
            (4, Holds("data ", " = ")),
            (4, Has(&["deriving ", "newtype ", " <$> ", " >>= ", "foldr ", "concatMap "])),
            (3, Has(&[" $ "])),
            (2, Spans("case ", " of")),
            (2, Starts(&["instance ", "class ", "type "])),
            (1, Has(&[" <- ", " -> "])),
            (1, Comment("--")),
        ],
    },
    Signals {
        language: "ocaml",
        extends: None,
        signals: &[
            (6, Starts(&["let () =", "let () ="])),
            (6, Has(&["Printf.printf", "Printf.sprintf", "print_endline", "print_string", "print_int", "print_newline", "string_of_int", "int_of_string"])),
            (4, Spans("let ", " in")),
            (3, Starts(&["let rec "])),
            (1, Starts(&["let ", "type ", "open "])),
            (4, Has(&[";;"])),
            (3, Spans("match ", " with")),
            (3, Has(&["List.fold_left", "List.iter", "Array.length", "Hashtbl.", "Sys.argv", "List.length", "List.nth"])),
            (2, Has(&["| _ ->", "fun ", "failwith ", "List.map", "-> "])),
            (3, Has(&["(*", " := !", "ref 0"])),
            (6, Has(&["= struct", ": sig", "with Failure"])),
        ],
    },
    Signals {
        language: "elixir",
        extends: None,
        signals: &[
            (8, Starts(&["defmodule "])),
            (5, Spans("def ", " do")),
            (6, Starts(&["defp "])),
            (7, Has(&["IO.puts", "IO.inspect", "IO.gets"])),
            (5, Has(&["Enum.", "System.argv"])),
            (2, Has(&["|> "])),
            (3, Has(&["fn ", "do:", "%{", "{:ok", ":error", "|> Enum"])),
            (4, Starts(&["@moduledoc", "@doc", "use GenServer", "@spec"])),
            (3, Spans("case ", " do")),
            (1, Is(&["end"])),
            (1, Comment("#")),
        ],
    },
    Signals {
        language: "erlang",
        extends: None,
        signals: &[
            (10, Starts(&["-module("])),
            (8, Starts(&["-export(["])),
            (7, Has(&["io:format(", "io:fwrite(", "lists:", "io:get_line("])),
            (5, Spans("main(", "->")),
            (2, Has(&[" -> ", "->\n"])),
            (3, Is(&["receive", "end."])),
            (2, Has(&["spawn(", "fun(", " when "])),
            (2, Comment("%")),
        ],
    },
    Signals {
        language: "racket",
        extends: None,
        signals: &[
            (14, Starts(&["#lang "])),
            (5, Has(&["(displayln ", "(for ([", "(module+ ", "(struct "])),
            (3, Has(&["(let ([", "(printf ", "(define ("])),
            (2, Has(&["(provide", "(require racket"])),
            (1, Comment(";")),
        ],
    },
    Signals {
        language: "scheme",
        extends: None,
        signals: &[
            (4, Starts(&["(define ("])),
            (3, Starts(&["(define "])),
            (5, Has(&["(display "])),
            (5, Has(&["(newline)"])),
            (5, Has(&["(let loop (", "(call/cc ", "(let loop (("])),
            (8, Has(&["(use-modules ", "(import (scheme", "(import (rnrs", "(import (chicken"])),
            (2, Has(&["(lambda (", "(set! ", "(begin", "#t", "#f", "(cond", "(else"])),
            (1, Has(&["(car ", "(cdr ", "(let (("])),
            (1, Comment(";")),
        ],
    },
    Signals {
        language: "lisp",
        extends: None,
        signals: &[
            (8, Has(&["(defun ", "(format t "])),
            (7, Has(&["(defparameter ", "(defvar ", "(defconstant ", "(in-package ", "(defclass "])),
            (5, Has(&["(setf ", "(setq ", "(dolist ", "(dotimes ", "(mapcar ", "(progn", "(multiple-value-bind", "(loop for"])),
            (5, Has(&["(princ ", "(print ", "(write-line ", "(terpri)", "(write-string "])),
            (3, Has(&["#'"])),
            (2, Has(&["(let ((", "(let* ((", "(defmacro "])),
            (1, Has(&["(car ", "(cdr ", "(lambda ("])),
            (1, Comment(";")),
        ],
    },
    Signals {
        language: "nim",
        extends: None,
        signals: &[
            (6, Spans("proc ", "=")),
            (4, Starts(&["proc ", "func ", "iterator "])),
            (3, Starts(&["echo "])),
            (8, Starts(&["import std/", "from std/", "when isMainModule"])),
            (6, Has(&["strutils", "sequtils", "commandLineParams", "paramStr(", "paramCount("])),
            (5, Has(&["seq[", "@[", "newException(", "newSeq[", "stdin.readLine", "readLine(stdin)"])),
            (3, Holds("var ", ": ")),
            (2, Holds("let ", " = ")),
            (2, Spans("if ", ":")),
            (2, Spans("for ", ":")),
            (2, Spans("while ", ":")),
            (2, Spans("elif ", ":")),
            (2, Is(&["try:", "else:", "finally:"])),
            (2, Has(&[" mod ", " div "])),
            (2, Is(&["type", "var", "let", "const"])),
            (5, Spans("", "= object")),
            (3, Has(&["discard", "result = ", "result.add", "..<"])),
            (3, Has(&["fmt\"", "&\""])),
        ],
    },
    Signals {
        language: "crystal",
        extends: Some("ruby"),
        signals: &[
            (4, Has(&["Int32", "Float64", "Int64", "UInt8", ".to_i32", ".to_i64"])),
            (3, Has(&[" : String", " : Array(", " : Bool", " : Nil", "Array(String)"])),
            (5, Has(&["{} of ", "[] of ", "Hash(String", ".to_i?", ".to_i64?"])),
            (4, Starts(&["property ", "getter ", "setter ", "abstract def ", "record "])),
        ],
    },
    Signals {
        language: "zig",
        extends: None,
        signals: &[
            (8, Has(&["@import("])),
            (5, Starts(&["pub fn main("])),
            (4, Starts(&["const std = "])),
            (7, Has(&["std.debug.print", "std.io.", "std.mem.", "std.process.", "std.fs.", "std.heap."])),
            (4, Has(&["[_]", "!void", "comptime ", "[]const u8", "[*:0]", "@intCast(", "@as("])),
            (5, Starts(&["extern fn ", "export fn "])),
            (2, Has(&[".{", " orelse ", "allocator", ": usize", "c_int"])),
            (1, Starts(&["fn ", "const ", "var ", "defer "])),
        ],
    },
    Signals {
        language: "d",
        extends: None,
        signals: &[
            (9, Starts(&["import std.", "import std;", "import core."])),
            (2, Starts(&["void main(", "int main("])),
            (4, Has(&["writeln(", "writefln(", "writef(", "readln("])),
            (6, Has(&[".map!(", "to!int", "to!string", "filter!(", "to!(", ".map!\"", "iota("])),
            (2, Starts(&["auto ", "immutable ", "alias ", "foreach (", "enum "])),
            (1, Has(&["string[] ", "int[] ", " ~= "])),
            (1, Comment("//")),
        ],
    },
    Signals {
        language: "v",
        extends: None,
        signals: &[
            (4, Starts(&["fn main() {", "fn main(){"])),
            (6, Starts(&["mut ", "module main"])),
            (2, Has(&[" := "])),
            (3, Has(&["println('"])),
            (5, Has(&[" or {", "fn (mut ", "fn (", "os.args", "arguments()", "strconv."])),
            (1, Starts(&["fn ", "import os", "pub fn ", "struct "])),
            (1, Has(&["println("])),
            (2, Quoted(&["'${", "'$"])),
            (3, Has(&["[]int{", "[]string{", " !in ", ".len"])),
            (1, Comment("//")),
        ],
    },
    Signals {
        language: "kit",
        extends: None,
        signals: &[(4, Starts(&["function main() {"])), (2, Has(&["printf(\""])), (8, Starts(&["import kit."]))],
    },
    Signals {
        language: "fortran",
        extends: None,
        signals: &[
            (3, AnyCase(&Starts(&["program "]))),
            (9, AnyCase(&Starts(&["end program", "implicit none"]))),
            (7, AnyCase(&Starts(&["integer ::", "real ::", "integer, ", "real, ", "character(", "character ::", "logical ::", "integer("]))),
            (8, AnyCase(&Has(&["print *,", "print*,", "write(*,", "write (*,", "read(*,", "read *,", "read (*,"]))),
            (6, AnyCase(&Starts(&["subroutine ", "end subroutine", "end function", "recursive function ", "recursive subroutine "]))),
            (5, AnyCase(&Is(&["end do", "enddo", "end if", "endif", "contains"]))),
            (4, AnyCase(&Has(&[" .and. ", ".true.", ".false.", " .or. ", "intent(in)"]))),
            (2, AnyCase(&Starts(&["do ", "call "]))),
        ],
    },
    Signals {
        language: "pascal",
        extends: None,
        signals: &[
            (7, AnyCase(&Spans("program ", ";"))),
            (6, AnyCase(&Is(&["end."]))),
            (4, AnyCase(&Is(&["begin"]))),
            (2, AnyCase(&Is(&["end;", "var", "const", "type"]))),
            (2, Has(&[" := ", ":="])),
            (4, AnyCase(&Has(&["writeln(", "readln(", "write(", "readln;"]))),
            (4, AnyCase(&Spans("uses ", ";"))),
            (4, AnyCase(&Starts(&["procedure "]))),
            (3, AnyCase(&Spans("function ", ";"))),
            (4, AnyCase(&Has(&[": integer", ": string;", ": real;", ": boolean;", ": longint", "array[", "array of "]))),
            (8, AnyCase(&Quoted(&["{$mode"]))),
        ],
    },
    Signals {
        language: "tcl",
        extends: None,
        signals: &[
            (3, Starts(&["puts "])),
            (4, Starts(&["set "])),
            (6, Spans("proc ", "{")),
            (7, Has(&["[lindex ", "[llength ", "[expr ", "[gets stdin", "[lrange ", "[string "])),
            (4, Holds("foreach ", "$")),
            (6, Starts(&["incr ", "lappend ", "package require "])),
            (5, Has(&["if {", "while {", "for {", "expr {"])),
            (3, Has(&["$argv", "puts $", "puts ["])),
            (1, Comment("#")),
        ],
    },
    Signals {
        language: "awk",
        extends: None,
        signals: &[
            (7, Starts(&["BEGIN {", "BEGIN{", "END {", "END{"])),
            (6, Starts(&["{ print", "{print"])),
            (4, Has(&["print $", "$NF", "$0"])),
            (3, Word(&["NR", "NF", "FS", "OFS", "FNR", "RS", "getline"])),
            (2, Has(&["gsub(", "split(", "ARGV[", "toupper(", "substr("])),
            (1, Has(&["printf \"", "length("])),
            (1, Starts(&["function "])),
            (1, Comment("#")),
        ],
    },
    Signals {
        language: "powershell",
        extends: None,
        signals: &[
            (7, AnyCase(&Has(&["write-host", "write-output", "foreach-object", "where-object", "new-object", "get-childitem", "get-content", "measure-object", "read-host", "get-process", "get-date", "sort-object", "select-object", "convertto-json", "write-error"]))),
            (2, Holds("$", " = ")),
            (3, AnyCase(&Starts(&["param(", "param ("]))),
            (3, Has(&["[int]", "[string]", "$_.", "| %", "@{", "@(", "[System."])),
            (2, Has(&[" -eq ", " -ne ", " -gt ", " -lt ", " -le ", " -match "])),
            (2, AnyCase(&Starts(&["foreach ($", "if ($", "function "]))),
            (1, Comment("#")),
        ],
    },
    Signals {
        language: "coffeescript",
        extends: None,
        signals: &[
            (7, Has(&["console.log \"", "console.log '", "console.log @"])),
            (6, Line(is_coffee_call)),
            (5, Line(is_coffee_function)),
            (2, Quoted(&["#{"])),
            (5, Has(&[" isnt ", "= ->"])),
            (2, Has(&[" is ", " unless ", " then "])),
            (2, Has(&["[0..", "[1..", " when ", "..."])),
            (3, Has(&["require '", "require \"", "process."])),
            (2, Spans("", "->")),
            (1, Comment("#")),
        ],
    },
    Signals {
        language: "octave",
        extends: None,
        signals: &[
            (8, Is(&["endfunction", "endif", "endfor", "endwhile", "end_try_catch"])),
            (6, Word(&["disp(", "numel(", "fprintf(", "linspace(", "str2num(", "num2str(", "repmat(", "argv()", "strsplit("])),
            (3, Has(&[" .^ ", " .* ", " ./ ", ".^", "zeros(", "ones(", "mod(", "rem(", "error("])),
            (1, Has(&[";\n"])),
            (4, Holds("function ", " = ")),
            (3, Line(is_spaced_matrix)),
            (5, Is(&["clc", "clear all", "close all", "clear;", "clc;", "clear", "close all;", "clear all;"])),
            (2, Line(is_bare_for)),
            (1, Is(&["end", "end;"])),
            (2, Word(&["printf("])),
            (1, Has(&["mean(", "sum(", "size(", "length("])),
            (3, Comment("%")),
        ],
    },
    Signals {
        language: "sass",
        extends: None,
        signals: &[
            (5, Line(is_sass_variable)),
            (5, Line(is_sass_property)),
            (2, Starts(&["@mixin ", "@include ", "@extend ", "@use ", "&:", "+"])),
        ],
    },
    Signals {
        language: "scss",
        extends: None,
        signals: &[
            (5, Line(is_scss_variable)),
            (5, Line(is_scss_property)),
            (3, Starts(&["@mixin ", "@include ", "@extend ", "@use ", "&:"])),
            (2, Spans(".", "{")),
            (1, Starts(&["@media ", "@import "])),
        ],
    },
];

const PYTHON_MODULES: &[&str] = &[
    "import argparse", "import asyncio", "import collections", "import csv", "import datetime", "import functools", "import io",
    "import itertools", "import json", "import logging", "import math", "import matplotlib", "import numpy", "import os",
    "import pandas", "import random", "import re", "import requests", "import string", "import subprocess", "import sys",
    "import tempfile", "import threading", "import time", "import typing", "import unittest", "import urllib",
];

const SHELL_COMMANDS: &[&str] = &[
    "apt-get ", "awk ", "cat ", "cd ", "chmod ", "cp ", "curl ", "date", "find ", "git ", "grep ", "head ", "ls", "mkdir ", "mv ",
    "pip install ", "pwd", "rm ", "sed ", "seq ", "sleep ", "sort ", "source ", "sudo ", "tail ", "tar ", "touch ", "uname", "wc ",
    "wget ", "which ", "whoami",
];
