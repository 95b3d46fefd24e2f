//! Prepares a program's text for the engine: finds out how it has to be run, and makes it return the value of its last
//! expression. The text stays what it is, line for line; words that are added to a line are recorded, so that positions
//! are reported correctly.

use std::borrow::Cow;

use oxc::allocator::Allocator;
use oxc::ast::ast::{
    ArrowFunctionExpression, AwaitExpression, Expression, ForOfStatement, Function, Program, Statement,
};
use oxc::ast_visit::{Visit, walk};
use oxc::parser::{ParseOptions, Parser};
use oxc::span::{GetSpan as _, SourceType, Span};
use oxc::syntax::scope::ScopeFlags;
use serde::Serialize;

use super::depth::{Obstacle, Syntax};
use crate::typescript::{self, SyntaxError, Token};

/// How a text is run. The numbers are the prelude's too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// As Node runs a `CommonJS` module: as the body of a function.
    Script = 0,
    /// The same, of an asynchronous one: for `await` outside all functions.
    AsyncScript = 1,
    /// As an ES module.
    Module = 2,
    /// The engine can say what is wrong with it.
    Broken = 3,
    /// The text says what is wrong with it.
    Refused = 4,
    /// As a script of the engine's own.
    Cell = 5,
    /// The same with `await` outside all functions.
    AsyncCell = 6,
}

/// Whose text it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The program: its last expression's value is wanted, and its file's name does not have to say that it is a module.
    Main,
    /// A file that it loads.
    Other,
}

/// A text that is ready for the engine.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prepared<'s> {
    pub(super) kind: Kind,
    pub(super) text: Cow<'s, str>,
    /// Words that were added: the place before which they stand, and how long they are.
    insertions: Vec<Insertion>,
    tokens: Option<Vec<Token>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Insertion {
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) width: u32,
}

/// The export that holds the value of a module's last expression.
const MODULE_VALUE: &str = "export const __belljar_value = (";
const SCRIPT_VALUE: &str = "return (";

impl<'s> Prepared<'s> {
    /// Looks at the text of the file `name`.
    pub(super) fn new(source: &'s str, name: &str, role: Role) -> Self {
        if is_typescript(name) {
            return Self::from_typescript(source, name, role);
        }
        let source = without_hashbang(source);
        if Obstacle::find(&source, Syntax::JavaScript).is_some() {
            return Self::plain(source, guessed_kind(name));
        }
        let allocator = Allocator::default();
        let (kind, value, meta) = match examine(&allocator, &source, name) {
            Some(found) => (found.kind, found.value.filter(|_| role == Role::Main), found.uses_meta),
            None if guessed_kind(name) == Kind::Module || has_module_line(&source) => (Kind::Module, None, false),
            None => (Kind::Broken, None, false),
        };
        let mut prepared = Self::plain(source, kind);
        if let Some(span) = value {
            let opening = if kind == Kind::Module { MODULE_VALUE } else { SCRIPT_VALUE };
            prepared.enclose(span, opening);
        }
        if meta && kind == Kind::Module {
            prepared.describe_module(name);
        }
        prepared
    }

    fn from_typescript(source: &'s str, name: &str, role: Role) -> Self {
        let syntax = if ending(name) == "tsx" { Syntax::TypeScriptWithElements } else { Syntax::TypeScript };
        if let Some(obstacle) = Obstacle::find(source, syntax) {
            return Self::refused(&obstacle.explain(source));
        }
        match typescript::to_javascript(source, name) {
            Ok(javascript) => {
                let plain_name =
                    name.replace(".mts", ".mjs").replace(".cts", ".cjs").replace(".tsx", ".js").replace(".ts", ".js");
                let inner = Prepared::new(&javascript.text, &plain_name, role);
                let text = Cow::Owned(inner.text.into_owned());
                Self { kind: inner.kind, text, insertions: inner.insertions, tokens: Some(javascript.places) }
            }
            Err(error) => Self::refused(&error),
        }
    }

