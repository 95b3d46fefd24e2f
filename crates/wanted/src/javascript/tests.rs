use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn check(code: &str, expected: &[&str]) {
    assert_eq!(javascript_imports(code), expected, "{code}");
}

#[test]
fn statements() {
    check("import a from 'a'", &["a"]);
    check("import 'a'; import \"b\"", &["a", "b"]);
    check("import a, { b as c, default as d } from 'x'\nimport e from 'x'", &["x"]);
    check("import * as a from 'a'\nimport{b}from'b'", &["a", "b"]);
    check("import {\n  a, // from 'b'\n  'a b' as c,\n} from /* 'd' */ 'a'", &["a"]);
    check("import a from './a.json' with { type: 'json' }", &["./a.json"]);
    check("export * from 'a'; export * as b from 'b'; export { c } from 'c'", &["a", "b", "c"]);
    check("import from from 'a'; import type from 'b'", &["a", "b"]);
    check("import a = require('a'); export import b = require('b')", &["a", "b"]);
    check("#!/usr/bin/env node\nimport 'a'", &["a"]);
    check("\u{feff}import 'a'", &["a"]);
}

#[test]
fn calls_with_a_literal() {
    check("const a = require('a'), b = await import(\"b\", { with: {} })", &["a", "b"]);
    check("require(`a`); import(`b`)", &["a", "b"]);
    check("f(...require('a'), {...require('b')})", &["a", "b"]);
    check("require(a); require('a' + b); import(`a${b}`); require(`${a}b`); require()", &[]);
    check("a.require('b'); a?.import('b'); x.import 'b'; import.meta.url", &[]);
}

#[test]
fn other_statements_give_nothing() {
    check("export const from = 'a'; export default 'b'; export function f() { from 'c' }", &[]);
    check("const a = { import: 'a', export: 'b', from: 'c' }", &[]);
    check("Array.from('a'); from 'b'", &[]);
    check("import type { A } from 'a'; import type B from 'b'; export type * from 'c'", &[]);
    check("import { type A, b } from 'a'", &["a"]);
}

#[test]
fn comments_strings_and_templates_are_not_read() {
    check("// import 'a'\n/* import 'b'\n * import 'c' */ import 'd'", &["d"]);
    check("'import \"a\"'; \"it\\\"s; import 'b'\"; import 'c'", &["c"]);
    check("`import 'a'\n${ require('b') + `${import('c')}` } import 'd'`; import 'e'", &["b", "c", "e"]);
    check("`\\${require('a')} \\` $ {require('b')}`; require('c')", &["c"]);
    check("`${ {a: {}} } require('a')`; require('b')", &["b"]);
    check("x = 'open\nimport 'a'", &["a"]);
    check("`open\nimport 'a'", &[]);
    check("/* open\nimport 'a'", &[]);
}

#[test]
fn regular_expressions_are_not_read() {
    check("x = /require('a')/g; require('b')", &["b"]);
    check("x = /[/'\"`]\\//.test(y); require('b')", &["b"]);
    check("x = a / b; require('c') / d", &["c"]);
    check("x = (a + b) / '/'; require('c')", &["c"]);
    check("if (a) /'/.test(b); require('c')", &["c"]);
    check("return /`/; require('c')", &["c"]);
    check("a++ / b; c = '/'; require('d')", &["d"]);
    check("a! / b; c = '/'; if (!/'/.test(b)) require('d')", &["d"]);
    check("x = a[0] / b; `/`; require('c')", &["c"]);
    check("s.replace(/\\/\\*/g, '').replace(/'/g, ''); require('c')", &["c"]);
    check("<a b={c}/>; <p>it's</p>\nrequire('d')", &["d"]);
    check("x = / open\nrequire('d')", &["d"]);
}

