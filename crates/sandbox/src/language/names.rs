//! Names that depend on a program's own text.
//!
//! Most tools take a file of any name. A few do not: `javac` wants a public class in a file of the same name, `java`
//! has to be told which class has `main`, Node tells modules from scripts by the extension. What is found here becomes
//! a file name and an argument, so only plain identifiers of bounded length are taken from the program.

use super::Language;

/// What decides the names in [`ProgramNames`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// Nothing: the file is [`Language::source`] and there is no entry name.
    Fixed,
    /// The file is named after the public type; the entry is the type with `main`, qualified by its package.
    JavaTypes,
    /// Programs with `import` or `export` declarations get the ending `.mjs`: before version 20.19 Node rejects them in a `.js` file.
    JavaScriptModule,
    /// The entry is the module, which is `Main` unless the program says otherwise.
    HaskellModule,
}

/// What one program's file and entry point are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramNames {
    /// The source's file name in the workspace: one path component.
    pub source: String,
    /// What `{entry}` stands for; empty if nothing needs it.
    pub entry: String,
}

/// Longer names are not taken from a program: a file name may have 255 bytes.
const MAX_NAME: usize = 200;

pub(super) fn names_for(language: &Language, code: &[u8]) -> ProgramNames {
    let fixed = || ProgramNames { source: language.source.to_owned(), entry: String::new() };
    match language.naming {
        Naming::JavaTypes => java_names(&String::from_utf8_lossy(code)),
        Naming::JavaScriptModule if is_javascript_module(&String::from_utf8_lossy(code)) => {
            ProgramNames { source: "main.mjs".to_owned(), entry: String::new() }
        }
        Naming::Fixed | Naming::JavaScriptModule => fixed(),
        Naming::HaskellModule => {
            ProgramNames { entry: haskell_module(&String::from_utf8_lossy(code)).to_owned(), ..fixed() }
        }
    }
}

fn is_javascript_module(code: &str) -> bool {
    code.lines().any(|line| {
        let declares = |rest: &str| rest.starts_with([' ', '{', '*', '"', '\'']);
        // `import(…)` and `import.meta` are expressions; the former is allowed in scripts too.
        line.strip_prefix("import").is_some_and(declares) || line.strip_prefix("export").is_some_and(declares)
    })
}

fn haskell_module(code: &str) -> &str {
    let mut rest = code.trim_start();
    loop {
        if rest.starts_with("--") || rest.starts_with("#!") {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else if rest.starts_with("{-") {
            // Comments nest, but no real program has a `module` line between the ends of two nested ones.
            rest = rest.split_once("-}").map_or("", |(_, after)| after);
        } else {
            break;
        }
        rest = rest.trim_start();
    }
    let name = rest.strip_prefix("module").filter(|after| after.starts_with(char::is_whitespace)).map(str::trim_start);
    let end = |name: &str| name.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '\'' | '.'));
    match name.map(|name| name.split_at(end(name).unwrap_or(name.len())).0) {
        Some(name) if !name.is_empty() && name.len() <= MAX_NAME => name,
        _ => "Main",
    }
}

fn java_names(code: &str) -> ProgramNames {
    let types = JavaTypes::of(code);
    let entry = types.with_main.or(types.public).or(types.first).unwrap_or("Main");
    let source = format!("{}.java", types.public.unwrap_or(entry));
    let qualified = types.package.len() <= MAX_NAME && types.package.split('.').all(|part| !part.is_empty());
    let entry = if qualified { format!("{}.{entry}", types.package) } else { entry.to_owned() };
    ProgramNames { source, entry }
}

/// The top-level types of a Java file, as far as `java` cares.
#[derive(Debug, Default)]
struct JavaTypes<'code> {
    package: String,
    first: Option<&'code str>,
    public: Option<&'code str>,
    with_main: Option<&'code str>,
}

impl<'code> JavaTypes<'code> {
    fn of(code: &'code str) -> Self {
        let mut found = Self::default();
        let mut tokens = JavaTokens { rest: code }.peekable();
        let (mut depth, mut previous, mut public, mut current) = (0_usize, "", false, None);
        while let Some(token) = tokens.next() {
            match (depth, token) {
                (_, "{") => depth += 1,
                (_, "}") => depth = depth.saturating_sub(1),
                (0, ";") => public = false,
                (0, "package") => {
                    while let Some(part) = tokens.next_if(|part| *part == "." || is_plain_identifier(part)) {
                        found.package.push_str(part);
                    }
                }
                (0, "public") => public = true,
                // `Shape.class` in an annotation before a type is not a declaration.
                (0, "class" | "interface" | "enum" | "record") if previous != "." => {
                    if let Some(name) = tokens.next_if(|name| is_plain_identifier(name)) {
                        current = Some(name);
                        found.first = found.first.or(current);
                        found.public = found.public.or(current.filter(|_| public));
                        public = false;
                    }
                }
                (1, "main") if previous == "void" && tokens.peek() == Some(&"(") => {
                    found.with_main = found.with_main.or(current);
                }
                _ => {}
            }
            previous = token;
        }
        found
    }
}

fn is_plain_identifier(token: &str) -> bool {
    token.len() <= MAX_NAME
        && token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && token.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Words and single punctuation characters of Java source, without comments and literals.
struct JavaTokens<'code> {
    rest: &'code str,
}

impl<'code> Iterator for JavaTokens<'code> {
    type Item = &'code str;

