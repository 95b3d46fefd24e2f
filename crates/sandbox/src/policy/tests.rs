mod properties;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use super::program::unknown_language;
use super::*;
use crate::{Folder, FolderAccess, InputFile};

fn python(code: &str) -> Request {
    Request { code: code.into(), language: Some("python".to_owned()), ..Request::default() }
}

fn with_file(path: impl Into<OsString>) -> Request {
    Request { files: vec![InputFile { path: path.into(), contents: Vec::new() }], ..python("1") }
}

fn with_stdin(bytes: usize) -> Request {
    Request { stdin: vec![b'x'; bytes], ..python("1") }
}

fn with_arguments(lengths: &[usize]) -> Request {
    Request { args: lengths.iter().map(|length| "x".repeat(*length)).collect(), ..python("1") }
}

fn with_files(count: usize) -> Request {
    let file = |number| InputFile { path: format!("f{number}").into(), contents: Vec::new() };
    Request { files: (0..count).map(file).collect(), ..python("1") }
}

fn with_packages(count: usize) -> Request {
    Request { packages: vec!["a".to_owned(); count], ..python("1") }
}

/// The longest argument that the kernel takes.
const LONGEST: usize = (128 << 10) - 1;

fn refused(request: Request) -> (&'static str, String) {
    let refusal = Policy::default().admit(request).expect_err("must be refused");
    (refusal.argument(), refusal.message().to_owned())
}

#[test]
fn defaults_apply() {
    let plan = Policy::default().admit(python("print(1)")).expect("admitted");
    assert_eq!((plan.language().id, plan.limits()), ("python", &Limits::DEFAULT));
}

#[test]
fn a_ceiling_below_the_default_wins() {
    let policy = Policy { ceilings: Limits { memory: Bytes::mib(64), ..Limits::CEILING }, ..Policy::default() };
    assert_eq!(policy.admit(python("1")).expect("admitted").limits().memory, Bytes::mib(64));
}

#[test]
fn fences_are_stripped() {
    let plan = Policy::default().admit(python("```python\nprint(1)\n```")).expect("admitted");
    assert_eq!(plan.code(), b"print(1)\n");
}

#[test]
fn each_bad_input_has_its_sentence() {
    let wall = |wall| Request { limits: LimitsRequest { wall: Some(wall), ..LimitsRequest::default() }, ..python("1") };
    let memory =
        |memory| Request { limits: LimitsRequest { memory: Some(memory), ..LimitsRequest::default() }, ..python("1") };
    let env = |name: &str| Request { env: vec![(name.to_owned(), String::new())], ..python("1") };
    for (request, argument, message) in [
        (
            Request { language: Some("klingon".to_owned()), ..python("1") },
            "language",
            "`klingon` is not a language belljar knows",
        ),
        (python(" \n"), "code", "`code` is empty"),
        (python("a\0b"), "code", "`code` contains a NUL byte"),
        (python(&"#".repeat(50_000_000)), "code", "`code` is 47.6 MiB, above the limit of 16 MiB"),
        (with_stdin((64 << 20) + 1), "stdin", "`stdin` is 64.0 MiB, above the limit of 64 MiB"),
        (
            with_arguments(&[LONGEST, LONGEST, LONGEST, LONGEST, 5]),
            "args",
            "`args` and `env` are 512.0 KiB together, above what a program can be started with (512 KiB, 128 KiB each)",
        ),
        (
            with_arguments(&[LONGEST + 1]),
            "args",
            "`args` and `env` are 128 KiB together, above what a program can be started with (512 KiB, 128 KiB each)",
        ),
        (with_files(1_025), "files", "`files` holds 1025 files, above the limit of 1024"),
        (with_packages(65), "packages", "`packages` names 65 packages, above the limit of 64"),
        (with_file("../x"), "files", "`../x` cannot be a file of the workspace: it contains `..`"),
        (with_file("/etc/passwd"), "files", "`/etc/passwd` cannot be a file of the workspace: it is absolute"),
        (
            with_file(OsString::from_vec(vec![0xff])),
            "files",
            "`\u{fffd}` cannot be a file of the workspace: it is not UTF-8",
        ),
        (with_file("main.py"), "files", "`files` names `main.py`, which is the program itself"),
        (wall(Duration::ZERO), "timeout", "`timeout` of 0 s is below the least that can work, 1 ms"),
        (wall(Duration::from_secs(301)), "timeout", "`timeout` of 301 s is above this server's ceiling of 300 s"),
        (memory(Bytes::new(0)), "memory", "`memory` of 0 bytes is below the least that can work, 16 MiB"),
        (memory(Bytes::gib(4)), "memory", "`memory` of 4 GiB is above this server's ceiling of 2 GiB"),
        (env("A=B"), "env", "`A=B` cannot be the name of an environment variable"),
        (env(""), "env", "`` cannot be the name of an environment variable"),
        (
            Request { network: vec!["example.org".to_owned()], ..python("1") },
            "network",
            "`network` asks for `example.org`, and this server gives no run a network",
        ),
    ] {
        assert_eq!(refused(request), (argument, message.to_owned()));
    }
}

