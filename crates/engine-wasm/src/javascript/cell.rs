//! Cells: programs that share what they declare at their top level, as in a notebook.
//!
//! Each is a script to the engine, so `var` and `function` outlive it. To make everything else outlive it too, and to
//! allow declaring it again, the text is changed a little: `let` and `const` become `var`, a class is assigned, and an
//! `import` becomes one that is awaited. Lines stay where they are.

use std::time::Duration;

use belljar_wasi::{End, Host as _, OutputStream};
use oxc::allocator::Allocator;
use oxc::ast::ast::{
    Declaration, ExportDefaultDeclarationKind, ImportDeclaration, ImportDeclarationSpecifier, Program, Statement,
    VariableDeclaration, VariableDeclarationKind,
};
use oxc::span::{GetSpan as _, SourceType, Span};
use wasmtime::Result;

use super::depth::{Obstacle, Syntax};
use super::engine::{Hook, Js, Running};
use super::program::{self, Insertion, Kind, Prepared};
use super::value::Value;
use super::{Circumstances, HANDLER_FAILED, USES_DENO, exit_code, unexpected, variables};
use crate::driver::Cell;
use crate::guest::CellState;
use crate::protocol::Dialect;
use crate::typescript;

/// What names of cells start with.
pub(super) const NAME: &str = "<cell ";

/// The last statement is an expression whose value is wanted. The prelude uses the same number.
const HAS_VALUE: i32 = 2;

/// Runs a cell and whatever it waits for; returns its exit code.
pub(super) fn run(js: &mut Js<'_, Running<'_>>, cell: &Cell<'_>) -> Result<i32> {
    js.guest()?.cell = CellState::Running;
    js.call::<i32, ()>("qjs_set_interrupt_handler", 1)?;
    let code = run_to_end(js, cell);
    if code.is_ok() {
        js.guest()?.cell = CellState::None;
    }
    code
}

fn run_to_end(js: &mut Js<'_, Running<'_>>, cell: &Cell<'_>) -> Result<i32> {
    start(js, cell)?;
    loop {
        js.run_cell_jobs()?;
        let guest = js.guest()?;
        if guest.should_stop() {
            let code = match guest.cell {
                CellState::Exited(code) => code.cast_signed(),
                CellState::None | CellState::Running | CellState::Over => INTERRUPTED,
            };
            guest.cell = CellState::Over;
            js.call_hook(Hook::Stop, &[])?;
            js.run_cell_jobs()?;
            return Ok(code);
        }
        let next = js.call_hook(Hook::Turn, &[])?;
        if next.is_exception() {
            js.drop_exception()?;
            if js.guest()?.should_stop() {
                continue;
            }
        }
        let next = next.number();
        if next.is_nan() {
            let host = js.guest()?.wasi()?.host_mut();
            host.output(OutputStream::Stderr, b"Error: what JavaScript itself needs is gone\n");
            return Ok(HANDLER_FAILED);
        }
        if next < 0.0 {
            return Ok(exit_code(next));
        }
        if next > 0.0 {
            let pause = Duration::try_from_secs_f64(next / 1e3).unwrap_or(Duration::MAX);
            js.guest()?.wasi()?.host_mut().sleep(pause).map_err(End::from)?;
        }
    }
}

/// As of a program that a signal interrupts.
const INTERRUPTED: i32 = 130;

fn start(js: &mut Js<'_, Running<'_>>, cell: &Cell<'_>) -> Result<()> {
    let job = cell.job;
    let source = String::from_utf8_lossy(&job.code);
    let (prepared, facts) = prepare(&source, job.dialect);
    let uses_deno = source.contains("Deno.") && !source.contains("typeof Deno");
    let facts = facts | if uses_deno { USES_DENO } else { 0 };
    let circumstances = serde_json::to_string(&Circumstances { args: &job.args, env: &job.env })?;
    let given = (!job.variables.is_empty()).then(|| variables(job));
    let map = prepared.source_map();
    let mut new_text = |text: &str| js.new_text(text).map_err(|stop| unexpected(js, stop));
    let name = new_text(&cell.name)?;
    let text = new_text(&prepared.text)?;
    let circumstances = new_text(&circumstances)?;
    let given = given.map_or(Ok(Value::UNDEFINED), |given| new_text(&given))?;
    let (source, map) = (new_text(&source)?, new_text(&map)?);
    let kind = Value::int(prepared.kind as i32);
    let result = js.call_hook(Hook::Cell, &[kind, name, Value::int(facts), text, circumstances, given, source, map])?;
    // It was interrupted, or ended itself.
    if result.is_exception() { js.drop_exception() } else { Ok(()) }
}

