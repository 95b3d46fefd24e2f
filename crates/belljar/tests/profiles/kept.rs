//! What `code-runner-mcp` keeps between calls, and what it does without.

use serde_json::{Value, json};
use testkit::runtimes::skip;

use crate::world::{World, call, text};

#[test]
fn a_file_may_become_a_folder() {
    let mut client = World::new().greeted("code-runner-mcp", &[]);
    let mut run = |code: &str| {
        let code = format!("import * as fs from 'node:fs';\n{code}");
        let result = call(&mut client, "javascript-code-runner", &json!({"code": code}));
        assert!(result["isError"].is_null(), "{result}");
        text(&result, 0).to_owned()
    };
    run("fs.writeFileSync('out', '1'); fs.writeFileSync('output', 'kept'); console.log(1)");
    run("fs.unlinkSync('out'); fs.mkdirSync('out'); fs.writeFileSync('out/a', '2'); console.log(2)");
    let read = "console.log(fs.readFileSync('out/a', 'utf8'), fs.readFileSync('output', 'utf8'))";
    assert_eq!(run(read), "2 kept\n");
    run("fs.unlinkSync('out/a'); fs.rmdirSync('out'); fs.writeFileSync('out', '3'); console.log(3)");
    assert_eq!(run("console.log(fs.readFileSync('out', 'utf8'))"), "3\n");
}

#[test]
fn only_the_programs_own_file_is_not_kept() {
    let mut client = World::new().greeted("code-runner-mcp", &[]);
    let mut run = |code: &str| {
        let code = format!("import * as fs from 'node:fs';\n{code}");
        text(&call(&mut client, "javascript-code-runner", &json!({"code": code})), 0).to_owned()
    };
    run(
        "fs.mkdirSync('data'); for (const name of ['main.csv', 'data/main.json', 'main']) fs.writeFileSync(name, name)\nconsole.log(1)",
    );
    let read = "for (const name of ['main.csv', 'data/main.json', 'main']) console.log(fs.readFileSync(name, 'utf8'))";
    assert_eq!(run(read), "main.csv\ndata/main.json\nmain\n");
}

/// As many of its packages as there are.
#[test]
fn one_package_that_cannot_be_had_keeps_no_other_away() {
    let mut client = World::new().greeted("code-runner-mcp", &[]);
    let mut run = |packages: Value| {
        // So that nothing but `packages` says that it is wanted.
        let code = "import importlib\nprint(importlib.import_module('s' + 'ix').__name__)";
        call(&mut client, "python-code-runner", &json!({"code": code, "packages": packages}))
    };
    let absent = "belljar-has-no-such-package";
    let result = run(json!({"one": "six", "another": absent, "third": "-e ."}));
    let said = text(&result, 0);
    if said.contains("no package registry") {
        return skip(&format!("packages cannot be had: {said}"));
    }
    let remarks: Vec<&str> = said.lines().filter(|line| line.starts_with("[stderr] ")).collect();
    assert!(remarks.len() == 2 && remarks[0].contains(absent) && remarks[1].contains("-e ."), "{said}");
    assert!(said.ends_with("\nsix\n") && result["isError"].is_null(), "{result}");
}

/// Nothing is looked for under the name of a module that a package was named for, in this call or a later one.
#[test]
fn packages_are_for_the_modules_that_they_are_named_for() {
    let mut client = World::new().greeted("code-runner-mcp", &[]);
    let mut run = |arguments: Value| call(&mut client, "python-code-runner", &arguments);
    // There is a package that is called so, too.
    let code =
        "try:\n    import toolz\n    print('toolz')\nexcept ImportError:\n    import six\n    print(six.__name__)";
    let result = run(json!({"code": code, "packages": {"toolz": "six"}}));
    if text(&result, 0).contains("no package registry") {
        return skip(&format!("packages cannot be had: {result}"));
    }
    assert_eq!(result, json!({"content": [{"type": "text", "text": "six\n"}]}));
    assert_eq!(run(json!({"code": code})), json!({"content": [{"type": "text", "text": "six\n"}]}));
}
