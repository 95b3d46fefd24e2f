//! Turns TypeScript into JavaScript: types are taken out; enums, namespaces, parameter properties and decorators are
//! written out. Types are not checked.

mod enums;

use std::path::{Path, PathBuf};

use oxc::allocator::Allocator;
use oxc::codegen::{Codegen, CodegenOptions};
use oxc::diagnostics::OxcDiagnostic;
use oxc::parser::Parser;
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;
use oxc::transformer::{HelperLoaderMode, TransformOptions, Transformer};

/// A program in JavaScript, and where its parts were in TypeScript.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct JavaScript {
    pub(crate) text: String,
    pub(crate) places: Vec<Token>,
}

/// Something that starts at a place of the JavaScript and stood at a place of the TypeScript. Lines and columns count from 1, columns in
/// UTF-16 units, as the engine's do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) original_line: u32,
    pub(crate) original_column: u32,
}

/// Why a text is no TypeScript, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) message: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Translates a program. Its name says whether there can be JSX in it.
pub(crate) fn to_javascript(source: &str, name: &str) -> Result<JavaScript, SyntaxError> {
    let kind = if name.ends_with('x') { SourceType::tsx() } else { SourceType::ts() };
    // What has no `import` and no `export` may be an old script, which a module could not be.
    translate(source, name, kind.with_module(true), Unused::Left)
        .or_else(|error| translate(source, name, kind.with_commonjs(true), Unused::Left).map_err(|_| error))
}

/// Translates a program whose names others will use.
pub(crate) fn to_javascript_cell(source: &str) -> Result<JavaScript, SyntaxError> {
    translate(source, "cell.ts", SourceType::ts().with_module(true), Unused::Kept)
        .or_else(|error| translate(source, "cell.ts", SourceType::ts(), Unused::Kept).map_err(|_| error))
}

/// What becomes of imports that the program makes no use of: they may be of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unused {
    Left,
    Kept,
}

fn translate(source: &str, name: &str, kind: SourceType, unused: Unused) -> Result<JavaScript, SyntaxError> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, kind).parse();
    if let Some(error) = parsed.diagnostics.errors().next() {
        return Err(SyntaxError::new(error, source));
    }
    let mut program = parsed.program;
    if let Some(span) = enums::excess(&program) {
        let (line, column) = position(source, span.start as usize);
        return Err(SyntaxError { message: "its enums are too much to work out".to_owned(), line, column });
    }
    let analysed = SemanticBuilder::new_compiler().with_enum_eval(true).with_check_syntax_error(true).build(&program);
    if let Some(error) = analysed.diagnostics.errors().next() {
        return Err(SyntaxError::new(error, source));
    }
    let scoping = analysed.semantic.into_scoping();
    let mut options = TransformOptions::default();
    options.decorator.legacy = true;
    options.typescript.only_remove_type_imports = unused == Unused::Kept;
    // The prelude has them: an import would make a module of a script.
    options.helper_loader.mode = HelperLoaderMode::External;
    let transformed = Transformer::new(&allocator, Path::new(name), &options).build_with_scoping(scoping, &mut program);
    if let Some(error) = transformed.diagnostics.errors().next() {
        return Err(SyntaxError::new(error, source));
    }
    let options = CodegenOptions { source_map_path: Some(PathBuf::from(name)), ..CodegenOptions::default() };
    let generated = Codegen::new().with_options(options).with_source_text(source).build(&program);
    let mut places = Vec::new();
    if let Some(map) = &generated.map {
        places.extend(map.get_tokens().map(|token| Token {
            line: token.get_dst_line() + 1,
            column: token.get_dst_col() + 1,
            original_line: token.get_src_line() + 1,
            original_column: token.get_src_col() + 1,
        }));
    }
    Ok(JavaScript { places, text: generated.code })
}