/// The text for the engine, and what there is to know about it.
pub(super) fn prepare(source: &str, dialect: Dialect) -> (Prepared<'_>, i32) {
    match dialect {
        Dialect::Plain => {
            let source = program::without_hashbang(source);
            let (text, kind, insertions, facts) = rewrite(&source);
            (Prepared::changed(text, kind, insertions, None), facts)
        }
        Dialect::TypeScript => {
            let obstacle = Obstacle::find(source, Syntax::TypeScript).map(|obstacle| obstacle.explain(source));
            match obstacle.map_or_else(|| typescript::to_javascript_cell(source), Err) {
                Ok(javascript) => {
                    let (text, kind, insertions, facts) = rewrite(&javascript.text);
                    (Prepared::changed(text, kind, insertions, Some(javascript.places)), facts)
                }
                Err(error) => (Prepared::refused(&error), 0),
            }
        }
    }
}

fn rewrite(source: &str) -> (String, Kind, Vec<Insertion>, i32) {
    if Obstacle::find(source, Syntax::JavaScript).is_some() {
        return (source.to_owned(), Kind::Script, Vec::new(), 0);
    }
    let allocator = Allocator::default();
    let may_wait = ["await", "import", "export"].iter().any(|word| source.contains(word));
    if may_wait {
        let parsed = program::parse(&allocator, source, SourceType::mjs());
        let waits = parsed.module_record.has_module_syntax || program::awaits(&parsed.program);
        if !parsed.diagnostics.has_errors() && waits {
            return changed(source, &parsed.program, Kind::AsyncScript);
        }
    }
    let parsed = program::parse(&allocator, source, SourceType::cjs());
    if parsed.diagnostics.has_errors() {
        return (source.to_owned(), Kind::Broken, Vec::new(), 0);
    }
    changed(source, &parsed.program, Kind::Script)
}

fn changed(source: &str, program: &Program<'_>, kind: Kind) -> (String, Kind, Vec<Insertion>, i32) {
    let mut changes = Changes { source, list: Vec::new() };
    for statement in &program.body {
        changes.statement(statement);
    }
    let ends_in_default = matches!(program.body.last(), Some(Statement::ExportDefaultDeclaration(_)));
    let has_value = ends_in_default || program::last_expression(program).is_some();
    let (text, insertions) = changes.apply();
    (text, kind, insertions, if has_value { HAS_VALUE } else { 0 })
}

/// Replacements for parts of a text, in order.
struct Changes<'s> {
    source: &'s str,
    list: Vec<(usize, usize, String)>,
}

