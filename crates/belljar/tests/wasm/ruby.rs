//! Ruby: values, backtraces, limits. Programs that run the same natively are in `testkit::conformance::cases::ruby`.

use serde_json::{Value, json};

use crate::{Run, WASM};

#[track_caller]
fn value(code: &str, result: Option<&Value>, printed: Option<&str>) {
    let ran = Run::wasm("ruby", code).ran().exited(0);
    let seen = (ran.result.get("result"), ran.result.get("result_repr").and_then(Value::as_str));
    assert_eq!(seen, (result, printed), "{code}");
}

#[test]
fn the_last_value() {
    if !WASM.serves("ruby") {
        return;
    }
    for (code, data) in [
        ("6 * 7", json!(42)),
        ("'ü' * 2", json!("üü")),
        ("[1, 2.5, nil, true, { 'a' => 'b', c: [] }]", json!([1, 2.5, null, true, {"a": "b", "c": []}])),
        ("x = 1", json!(1)),
        ("puts 'x'\n'after'", json!("after")),
        ("def f = 1\n[1, 2].each { |n| n }", json!([1, 2])),
        ("if false\n  1\nelse\n  false\nend", json!(false)),
        ("2 ** 62", json!(1_u64 << 62)),
    ] {
        value(code, Some(&data), None);
    }
    for (code, printed) in [
        (":tea", ":tea"),
        ("1..3", "1..3"),
        ("{ 1 => 2 }", "{1 => 2}"),
        ("2 ** 70", "1180591620717411303424"),
        ("Float::NAN", "NaN"),
        ("Struct.new(:a).new(1).then { |s| Point = s.class; s }", "#<struct Point a=1>"),
        ("class Text < String; end\nText.new('x')", "\"x\""),
        ("\"\\xff\"", "\"\\xFF\""),
        ("a = []\na << a", "[[...]]"),
    ] {
        value(code, None, Some(printed));
    }
    for code in ["nil", "puts 1", "BasicObject.new", "class Odd; def inspect = raise; end\nOdd.new", "exit 0"] {
        value(code, None, None);
    }
    let large = Run::wasm("ruby", "'x' * 300_000").ran().exited(0);
    assert_eq!(large.result["result_repr"].as_str().map(str::len), Some(64 << 10));
}