#[test]
fn what_just_fits_is_admitted() {
    for request in [
        python(&"#".repeat(16 << 20)),
        with_stdin(64 << 20),
        with_arguments(&[LONGEST, LONGEST, LONGEST, LONGEST, 4]),
        with_files(1_024),
        with_packages(64),
    ] {
        Policy::default().admit(request).expect("admitted");
    }
}

#[test]
fn what_is_granted_is_had_natively() {
    let folder = Folder::new("/srv".into(), "/data".into(), FolderAccess::Write).expect("a folder");
    let folders = Folders::new(vec![folder]).expect("folders");
    let with_folders = Policy { folders, ..Policy::default() };
    let allowed = vec!["*.example.org".parse().expect("a pattern")];
    let with_network = Policy { network: NetworkPolicy { allowed, ..NetworkPolicy::default() }, ..Policy::default() };
    let asking = || Request { network: vec!["a.example.org".to_owned()], ..python("1") };
    let native = EngineChoice::Only(EngineId::Native);

    let plan = with_folders.admit(python("1")).expect("admitted");
    assert_eq!((plan.engine(), plan.granted()), (native, vec!["folder /data rw".to_owned()]));
    let plan = with_network.admit(asking()).expect("admitted");
    assert_eq!((plan.engine(), plan.granted()), (native, vec!["network a.example.org".to_owned()]));
    let plan = with_network.admit(python("1")).expect("admitted");
    assert_eq!((plan.engine(), plan.granted()), (EngineChoice::Auto, Vec::new()));

    let wasm = EngineChoice::Only(EngineId::Wasm);
    for (policy, request, what) in [
        (with_folders, python("1"), "see folders of the host, and this run is granted some"),
        (with_network, asking(), "have network access, and this run is granted it"),
    ] {
        let refusal = policy.admit(Request { engine: wasm, ..request }).expect_err("refused");
        let message = format!("`engine` asks for `wasm`, which cannot {what}");
        assert_eq!(refusal.message(), message);
    }
}

#[test]
fn a_file_cannot_be_a_directory_too() {
    let mut request = with_file("a");
    request.files.push(InputFile { path: "a/b".into(), contents: Vec::new() });
    assert_eq!(refused(request).1, "`files` names both `a` and `a/b`, so `a` would be a file and a directory");
}

#[test]
fn php_needs_no_tag() {
    for (given, run) in [
        ("echo 1;", "<?php echo 1;"),
        ("echo '<?xml ?>';", "<?php echo '<?xml ?>';"),
        ("<?PHP echo 1;", "<?PHP echo 1;"),
        ("a <?= 1 ?> b", "a <?= 1 ?> b"),
    ] {
        let request = Request { language: Some("php".to_owned()), ..python(given) };
        let plan = Policy::default().admit(request).expect("admitted");
        assert_eq!(String::from_utf8_lossy(plan.code()), run);
    }
}

#[test]
fn a_language_that_is_nearly_one_is_named() {
    for (given, meant) in [("pyton", "python"), ("Java Script", "javascript"), ("typescipt", "typescript")] {
        assert_eq!(unknown_language(given).hint(), format!("did you mean `{meant}`?"));
    }
    for given in ["klingon", "", "🐍", &"python".repeat(100)] {
        assert!(unknown_language(given).hint().starts_with("use one of "), "{given}");
    }
}
