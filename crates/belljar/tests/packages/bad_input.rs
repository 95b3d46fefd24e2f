//! Wishes that cannot be granted: one sentence each, and the next run is served.

use std::fs;

use serde_json::{Value, json};

use crate::client::Client;
use crate::site::Site;
use crate::{printed, refusal};

#[track_caller]
fn assert_refused(client: &mut Client, arguments: &Value, expected: &str) {
    let result = client.run(arguments);
    let text = refusal(&result);
    assert!(text.starts_with("Refused: ") && text.contains(expected), "{arguments}: {text}");
    assert!(!text.contains('\n'), "more than one line: {text}");
}

#[test]
fn what_is_no_package_is_not_looked_for() {
    let mut client = Client::initialized();
    for (package, expected) in [
        ("six; rm -rf /", "`rm -rf /` is not a marker"),
        ("--index-url=https://evil.example/simple", "is an option of an installer"),
        ("six --hash=sha256:00", "is an option of an installer"),
        ("-r /etc/passwd", "is an option of an installer"),
        ("../x", "is a path"),
        ("/etc/passwd", "is a path"),
        ("git+https://example.com/a/b", "is a URL"),
        ("six @ file:///etc/passwd", "is a URL"),
        ("six\n--index-url=x", "contains a control character"),
        ("six\0", "contains a control character"),
        ("six==", "is not a range of versions"),
        ("six[", "has extras that cannot be read"),
        ("$(id)", "does not begin with a package's name"),
        ("", "a requirement is empty"),
    ] {
        let arguments = json!({"language": "python", "code": "print(1)", "packages": [package]});
        assert_refused(&mut client, &arguments, expected);
        let code = format!("# /// script\n# dependencies = [{}]\n# ///\nprint(1)", json!(package));
        assert_refused(&mut client, &json!({"language": "python", "code": code}), expected);
    }
    for (package, expected) in [
        ("../x", "is a place"),
        ("github:a/b", "is a place"),
        ("lodash@file:/etc/passwd", "is a place"),
        ("https://example.com/y.tgz", "is a place"),
        ("--registry=https://evil.example", "is an option of a package manager"),
        ("lodash@npm:zod", "gives a package another name"),
        ("LoDash", "is not a name that npm allows"),
        ("jsr:@std/path", "is from JSR"),
        ("", "an npm package is empty"),
    ] {
        let arguments = json!({"language": "javascript", "code": "1", "packages": [package]});
        assert_refused(&mut client, &arguments, expected);
    }
    for (arguments, expected) in [
        (json!({"language": "bash", "code": "echo 1", "packages": ["six"]}), "cannot be installed for Bash"),
        (json!({"language": "python", "code": "1", "packages": "six"}), "`packages` cannot be used: invalid type"),
        (json!({"language": "python", "code": "1", "packages": vec!["six"; 65]}), "above the limit of 64"),
        (json!({"language": "python", "code": "# /// script\n# dependencies = 'six'\n# ///\n1"}), "cannot be read"),
    ] {
        assert_refused(&mut client, &arguments, expected);
    }
    // All ways of naming packages have one limit.
    let many: Vec<String> = (0..65).map(|number| format!("p{number}")).collect();
    let install = json!({"name": "install_packages", "arguments": {"packages": &many}});
    assert!(refusal(&client.request("tools/call", &install)["result"]).contains("above the limit of 64"));
    let code = format!("# /// script\n# dependencies = {}\n# ///\nprint(1)", json!(many));
    assert_refused(&mut client, &json!({"language": "python", "code": code}), "above the limit of 64");
    assert_eq!(printed(&client.run(&json!({"language": "python", "code": "print('ok')"}))), "ok\n");
}