    /// A text that was changed elsewhere.
    pub(super) fn changed(text: String, kind: Kind, insertions: Vec<Insertion>, tokens: Option<Vec<Token>>) -> Self {
        Self { kind, text: Cow::Owned(text), insertions, tokens }
    }

    pub(super) fn plain(text: Cow<'s, str>, kind: Kind) -> Self {
        Self { kind, text, insertions: Vec::new(), tokens: None }
    }

    pub(super) fn refused(error: &SyntaxError) -> Self {
        let text = format!("{}\n{}\n{}", error.line, error.column, error.message);
        Self::plain(Cow::Owned(text), Kind::Refused)
    }

    /// Puts an expression between `opening` and a closing bracket.
    fn enclose(&mut self, span: Span, opening: &str) {
        let (start, end) = (span.start as usize, span.end as usize);
        let text = &*self.text;
        let (Some(before), Some(inside), Some(after)) = (text.get(..start), text.get(start..end), text.get(end..))
        else {
            return;
        };
        let (line, column) = typescript::position(text, start);
        self.insertions.push(Insertion { line, column, width: width(opening) });
        self.text = Cow::Owned([before, opening, inside, ")", after].concat());
    }

    /// Gives a module what Node knows about its file.
    fn describe_module(&mut self, name: &str) {
        let Ok(url) = url::Url::from_file_path(name) else { return };
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let folder = name.rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder });
        let opening = format!(
            "import.meta.dirname={};import.meta.filename={};import.meta.url={};\
             import.meta.resolve=(name)=>/^[./]/.test(name)?new URL(name,import.meta.url).href:name;",
            quoted(folder),
            quoted(name),
            quoted(url.as_str()),
        );
        self.insertions.insert(0, Insertion { line: 1, column: 1, width: width(&opening) });
        self.text = Cow::Owned([&opening, &*self.text].concat());
    }

    /// Where the lines came from, as the prelude reads it.
    pub(super) fn source_map(&self) -> String {
        #[derive(Serialize)]
        struct Map {
            shifts: Vec<[u32; 3]>,
            tokens: Option<Vec<[u32; 4]>>,
        }
        let shift = |insertion: &Insertion| [insertion.line, insertion.column, insertion.width];
        let place = |token: &Token| [token.line, token.column, token.original_line, token.original_column];
        let map = Map {
            shifts: self.insertions.iter().map(shift).collect(),
            tokens: self.tokens.as_ref().map(|tokens| tokens.iter().map(place).collect()),
        };
        serde_json::to_string(&map).unwrap_or_default()
    }
}