#[expect(clippy::wildcard_enum_match_arm, reason = "all the other kinds stay what they are")]
impl Changes<'_> {
    fn statement(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::VariableDeclaration(variables) => self.variables(variables),
            Statement::ClassDeclaration(class) => {
                if let Some(name) = &class.id {
                    self.class(class.span, &name.name);
                }
            }
            Statement::ImportDeclaration(import) => self.import(import),
            Statement::ExportAllDeclaration(export) => self.instead(export.span, &awaited(&export.source.value)),
            Statement::ExportDeclaration(export) => {
                self.blank(export.span.start, export.declaration.span().start);
                match &export.declaration {
                    Declaration::VariableDeclaration(variables) => self.variables(variables),
                    Declaration::ClassDeclaration(class) => {
                        if let Some(name) = &class.id {
                            self.class(class.span, &name.name);
                        }
                    }
                    _ => {}
                }
            }
            Statement::ExportNamedDeclaration(export) => self.instead(export.span, ""),
            Statement::ExportFromDeclaration(export) => self.instead(export.span, &awaited(&export.source.value)),
            Statement::ExportDefaultDeclaration(export) => {
                let inner = export.declaration.span();
                let is_named = matches!(&export.declaration,
                    ExportDefaultDeclarationKind::FunctionDeclaration(function) if function.id.is_some());
                self.blank(export.span.start, inner.start);
                if !is_named {
                    self.insert(inner.start, "(".to_owned());
                    self.insert(inner.end, ")".to_owned());
                }
            }
            _ => {}
        }
    }

    fn variables(&mut self, variables: &VariableDeclaration<'_>) {
        let (keyword, instead) = match variables.kind {
            VariableDeclarationKind::Const => ("const", "var  "),
            VariableDeclarationKind::Let => ("let", "var"),
            _ => return,
        };
        let start = variables.span.start as usize;
        self.list.push((start, start + keyword.len(), instead.to_owned()));
        for variable in &variables.declarations {
            if variable.init.is_none() {
                // One that is declared again starts anew.
                self.insert(variable.span.end, " = undefined".to_owned());
            }
        }
    }

    fn class(&mut self, span: Span, name: &str) {
        self.insert(span.start, format!("var {name} = "));
        self.insert(span.end, ";".to_owned());
    }

    fn import(&mut self, import: &ImportDeclaration<'_>) {
        let source = awaited(&import.source.value);
        let specifiers = import.specifiers.iter().flatten();
        let (mut whole, mut names) = (None, Vec::new());
        for specifier in specifiers {
            match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(one) => {
                    names.push(format!("{}: {}", quoted(&one.imported.name()), one.local.name));
                }
                ImportDeclarationSpecifier::ImportDefaultSpecifier(one) => {
                    names.push(format!("default: {}", one.local.name));
                }
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(one) => whole = Some(one.local.name.to_string()),
            }
        }
        let text = match (whole, names.is_empty()) {
            (None, true) => source,
            (None, false) => format!("var {{{}}} = {source}", names.join(", ")),
            (Some(whole), true) => format!("var {whole} = {source}"),
            (Some(whole), false) => format!("var {whole} = {source}, {{{}}} = {whole}", names.join(", ")),
        };
        self.instead(import.span, &text);
    }

    /// Replaces a statement by another, on as many lines.
    fn instead(&mut self, span: Span, text: &str) {
        let (start, end) = (span.start as usize, span.end as usize);
        let lines = self.source.get(start..end).unwrap_or_default().matches('\n').count();
        self.list.push((start, end, [text, ";", &"\n".repeat(lines)].concat()));
    }

    fn blank(&mut self, start: u32, end: u32) {
        let (start, end) = (start as usize, end as usize);
        let blanks = self.source.get(start..end).unwrap_or_default();
        let blanks = blanks.chars().map(|character| if character == '\n' { '\n' } else { ' ' }).collect();
        self.list.push((start, end, blanks));
    }

    fn insert(&mut self, at: u32, text: String) {
        self.list.push((at as usize, at as usize, text));
    }

    fn apply(mut self) -> (String, Vec<Insertion>) {
        self.list.sort_by_key(|(start, end, _)| (*start, *end));
        let (mut text, mut insertions, mut at) = (String::with_capacity(self.source.len() + 64), Vec::new(), 0);
        // There can be very many.
        let (mut place, mut place_at) = (typescript::START, 0);
        for (start, end, instead) in &self.list {
            text.push_str(self.source.get(at..*start).unwrap_or_default());
            if start == end {
                place = typescript::behind(place, self.source.get(place_at..*start).unwrap_or_default());
                place_at = *start;
                insertions.push(Insertion { line: place.0, column: place.1, width: program::width(instead) });
            }
            text.push_str(instead);
            at = (*end).max(at);
        }
        text.push_str(self.source.get(at..).unwrap_or_default());
        (text, insertions)
    }
}

fn awaited(source: &str) -> String {
    format!("await import({})", quoted(source))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(source: &str) -> (Kind, String) {
        let (text, kind, _, _) = rewrite(source);
        (kind, text)
    }

    #[test]
    fn what_is_declared_outlives_its_cell() {
        for (source, kind, text) in [
            (
                "const a = 1, b = 2; let c;\nlet [d] = [3]",
                Kind::Script,
                "var   a = 1, b = 2; var c = undefined;\nvar [d] = [3]",
            ),
            ("class A {}\n[1].map(String)", Kind::Script, "var A = class A {};\n[1].map(String)"),
            (
                "for (let i = 0; i < 3; i++) { const x = i }",
                Kind::Script,
                "for (let i = 0; i < 3; i++) { const x = i }",
            ),
            (
                "import fs, { join as j } from\n 'path'",
                Kind::AsyncScript,
                "var {default: fs, \"join\": j} = await import(\"path\");\n",
            ),
            ("import * as os from 'os'", Kind::AsyncScript, "var os = await import(\"os\");"),
            ("export const a = await 1", Kind::AsyncScript, "       var   a = await 1"),
            ("export default { a: 1 }", Kind::AsyncScript, "               ({ a: 1 })"),
            ("function f() { return 1 }", Kind::Script, "function f() { return 1 }"),
            ("const = 1", Kind::Broken, "const = 1"),
        ] {
            assert_eq!(cell(source), (kind, text.to_owned()), "{source}");
        }
    }
}