/// With the resolver's own reason.
#[test]
fn what_registries_do_not_have_is_said() {
    let mut client = Client::initialized();
    for (packages, expected) in [
        (json!(["no-such-package-of-belljar"]), "no-such-package-of-belljar was not found in the package registry"),
        (json!(["six==99"]), "there is no version of six==99"),
        (json!(["six==1.15", "six==1.16"]), "you require six==1.15 and six==1.16"),
        (json!(["pandas<1", "numpy>=2"]), "pandas<1"),
        (json!(["docopt"]), "docopt have no usable wheels"),
        (json!(["pycairo"]), "pycairo have no usable wheels"),
    ] {
        assert_refused(&mut client, &json!({"language": "python", "code": "1", "packages": packages}), expected);
    }
    for (package, expected) in [
        ("no-such-package-of-belljar", "npm package 'no-such-package-of-belljar' does not exist"),
        ("lodash@99", "Could not find npm package 'lodash' matching '99'"),
    ] {
        assert_refused(&mut client, &json!({"language": "javascript", "code": "1", "packages": [package]}), expected);
    }
    // An import is a guess: it is the program that says what it misses. Who names the same is told.
    let result = client.run(&json!({"language": "python", "code": "import no_such_module_of_belljar"}));
    assert_eq!(result["structuredContent"]["error"]["kind"], "ModuleNotFoundError", "{result:#}");
    let named = json!({"language": "python", "code": "1", "packages": ["no-such-module-of-belljar"]});
    assert_refused(&mut client, &named, "no-such-module-of-belljar was not found");
}

/// A failure is no answer: what could not be had when something was wrong is had when it is not.
#[test]
fn a_failure_is_not_remembered() {
    let Some(site) = Site::of(0, &json!({"late": {"late.py": "x = 1\n"}})) else { return };
    let index = site.index().join("late/index.html");
    let text = fs::read(&index).expect("it is there");
    fs::write(&index, "<a href='late-1.0-py3-none-any.whl#sha256=00'>late-1.0-py3-none-any.whl</a>").expect("ours");
    let mut client = Client::of(site.serve()).greeted();
    let imported = json!({"language": "python", "engine": "native", "code": "import late\nprint(late.x)"});
    let mut named = imported.clone();
    named["packages"] = json!(["late"]);
    let result = client.run(&imported);
    assert_eq!(result["structuredContent"]["error"]["kind"], "ModuleNotFoundError", "{result:#}");
    assert_refused(&mut client, &named, "");
    site.assert_nothing_half_made();
    fs::write(&index, text).expect("ours");
    assert_eq!(printed(&client.run(&named)), "1\n");
    // For a minute this server does not try the import again. Another one was never told.
    assert_eq!(printed(&Client::of(site.serve()).greeted().run(&imported)), "1\n");
}

#[test]
fn the_operator_decides() {
    let wheels = json!({"one": {"one.py": "x = 1\n"}, "two": {"two.py": "x = 2\n"}});
    let Some(site) = Site::of(0, &wheels) else { return };
    let serve = |policy: &str| {
        fs::write(site.configuration(), format!("[packages]\noffline = true\n{policy}\n")).expect("written");
        Client::of(site.serve()).greeted()
    };
    let ask = |package: &str| {
        let code = format!("import {package}\nprint({package}.x)");
        json!({"language": "python", "engine": "native", "packages": [package], "code": code})
    };
    let mut client = serve("");
    assert_eq!(printed(&client.run(&ask("one"))), "1\n");
    // Also of what is here already.
    for (policy, package, expected) in [
        ("deny = ['One']", "one", "`packages` asks for `one`, which this server's operator has denied"),
        ("allow = ['two']", "one", "`packages` asks for `one`, which is not on this server's list. Hint: use two."),
        ("enabled = false", "one", "`packages` are not installed by this server"),
    ] {
        assert_refused(&mut serve(policy), &ask(package), expected);
    }
    // A program that says which Python it is for is held to the same.
    let mut client = serve("enabled = false");
    let script = |dependencies: &str, packages: &[&str]| {
        let metadata = format!("# /// script\n# requires-python = '>=3'\n# dependencies = {dependencies}\n# ///");
        let code = format!("{metadata}\nprint('ran')");
        json!({"language": "python", "engine": "native", "packages": packages, "code": code})
    };
    for asks in [script("['one']", &[]), script("[]", &["one"])] {
        assert_refused(&mut client, &asks, "`packages` are not installed by this server");
    }
    assert_eq!(printed(&client.run(&script("[]", &[]))), "ran\n");
    assert_eq!(printed(&serve("allow = ['two']").run(&ask("two"))), "2\n");
    let mut imported = ask("one");
    imported["packages"] = json!([]);
    let result = serve("automatic = false").run(&imported);
    assert_eq!(result["structuredContent"]["error"]["kind"], "ModuleNotFoundError", "{result:#}");
}