/// All of standard error: no frame of ours is in it.
/// The prelude says it in JSON, and a program can say what JSON is.
#[test]
fn what_is_told_of_a_run_has_its_length() {
    if !WASM.serves("ruby") {
        return;
    }
    let told = |text: &str| {
        let code = format!("require 'json'\ndef JSON.generate(*, **) = {text}\nnil");
        Run::wasm("ruby", &code).ran()
    };
    told(r#"'{"exit": 0, "json": "7"}'"#).exited(0);
    let ran = told(r#"'{"exit": 0, "json": "' + '7' * 60_000_000 + '"}'"#);
    assert_eq!((ran.text("status"), ran.result.get("result")), ("crashed", None), "{:#}", ran.result);
    let ran = told(r#"'{"exit": 0, "printed": "' + 'x' * 1_000_000 + '"}'"#).exited(0);
    assert_eq!(ran.text("result_repr").len(), 64 << 10);
}

#[test]
fn backtraces() {
    if !WASM.serves("ruby") {
        return;
    }
    let code = "def pick(list)\n  list.fetch(7)\nend\n\n[1].each { |n| pick([n]) }\n";
    let ran = Run::wasm("ruby", code).ran().failed("IndexError", Some(2));
    let expected = "/box/main.rb:2:in 'Array#fetch': index 7 outside of array bounds: -1...1 (IndexError)\n\t\
                    from /box/main.rb:2:in 'Object#pick'\n\tfrom /box/main.rb:5:in 'block in <main>'\n\t\
                    from /box/main.rb:5:in 'Array#each'\n\tfrom /box/main.rb:5:in '<main>'\n";
    assert_eq!(ran.text("stderr"), expected);

    let code = "begin\n  raise 'inner'\nrescue\n  raise TypeError, \"outer\\nmore\"\nend\n";
    let ran = Run::wasm("ruby", code).ran().failed("TypeError", Some(4));
    let expected = "/box/main.rb:4:in '<main>': outer (TypeError)\nmore\n\n  raise TypeError, \"outer\\nmore\"\n        ^^^^^^^^^^^^^^^^^^^^^^^^\n\
                    /box/main.rb:2:in '<main>': inner (RuntimeError)\n";
    assert_eq!(ran.text("stderr"), expected);
    assert_eq!(ran.result["error"]["message"], "outer");

    let ran = Run::wasm("ruby", "puts 'unreached'\ndef f\n  [1, 2\nend\n").ran().exited(1);
    let (kind, line) = (ran.result["error"]["kind"].as_str(), ran.result["error"]["line"].as_u64());
    assert!(kind == Some("SyntaxError") && line.is_some_and(|line| line >= 3), "{:#}", ran.result);
    let stderr = ran.text("stderr");
    assert!(
        stderr.starts_with("/box/main.rb:") && stderr.contains("(SyntaxError)\n") && !stderr.contains('\u{1b}'),
        "{stderr}"
    );

    let ran = Run::wasm("ruby", "nme = 1\nputs nmae\n").ran().failed("NameError", Some(2));
    assert!(ran.text("stderr").contains("Did you mean?  nme"), "{}", ran.text("stderr"));
}

#[track_caller]
fn times_out(code: &str) {
    let ran = Run::wasm("ruby", code).options(&["--timeout", "500ms"]).ran();
    assert_eq!((ran.code, ran.text("status")), (Some(124), "timed_out"), "{code}: {:#}", ran.result);
}

#[test]
fn nothing_outlasts_its_deadline() {
    if WASM.serves("ruby") {
        for code in [
            "loop {}",
            "while true; end",
            "sleep 10",
            "begin\n  sleep\nrescue Exception\n  retry\nend",
            "7 ** 90_000_000",
            "/(a+)+\\1$/.match?('a' * 60 + 'b')",
            "at_exit { loop {} }",
            "class Late; def inspect = loop {}; end\nLate.new",
            "Fiber.new { loop {} }.resume",
            "loop { Random.urandom(1 << 20) }",
            "loop { begin; raise 'x'; rescue; end }",
        ] {
            times_out(code);
        }
    }
}

#[test]
fn memory() {
    if !WASM.serves("ruby") {
        return;
    }
    let options = &["--memory", "64MiB"];
    for code in [
        "held = 'x' * (200 << 20)",
        "held = []\nloop { held << ('x' * (1 << 20)) }",
        "held = []\nloop { held << Object.new }",
        "held = 'x'\nloop { held += held }",
    ] {
        let ran = Run::wasm("ruby", code).options(options).ran();
        let seen = (ran.code, ran.text("status"), ran.result["limit"].as_str());
        assert_eq!(seen, (Some(137), "limit_exceeded", Some("memory")), "{code}: {:#}", ran.result);
    }
    let caught = "begin\n  'x' * (200 << 20)\nrescue NoMemoryError => error\n  puts error.message\nend";
    Run::wasm("ruby", caught).options(options).ran().printed("failed to allocate memory\n");
    // W22
    let small = &["--memory", "16MiB"];
    Run::wasm("ruby", "puts ('x' * (8 << 20)).size").options(small).ran().printed("8388608\n");
}

/// W13. What ends at the end of WebAssembly's stack says so too.
#[test]
fn recursion() {
    if !WASM.serves("ruby") {
        return;
    }
    for code in [
        "def deeper(n) = deeper(n + 1)\ndeeper(0)",
        "def deeper(n) = [n].map { |x| deeper(x + 1) }\ndeeper(0)",
        "def deeper(n) = { n => 1 }.each { |x, _| deeper(x + 1) }\ndeeper(0)",
        "class Deeper\n  def to_s = \"#{self}\"\nend\nDeeper.new.to_s",
        "held = []\n100_000.times { held = [held] }\nheld.inspect",
        "eval('(' * 100_000)",
    ] {
        let ran = Run::wasm("ruby", code).ran();
        let hint = ran.result["error"]["hint"].as_str().unwrap_or_default();
        let is_unread = ran.result["error"]["kind"] == "SyntaxError";
        assert!(is_unread || hint.starts_with("calls this deep need a larger stack"), "{code}: {:#}", ran.result);
    }
    // Deep, and still all right: in Ruby, through functions of C, with exceptions and collections on the way.
    let deep = "def depth(n) = n.zero? ? 0 : 1 + depth(n - 1)\nputs depth(8000)";
    Run::wasm("ruby", deep).ran().printed("8000\n");
    let deep = "def depth(n) = n.zero? ? (GC.start; raise('bottom')) : [n].map { |x| text = \"#{x}\" * 9; depth(x - 1); text }\n\
                begin\n  depth(400)\nrescue => error\n  puts error.message, error.backtrace.length > 1200\nend\n\
                def nested(n) = n.zero? ? 0 : { n => 1 }.each { |x, _| nested(x - 1); GC.start if n % 40 == 0 }\nnested(150)\n\
                memo = Hash.new { |h, n| h[n] = n < 2 ? n : h[n - 1] + h[n - 2] }\nputs memo[300]";
    Run::wasm("ruby", deep)
        .ran()
        .printed("bottom\ntrue\n222232244629420445529739893461909967206666939096499764990979600\n");
}

/// W8
#[test]
fn output_keeps_its_head_and_tail() {
    if !WASM.serves("ruby") {
        return;
    }
    let code = "puts 'head'\n50.times { $stdout.write('x' * 999_999, \"\\n\") }\nputs 'tail'";
    let ran = Run::wasm("ruby", code).ran().exited(0);
    let dropped = ran.result["dropped"]["stdout"].as_u64().expect("a number");
    let (stdout, note) = (ran.text("stdout"), format!("\n[… {dropped} bytes dropped …]\n"));
    assert!(stdout.starts_with("head\nxxx") && stdout.ends_with("xxx\ntail\n"));
    assert_eq!((stdout.len() - note.len(), (stdout.len() - note.len()) as u64 + dropped), (1 << 20, 50_000_010));
}
