#[cfg(test)]
mod tests;
mod tokens;

use std::borrow::Cow;

use tokens::{Token, Tokens};

use crate::found::Found;
use crate::npm::{NpmError, NpmSpec};

/// The specifiers that a JavaScript or TypeScript program imports, in order, each once: `import … from 'x'`, `import 'x'`,
/// `export … from 'x'`, and with a literal `import('x')` and `require('x')`.
///
/// TypeScript's `import type … from 'x'` gives nothing: no trace of it is left when the program runs. Neither does what stands in
/// comments, strings, templates and regular expressions, but code in a template's `${}` counts.
pub fn javascript_imports(code: &str) -> Vec<String> {
    let mut found = Found::default();
    for specifier in specifiers(code) {
        found.add(specifier);
    }
    found.into_names()
}

/// The program with `npm:zod@^3/v4` as `zod/v4` wherever it imports that: the form that everything but Deno knows. Its
/// lines stay where they are. A module of Node's own with the package's name comes before it.
pub fn with_bare_packages(code: &str) -> Cow<'_, str> {
    let mut text = String::new();
    let mut rest = 0;
    for specifier in specifiers(code) {
        let Some(package) = specifier.strip_prefix("npm:").map(|package| package.trim_start_matches('/')) else {
            continue;
        };
        let spec = without_subpath(package);
        let Ok(name) = NpmSpec::parse(spec) else { continue };
        // A specifier is a piece of the program.
        let start = specifier.as_ptr().addr() - code.as_ptr().addr();
        text.push_str(code.get(rest..start).unwrap_or_default());
        text.push_str(name.name());
        text.push_str(package.get(spec.len()..).unwrap_or_default());
        rest = start + specifier.len();
    }
    if rest == 0 {
        return Cow::Borrowed(code);
    }
    text.push_str(code.get(rest..).unwrap_or_default());
    Cow::Owned(text)
}

/// What [`javascript_imports`] is made of: each as often as it is imported.
fn specifiers(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_clause = false;
    let mut last = [Token::Mark(b';'); 5];
    for token in Tokens::of(code) {
        let [_, fourth, third, second, first] = last;
        last = [fourth, third, second, first, token];
        match last {
            [
                before,
                Token::Word("import" | "require"),
                Token::Mark(b'('),
                Token::Literal(specifier),
                Token::Mark(b')' | b','),
            ] if before != PROPERTY => found.push(specifier),
            [.., before, Token::Word("import"), Token::Literal(specifier)] if before != PROPERTY => {
                found.push(specifier);
                in_clause = false;
            }
            [.., Token::Word("from"), Token::Literal(specifier)] if in_clause => {
                found.push(specifier);
                in_clause = false;
            }
            [.., before, Token::Word("import" | "export")] => in_clause = before != PROPERTY,
            [.., Token::Word("import" | "export"), Token::Word("type"), Token::Mark(b'{' | b'*')] => in_clause = false,
            [.., Token::Word("import" | "export"), Token::Word("type"), Token::Word(name)] if name != "from" => {
                in_clause = false;
            }
            [.., Token::Word(_) | Token::Literal(_) | Token::Mark(b'{' | b'}' | b',' | b'*')] => {}
            _ => in_clause = false,
        }
    }
    found
}

/// What makes the next word the name of a property, whatever it says.
const PROPERTY: Token<'static> = Token::Mark(b'.');

/// The npm package that a specifier leads to: `lodash/fp` is in `lodash`, `npm:zod@^3/v4` in `zod` at `^3`.
///
/// `None` for what comes from elsewhere: relative and absolute paths, `#x`, URLs and Node's own modules. An error for what looks
/// like a package and cannot be one.
pub fn npm_package_of(specifier: &str) -> Option<Result<NpmSpec, NpmError>> {
    const ELSEWHERE: &[&str] = &[".", "/", "#", "node:", "data:", "file:", "http:", "https:", "blob:"];
    if ELSEWHERE.iter().any(|start| specifier.starts_with(start)) || NODE_MODULES.binary_search(&specifier).is_ok() {
        return None;
    }
    Some(match specifier.strip_prefix("npm:") {
        Some(package) => NpmSpec::parse(without_subpath(package.trim_start_matches('/'))),
        None if specifier.starts_with("jsr:") => NpmSpec::parse(specifier),
        None => NpmSpec::of_name(without_subpath(specifier)),
    })
}

/// What comes before the `/` that follows a package's name.
fn without_subpath(specifier: &str) -> &str {
    let scope =
        if specifier.starts_with('@') { specifier.find('/').map_or(specifier.len(), |slash| slash + 1) } else { 0 };
    let end = specifier.get(scope..).and_then(|name| name.find('/')).map_or(specifier.len(), |slash| scope + slash);
    specifier.get(..end).unwrap_or(specifier)
}

/// What Node serves without `node:`, from `module.builtinModules`, sorted.
#[rustfmt::skip]
const NODE_MODULES: &[&str] = &[
    "_http_agent", "_http_client", "_http_common", "_http_incoming", "_http_outgoing", "_http_server", "_stream_duplex",
    "_stream_passthrough", "_stream_readable", "_stream_transform", "_stream_wrap", "_stream_writable", "_tls_common",
    "_tls_wrap", "assert", "assert/strict", "async_hooks", "buffer", "child_process", "cluster", "console", "constants",
    "crypto", "dgram", "diagnostics_channel", "dns", "dns/promises", "domain", "events", "fs", "fs/promises", "http",
    "http2", "https", "inspector", "inspector/promises", "module", "net", "os", "path", "path/posix", "path/win32",
    "perf_hooks", "process", "punycode", "querystring", "readline", "readline/promises", "repl", "stream",
    "stream/consumers", "stream/promises", "stream/web", "string_decoder", "sys", "timers", "timers/promises", "tls",
    "trace_events", "tty", "url", "util", "util/types", "v8", "vm", "wasi", "worker_threads", "zlib",
];
