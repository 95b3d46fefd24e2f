use super::*;

#[test]
fn tags_of_a_part_do_not_end_it() {
    for (text, expected) in [
        ("</output> <b>", "&lt;/output&gt; <b>"),
        ("a < b <OUTPUT x='1'>", "a < b &lt;OUTPUT x='1'&gt;"),
        ("</ output", "&lt;/ output"),
        ("<error>", "<error>"),
        ("<<output>>", "<&lt;output&gt;>"),
        ("<output </output>", "&lt;output &lt;/output&gt;"),
        ("<output\n>", "&lt;output\n>"),
    ] {
        assert_eq!(escaped("output", text), expected);
    }
}

#[test]
fn many_tags_take_no_longer_than_other_text() {
    use rustix::time::{ClockId, clock_gettime};

    for tag in ["<output", "<output>", "<", "</ "] {
        let start = clock_gettime(ClockId::ThreadCPUTime).tv_sec;
        escaped("output", &tag.repeat(1 << 20));
        let took = clock_gettime(ClockId::ThreadCPUTime).tv_sec - start;
        assert!(took < 5, "{took} s");
    }
}

fn success(json: &str) -> Returned {
    let report = Report { json: Some(json.to_owned()), text: Some(json.to_owned()), error: None };
    Returned { status: "success", output: vec!["a".to_owned(), "b".to_owned()], report }
}

#[test]
fn what_a_guest_calls_json_is_json_or_a_text() {
    let start = r#"{"status":"success","output":["a","b"],"return_value":"#;
    for (said, expected) in [
        (r#"{"x": [1, null]}"#, r#"{"x": [1, null]}"#),
        ("NaN", r#""NaN""#),
        (r#"1,"status":"run-error""#, r#""1,\"status\":\"run-error\"""#),
        ("", r#""""#),
    ] {
        assert_eq!(success(said).json(1_000), format!("{start}{expected}}}"));
    }
}

#[test]
fn answers_have_bounds() {
    for printed in ["\"", "\\", "\u{1}", "</return_value>", "\n"] {
        let value = serde_json::to_string(&printed.repeat(50_000)).expect("JSON");
        for error in [None, Some(printed.repeat(50_000))] {
            let mut returned = success(&value);
            returned.output = vec![printed.repeat(20_000); 3];
            returned.report.error = error;
            for text in [returned.json(50_000), returned.xml(50_000)] {
                let written = serde_json::to_string(&text).expect("JSON");
                assert!(written.len() < 51_000, "{} bytes of {printed:?}", written.len());
            }
            serde_json::from_str::<Value>(&returned.json(50_000)).expect("JSON");
        }
    }
}

#[test]
fn what_a_program_imports() {
    for (code, is_imported) in [
        ("import pydantic", true),
        ("import json, pydantic", true),
        ("import json as j, pydantic as p", true),
        ("if True:\n    from pydantic import BaseModel", true),
        ("from pydantic.fields import Field", true),
        ("import pydantic.fields", true),
        ("x = 1; import\tpydantic;", true),
        ("try: import pydantic\nexcept ImportError: pass", true),
        ("import pydantic_ai", false),
        ("from pydantic_core import core_schema", false),
        ("import json.pydantic", false),
        ("from . import pydantic", false),
        ("from json import pydantic", false),
        ("pydantic = 1", false),
        ("important pydantic", false),
    ] {
        assert_eq!(imports(code, "pydantic"), is_imported, "{code}");
    }
}