#[test]
fn packages_of_specifiers() {
    let check = |specifier: &str, expected: Option<&str>| {
        let package = npm_package_of(specifier).map(|package| package.unwrap().to_string());
        assert_eq!(package.as_deref(), expected, "{specifier}");
    };
    check("lodash", Some("lodash@*"));
    check("lodash/fp", Some("lodash@*"));
    check("@scope/pkg/sub/path.js", Some("@scope/pkg@*"));
    check("npm:zod", Some("zod@*"));
    check("npm:zod@^3/v4", Some("zod@^3"));
    check("npm:/zod@3", Some("zod@3"));
    check("npm:@scope/pkg@1.2/sub", Some("@scope/pkg@1.2"));
    // With a slash, these are the packages that browsers use.
    check("buffer/", Some("buffer@*"));
    check("test", Some("test@*"));
    for elsewhere in [
        "./a",
        "../a",
        ".",
        "/a",
        "#a",
        "node:fs",
        "node:test",
        "fs",
        "fs/promises",
        "data:text/javascript,1",
        "file:///a",
        "http://a.b/c",
        "https://a.b/c",
        "zlib",
        "_http_agent",
    ] {
        check(elsewhere, None);
    }
}

#[test]
fn packages_without_their_scheme() {
    let check = |code: &str, expected: &str| assert_eq!(with_bare_packages(code), expected);
    check("import { z } from 'npm:zod'; z\n", "import { z } from 'zod'; z\n");
    check(
        "export * from \"npm:zod@^3/v4\";\nimport 'npm:/@a/b@1.2/c/d.js'",
        "export * from \"zod/v4\";\nimport '@a/b/c/d.js'",
    );
    check(
        "import {\n  z,\n} from 'npm:zod' // ☃\nimport(`npm:zod@3`)",
        "import {\n  z,\n} from 'zod' // ☃\nimport(`zod`)",
    );
    check("require('npm:zod'), import('npm:zod', {})", "require('zod'), import('zod', {})");
    for same in [
        "",
        "import 'zod'",
        "'npm:zod'",
        "// import 'npm:zod'",
        "f('npm:zod')",
        "import 'npm:zod@wh at'",
        "import 'npm:'",
    ] {
        assert!(matches!(with_bare_packages(same), Cow::Borrowed(text) if text == same), "{same}");
    }
}

#[test]
fn specifiers_that_cannot_be_packages() {
    let check = |specifier: &str, expected: fn(crate::Excerpt) -> NpmError, shown: &str| {
        assert_eq!(npm_package_of(specifier), Some(Err(expected(crate::Excerpt::of(shown)))), "{specifier}");
    };
    check("jsr:@std/path", NpmError::Jsr, "jsr:@std/path");
    check("", NpmError::Name, "");
    check("@scope", NpmError::Name, "@scope");
    check("Some Name/x", NpmError::Name, "Some Name");
    check("lodash@4/x", NpmError::Name, "lodash@4");
    check("bun:test", NpmError::Name, "bun:test");
    check("npm:zod@wh at", NpmError::Range, "wh at");
}

#[test]
fn the_modules_of_node_are_sorted() {
    assert!(NODE_MODULES.is_sorted_by(|one, next| one < next));
}

/// Whatever repeats, a mebibyte of it is read in the time of any other. A quadratic reader would take an hour.
#[test]
fn time_is_linear() {
    for part in ["import 'a';", "`${", "(", "/[", "= /", "/*", "'", "`", "\\", "import {", "if(", "é", "}/", "++", "."]
    {
        javascript_imports(&part.repeat((1 << 20) / part.len()));
    }
    let mut many = String::new();
    for number in 0..100_000 {
        writeln!(many, "import 'm{number}'").unwrap();
    }
    assert_eq!(javascript_imports(&many).len(), 4_096, "no more is kept");
    assert_eq!(javascript_imports(&format!("import '{}'\nimport 'b'", "a".repeat(1025))), ["b"]);
}

proptest! {
    #[test]
    fn nothing_panics(code in r#"(import|export|from|require|if|a|\.|,|;|\(|\)|\{|\}|\[|\]|'|"|`|\$\{|/|\*|!|\\|\n| |é|\PC)*"#) {
        for specifier in javascript_imports(&code) {
            prop_assert!(code.contains(&specifier));
            drop(npm_package_of(&specifier));
        }
    }

    #[test]
    fn an_import_is_found_behind_any_string(text in "[^'\\\\\n]*") {
        let code = format!("x = '{text}'\nimport 'found'\n");
        prop_assert_eq!(javascript_imports(&code), ["found"]);
    }
}