pub(super) fn width(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

fn is_typescript(name: &str) -> bool {
    ["ts", "tsx", "mts", "cts"].contains(&ending(name))
}

/// What is behind the last dot. Node takes it as it is written.
fn ending(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// What the name alone says.
fn guessed_kind(name: &str) -> Kind {
    if ending(name) == "mjs" { Kind::Module } else { Kind::Script }
}

/// Whether a line is there that only a module can have. For texts that cannot be parsed and still have to be
/// classified.
fn has_module_line(source: &str) -> bool {
    source.lines().any(|line| {
        let declares = |rest: &str| rest.starts_with([' ', '{', '*', '"', '\'']);
        line.strip_prefix("import").is_some_and(declares) || line.strip_prefix("export").is_some_and(declares)
    })
}

/// `#!` is a comment only at the very start of a text, and this text will not be at the start.
pub(super) fn without_hashbang(source: &str) -> Cow<'_, str> {
    match source.strip_prefix("#!") {
        Some(rest) => Cow::Owned(["//", rest].concat()),
        None => Cow::Borrowed(source),
    }
}

/// What there is to know of a text that can be read.
struct Findings {
    kind: Kind,
    /// Where its last expression is.
    value: Option<Span>,
    uses_meta: bool,
}

fn examine(allocator: &Allocator, source: &str, name: &str) -> Option<Findings> {
    // A module's words: without them it is none, and `await` outside all functions needs to be looked for.
    let may_be_module = ["await", "import", "export"].iter().any(|word| source.contains(word));
    let is_forced = guessed_kind(name) == Kind::Module;
    if is_forced || (may_be_module && ending(name) != "cjs") {
        let parsed = parse(allocator, source, SourceType::mjs());
        if !parsed.diagnostics.has_errors() {
            let uses_meta = !parsed.module_record.import_metas.is_empty();
            if is_forced || parsed.module_record.has_module_syntax || uses_meta {
                return Some(Findings { kind: Kind::Module, value: last_expression(&parsed.program), uses_meta });
            }
            if awaits(&parsed.program) {
                let value = last_expression(&parsed.program);
                return Some(Findings { kind: Kind::AsyncScript, value, uses_meta });
            }
        }
        if is_forced {
            return None;
        }
    }
    let parsed = parse(allocator, source, SourceType::cjs());
    if !parsed.diagnostics.has_errors() {
        return Some(Findings { kind: Kind::Script, value: last_expression(&parsed.program), uses_meta: false });
    }
    None
}

pub(super) fn parse<'a>(allocator: &'a Allocator, source: &'a str, kind: SourceType) -> oxc::parser::ParserReturn<'a> {
    let options =
        ParseOptions { allow_return_outside_function: true, preserve_parens: true, ..ParseOptions::default() };
    Parser::new(allocator, source, kind).with_options(options).parse()
}

/// Where the last statement's expression is, if it is one. A text of nothing but a string counts as well.
pub(super) fn last_expression(program: &Program<'_>) -> Option<Span> {
    match program.body.last() {
        Some(Statement::ExpressionStatement(statement)) => Some(statement.expression.span()),
        Some(_) => None,
        None => program.directives.last().map(|directive| directive.expression.span),
    }
}

/// Whether there is an `await` outside all functions.
pub(super) fn awaits(program: &Program<'_>) -> bool {
    #[derive(Default)]
    struct Search {
        found: bool,
    }
    impl<'a> Visit<'a> for Search {
        fn visit_await_expression(&mut self, _: &AwaitExpression<'a>) {
            self.found = true;
        }

        fn visit_for_of_statement(&mut self, statement: &ForOfStatement<'a>) {
            self.found |= statement.r#await;
            walk::walk_for_of_statement(self, statement);
        }

        fn visit_expression(&mut self, expression: &Expression<'a>) {
            if !self.found {
                walk::walk_expression(self, expression);
            }
        }

        fn visit_function(&mut self, _: &Function<'a>, _: ScopeFlags) {}

        fn visit_arrow_function_expression(&mut self, _: &ArrowFunctionExpression<'a>) {}
    }
    let mut search = Search::default();
    search.visit_program(program);
    search.found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main(source: &str) -> (Kind, String) {
        let prepared = Prepared::new(source, "/box/main.js", Role::Main);
        (prepared.kind, prepared.text.into_owned())
    }

    #[test]
    fn how_a_program_is_run() {
        for (source, kind) in [
            ("console.log(1)", Kind::Script),
            ("const fs = require('fs');\nasync function f() { await 1; }\nf();", Kind::Script),
            ("const x = await 5;", Kind::AsyncScript),
            // A call of a function named `await`, if nobody looks closely.
            ("await (async () => { 1 })();", Kind::AsyncScript),
            ("for await (const x of y) {}", Kind::AsyncScript),
            ("if (a) { await b }", Kind::AsyncScript),
            ("import fs from 'fs';", Kind::Module),
            ("import('fs').then(console.log)", Kind::Script),
            ("export default 1", Kind::Module),
            ("console.log(import.meta.url)", Kind::Module),
            ("with (a) { b }", Kind::Script),
            ("var await = 1; await + 1", Kind::Script),
            ("return 5", Kind::Script),
            ("const pick = ;", Kind::Broken),
            ("import a from 'b';\nconst pick = ;", Kind::Module),
        ] {
            assert_eq!(main(source).0, kind, "{source}");
        }
        let named = |name: &str| Prepared::new("1", name, Role::Main).kind;
        assert_eq!((named("/box/main.mjs"), named("/box/a.cjs")), (Kind::Module, Kind::Script));
    }

    #[test]
    fn the_last_expression_is_given() {
        for (source, text) in [
            ("1 + 1", "return (1 + 1)"),
            ("const a = 1\na // it", "const a = 1\nreturn (a) // it"),
            ("({ a: 1 });\n", "return (({ a: 1 }));\n"),
            ("a, b", "return (a, b)"),
            ("'use strict'", "return ('use strict')"),
            ("'use strict'; 5", "'use strict'; return (5)"),
            ("const a = 1", "const a = 1"),
            ("if (a) b", "if (a) b"),
            ("f(); function f() {}", "f(); function f() {}"),
            ("#!/usr/bin/env node\n1", "///usr/bin/env node\nreturn (1)"),
            ("import 'a';\nb", "import 'a';\nexport const __belljar_value = (b)"),
        ] {
            assert_eq!(main(source).1, text, "{source}");
        }
        assert_eq!(Prepared::new("1", "/box/lib.js", Role::Other).text, "1");
    }

    #[test]
    fn places_survive_what_is_added() {
        let prepared = Prepared::new("const a = 1;\na.b.c()", "/box/main.js", Role::Main);
        assert_eq!(prepared.source_map(), r#"{"shifts":[[2,1,8]],"tokens":null}"#);
        let prepared = Prepared::new("import 'a'; import.meta.url", "/box/a b.mjs", Role::Main);
        assert!(prepared.text.starts_with("import.meta.dirname=\"/box\";import.meta.filename=\"/box/a b.mjs\";import.meta.url=\"file:///box/a%20b.mjs\";"));
        assert_eq!(prepared.insertions.len(), 2);
    }

    #[test]
    fn typescript_is_translated_first() {
        let prepared = Prepared::new("enum E { A }\nconst e: E = E.A;\ne", "/box/main.ts", Role::Main);
        assert_eq!(prepared.kind, Kind::Script);
        assert!(prepared.text.trim_end().ends_with("return (e);"), "{}", prepared.text);
        let tokens = prepared.tokens.expect("places");
        assert!(tokens.iter().any(|token| token.original_line == 3));
        let refused = Prepared::new("let a: = 1", "/box/main.ts", Role::Main);
        assert_eq!(refused.kind, Kind::Refused);
        assert!(refused.text.starts_with("1\n8\n"), "{}", refused.text);
    }

    #[test]
    fn what_is_nested_too_deeply_is_left_to_the_engine() {
        for (open, close) in [
            ("(", ")"),
            ("[", "]"),
            ("{", "}"),
            ("!", ""),
            ("typeof ", ""),
            ("a=>", ""),
            ("1+", ""),
            ("if(1)", ""),
            ("new ", ""),
            ("a?b:", ""),
            ("- ", ""),
            ("`${", "}`"),
            ("a**", ""),
            ("a.b(", ")"),
            ("f`", "`"),
            ("x?.", ""),
        ] {
            let source = [&open.repeat(100_000), "1", &close.repeat(100_000)].concat();
            let prepared = Prepared::new(&source, "/box/main.js", Role::Main);
            assert!(matches!(prepared.kind, Kind::Script | Kind::Broken), "{open}");
            drop(Prepared::new(&source, "/box/main.ts", Role::Main));
        }
    }

    #[test]
    fn long_programs_are_not_deep() {
        let source =
            "// a comment, and some words that say nothing\nconst x = { a: [1, 2], b: f(3) };\n".repeat(20_000);
        assert_eq!(Obstacle::find(&source, Syntax::JavaScript), None);
        let table = format!("const table = [{}];\ntable.length", "{ a: 1, b: 'two' }, ".repeat(20_000));
        assert!(main(&table).1.contains("return ("));
        let comments = "// only words, no end of anything in here at all\n".repeat(20_000);
        assert!(main(&format!("{comments}1")).1.contains("return ("));
    }
}