impl SyntaxError {
    fn new(diagnostic: &OxcDiagnostic, source: &str) -> Self {
        let (offset, length) =
            diagnostic.labels.first().map_or((0, 0), |label| (label.offset() as usize, label.len() as usize));
        let (line, column) = position(source, offset);
        // As V8 says it.
        let message = match (&*diagnostic.message, source.get(offset..offset + length).unwrap_or_default()) {
            ("Unexpected token", "") => "Unexpected end of input".to_owned(),
            ("Unexpected token", token) => format!("Unexpected token '{token}'"),
            (message, _) => message.to_owned(),
        };
        Self { message, line, column }
    }
}

/// Line and column of a byte of a text.
pub(crate) fn position(text: &str, offset: usize) -> (u32, u32) {
    behind(START, text.get(..offset).unwrap_or(text))
}

/// Line and column of a text's first byte.
pub(crate) const START: (u32, u32) = (1, 1);

/// Line and column of what comes behind a text that starts at this line and column.
pub(crate) fn behind((line, column): (u32, u32), text: &str) -> (u32, u32) {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let lines = text.bytes().filter(|byte| *byte == b'\n').count();
    let (column, last) = text.rsplit_once('\n').map_or((column, text), |(_, last)| (START.1, last));
    (line.saturating_add(count(lines)), column.saturating_add(count(last.encode_utf16().count())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> String {
        to_javascript(source, "main.ts").expect("TypeScript").text
    }

    #[test]
    fn types_are_taken_out() {
        assert_eq!(text("const a: number = 1 as number;\ninterface I { x: string }\n"), "const a = 1;\n");
        assert_eq!(
            text("type T<A> = A[];\nfunction f<A>(a?: A): T<A> { return [a!]; }\n"),
            "function f(a) {\n\treturn [a];\n}\n"
        );
        assert_eq!(text("const o = { a: 1 } satisfies Record<string, number>;\n"), "const o = { a: 1 };\n");
        assert_eq!(
            text("import type { A } from './a';\nimport { type B, c } from './b';\nc();\n"),
            "import { c } from \"./b\";\nc();\n"
        );
    }

    #[test]
    fn what_types_bring_is_written_out() {
        assert!(text("enum E { A = 1, B }\nconsole.log(E.B);\n").contains("E[E[\"B\"] = 2] = \"B\""));
        assert!(text("class C { constructor(private x: number) {} }\n").contains("this.x = x"));
        assert!(text("namespace N { export const a = 1 }\nN.a;\n").contains("N.a = "));
        assert!(text("@d class C { @m() f() {} }\n").contains("babelHelpers.decorate("));
    }

    #[test]
    fn places_are_those_of_the_source() {
        let source = "interface I {\n  x: number;\n}\n\nconst i: I = JSON.parse('{}');\nconsole.log(i.x.y);\n";
        let javascript = to_javascript(source, "main.ts").expect("TypeScript");
        assert_eq!(javascript.text, "const i = JSON.parse(\"{}\");\nconsole.log(i.x.y);\n");
        let logging = javascript.places.iter().find(|token| token.line == 2).expect("a place");
        assert_eq!((logging.column, logging.original_line, logging.original_column), (1, 6, 1));
    }

    #[test]
    fn errors_say_where() {
        let error = to_javascript("const größe = 1;\nconst é = 1 2;\n", "main.ts").expect_err("no TypeScript");
        assert_eq!((error.line, error.column), (2, 12), "{error:?}");
        let error = to_javascript("const a: number = ;\n", "main.ts").expect_err("no TypeScript");
        assert_eq!((&*error.message, error.line, error.column), ("Unexpected token ';'", 1, 19));
        let error = to_javascript("function f( { return 1\n", "main.ts").expect_err("no TypeScript");
        assert!(error.line <= 2, "{error:?}");
    }

    #[test]
    fn jsx_only_where_the_name_says_so() {
        assert!(to_javascript("const a = <b>c</b>;\n", "main.ts").is_err());
        assert!(to_javascript("const a = <b>c</b>;\n", "main.tsx").is_ok());
    }
}
