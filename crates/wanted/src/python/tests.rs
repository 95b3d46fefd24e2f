use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn check(code: &str, expected: &[&str]) {
    assert_eq!(python_imports(code), expected, "{code}");
}

#[test]
fn statements() {
    check("import pandas", &["pandas"]);
    check("import a.b, c as d\nimport c\n", &["a.b", "c"]);
    check("from x.y import z", &["x.y"]);
    check("from x import (\n  a,  # import b\n  c as d,\n)\nimport e", &["x", "e"]);
    check("from x import *", &["x"]);
    check("def f():\n\timport x\n", &["x"]);
    check("a = 1; import x; b = 2", &["x"]);
    check("if a: import x\nelse: from y import z\n", &["x", "y"]);
    check("try: import x as y\nexcept ImportError: x = None\n", &["x"]);
    check("import a, \\\n  b\\\r\n, c", &["a", "b", "c"]);
    check("from \\\n a . b import c", &["a.b"]);
    check("import a\r\nimport b\r\n", &["a", "b"]);
    check("\u{feff}import a", &["a"]);
    check("import größe.x", &["größe.x"]);
    check("async def f(x: int = 3) -> None: import x", &["x"]);
}

#[test]
fn relative_imports_and_broken_statements_give_nothing() {
    check("from . import x\nfrom .x import y\nfrom ... z import y\nfrom .. import (a, b)", &[]);
    check("import\nfrom\nimport .x\nimport 1a\nfrom x\nimport a.\nimport a..b", &[]);
    check("import the data, then the rest\nfrom the shelf import it", &[]);
    check("x.__import__\nimport_x = 1\nyield from x\nraise y from x", &[]);
    check(">>> import x\n", &[]);
    check("d = {'a': 1,\nimport x\n}", &[]);
}

#[test]
fn a_namespace_is_imported_by_its_members() {
    check("from google.cloud import storage, bigquery as b", &["google.cloud.storage", "google.cloud.bigquery"]);
    check("from azure.storage import (\n  blob as b,\n)\n", &["azure.storage.blob"]);
    check("from google.cloud import *", &[]);
    check("from google.cloud.storage import Client", &["google.cloud.storage"]);
}

#[test]
fn calls_with_a_literal() {
    check("importlib.import_module('a.b')", &["a.b"]);
    check("m = __import__(\"a\", fromlist=['b'])", &["a"]);
    check("import_module(name)\n__import__('a' + b)\n__import__('a' 'b')\nimport_module('.x', p)", &[]);
    check("__import__('not a name')\n__import__('')\nimport_module(f'a{b}')", &[]);
}

#[test]
fn comments_and_strings_are_not_read() {
    check("# import a\nimport b # import c", &["b"]);
    check("x = '''\nimport a\n'''\nimport b", &["b"]);
    check("\"\"\"Docs.\n\n>>> import a\n\"\"\"\nimport b", &["b"]);
    check("x = 'it\\'s\\\nimport a'\nimport b", &["b"]);
    check("x = r'\\'; import a'\nimport b", &["b"]);
    check("x = Rb'''\nimport a\n\\'''\nimport a\n'''; import b", &["b"]);
    check("x = u'a'; y = b\"b\"; import c", &["c"]);
    check("x = '# '; import a # '", &["a"]);
    check("x = ''; y = \"\"; import a", &["a"]);
    check("x = 'open\nimport a", &["a"]);
    check("x = '''open\nimport a", &[]);
    check("bar'x'\nimport a", &["a"]);
}

#[test]
fn fields_of_f_strings_are_code() {
    check("f'{__import__(\"a\")}'", &["a"]);
    check("f'{{__import__(\"a\")}}'\nimport b", &["b"]);
    check("f\"{x[\"a\"]}\"\nimport b", &["b"]);
    check("f'{x:#>{width}} import {y!r:%H:%M}'\nimport b", &["b"]);
    check("f'''\nimport a\n{x\n:'}\nimport a\n'''\nimport b", &["b"]);
    check("f'{ {\"a\": (1, [2])}[\"a\"] }'\nimport b", &["b"]);
    check("f'{(lambda: 1)()}'; import b", &["b"]);
    check("rf'\\{x}\\''\nimport b", &["b"]);
    check("f'\\N{DASH} # '; import b", &["b"]);
    check("t'{x:'\nimport b", &["b"]);
    check("f'open\nimport b", &["b"]);
    check("f'{f\"{f'{1}'}\"}'; import b", &["b"]);
}

#[test]
fn magics_of_notebooks_are_not_read() {
    check("%pip install a\n!pip install b (\n  %matplotlib inline '\nimport c", &["c"]);
    check("x = 5 \\\n% 3\nimport c", &["c"]);
}

/// Whatever repeats, a mebibyte of it is read in the time of any other. A quadratic reader would take an hour.
#[test]
fn time_is_linear() {
    for part in
        ["import a\n", "f'{", "f'{x:", "(", "'", "'''", "\\", "a.", "from google.cloud import (", "é", "f'''{", "%"]
    {
        python_imports(&part.repeat((1 << 20) / part.len()));
    }
    let mut many = String::new();
    for number in 0..100_000 {
        writeln!(many, "import m{number}").unwrap();
    }
    assert_eq!(python_imports(&many).len(), 4_096, "no more is kept");
    check(&format!("import {}a\nimport b", "a.".repeat(512)), &["b"]);
}

proptest! {
    #[test]
    fn nothing_panics(code in r#"(import|from|as|a|\.|,|;|:|\(|\)|\{|\}|'|"|'''|f'|rf"""|\\|\n| |#|%|é|__import__|\PC)*"#) {
        for module in python_imports(&code) {
            prop_assert!(code.contains(module.split('.').next().unwrap()));
        }
    }

    #[test]
    fn an_import_is_found_behind_any_string(text in "[^'\\\\]*") {
        let code = format!("'''{text}'''\nimport found\n");
        prop_assert_eq!(python_imports(&code), ["found"]);
    }
}