    fn next(&mut self) -> Option<&'code str> {
        loop {
            self.rest = self.rest.trim_start();
            let first = self.rest.chars().next()?;
            if let Some(after) = self.rest.strip_prefix("//") {
                self.rest = after.split_once('\n').map_or("", |(_, after)| after);
            } else if let Some(after) = self.rest.strip_prefix("/*") {
                self.rest = after.split_once("*/").map_or("", |(_, after)| after);
            } else if let Some(after) = self.rest.strip_prefix("\"\"\"") {
                self.rest = after_quote(after, "\"\"\"");
            } else if let Some(after) = self.rest.strip_prefix('"') {
                self.rest = after_quote(after, "\"");
            } else if let Some(after) = self.rest.strip_prefix('\'') {
                self.rest = after_quote(after, "'");
            } else {
                let word =
                    self.rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').unwrap_or(self.rest.len());
                let (token, after) = self.rest.split_at(if word == 0 { first.len_utf8() } else { word });
                self.rest = after;
                return Some(token);
            }
        }
    }
}

/// What follows the closing quote; a backslash escapes one.
fn after_quote<'code>(text: &'code str, quote: &str) -> &'code str {
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '"', '\'']) {
        let (_, found) = rest.split_at(at);
        if let Some(after) = found.strip_prefix(quote) {
            return after;
        }
        let mut characters = found.chars();
        let escapes = characters.next() == Some('\\');
        if escapes {
            characters.next();
        }
        rest = characters.as_str();
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(language: &str, code: &str) -> (String, String) {
        let ProgramNames { source, entry } = Language::find(language).unwrap().names_for(code.as_bytes());
        (source, entry)
    }

    #[track_caller]
    fn check(language: &str, code: &str, source: &str, entry: &str) {
        assert_eq!(names(language, code), (source.to_owned(), entry.to_owned()), "{code}");
    }

    #[test]
    fn java_file_is_named_after_the_public_type_and_the_entry_has_main() {
        let main = "public static void main(String[] args) {}";
        check("java", &format!("public class Hello {{ {main} }}"), "Hello.java", "Hello");
        check("java", &format!("class Hello {{ {main} }}"), "Hello.java", "Hello");
        check(
            "java",
            &format!("interface Shape {{}}\nrecord Dot(int x) {{}}\npublic class App {{ {main} }}"),
            "App.java",
            "App",
        );
        check("java", &format!("public class Util {{}}\nclass App {{ {main} }}"), "Util.java", "App");
        check(
            "java",
            &format!("package org.example.demo;\npublic final class App {{ {main} }}"),
            "App.java",
            "org.example.demo.App",
        );
        check("java", &format!("@Marker(Shape.class)\npublic class App {{ {main} }}"), "App.java", "App");
        check("java", "enum Only { A, B }", "Only.java", "Only");
        check("java", "void main() {}", "Main.java", "Main");
    }

    #[test]
    fn java_comments_and_literals_declare_nothing() {
        let main = "public static void main(String[] args) {}";
        check("java", &format!("// public class A\n/* class B {{ */ class C {{ {main} }}"), "C.java", "C");
        check(
            "java",
            &format!("class A {{ String s = \"\\\"}} public class X {{\"; char c = '\\''; }}\nclass B {{ {main} }}"),
            "B.java",
            "B",
        );
        check(
            "java",
            &format!("class A {{ String s = \"\"\"\n }} \" class X {{ \"\"\"; }} class B {{ {main} }}"),
            "B.java",
            "B",
        );
        check("java", &format!("class Inner {{ class Deep {{ {main} }} }} class B {{ {main} }}"), "B.java", "B");
    }

    #[test]
    fn java_names_are_plain_identifiers_or_are_not_taken() {
        check("java", "public class ../../etc {}", "Main.java", "Main");
        check("java", "package ../x; public class A {}", "A.java", "A");
        check("java", &format!("public class {} {{}}", "A".repeat(300)), "Main.java", "Main");
    }

    #[test]
    fn javascript_modules_get_their_own_ending() {
        check("javascript", "import fs from 'node:fs';\nconsole.log(1)", "main.mjs", "");
        check("javascript", "import { readFileSync } from 'fs'", "main.mjs", "");
        check("javascript", "const a = 1;\nexport default a;", "main.mjs", "");
        check("javascript", "const fs = require('fs')", "main.js", "");
        check("javascript", "import('node:fs').then(console.log)", "main.js", "");
        check("javascript", "exports.a = 1; importantly()", "main.js", "");
    }

    #[test]
    fn haskell_entry_is_the_module() {
        check("haskell", "main = print 1", "main.hs", "Main");
        check("haskell", "module Main where\nmain = print 1", "main.hs", "Main");
        check("haskell", "{-# LANGUAGE CPP #-}\n-- | Doc\nmodule Data.Shapes (main) where", "main.hs", "Data.Shapes");
        check("haskell", "modules = 1\nmain = print modules", "main.hs", "Main");
    }

    proptest::proptest! {
        #[test]
        fn a_source_is_always_one_path_component(code in "(public |class |package |main|[{}();./\\\\\"' \n]|[a-zé\\PC])*") {
            for language in Language::all() {
                let names = language.names_for(code.as_bytes());
                proptest::prop_assert!(!names.source.contains('/') && names.source.len() <= 255, "{names:?}");
            }
        }
    }
}
