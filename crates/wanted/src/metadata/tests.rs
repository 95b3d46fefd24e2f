use proptest::prelude::*;

use super::*;

fn check(code: &str, expected: Option<(&[&str], Option<&str>)>) {
    let expected = expected.map(|(dependencies, requires_python)| ScriptMetadata {
        dependencies: dependencies.iter().map(ToString::to_string).collect(),
        requires_python: requires_python.map(str::to_owned),
    });
    assert_eq!(script_metadata(code), Ok(expected), "{code}");
}

#[test]
fn blocks() {
    check("import x\n", None);
    check(
        "#!/usr/bin/env python\n# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n#   \"requests<3\",\n#   \"rich\",\n# ]\n# ///\n\nimport requests\n",
        Some((&["requests<3", "rich"], Some(">=3.11"))),
    );
    check("# /// script\n#\n# ///", Some((&[], None)));
    check("# /// script\r\n# dependencies = ['a']\r\n# ///\r\n", Some((&["a"], None)));
    check("# /// script\n# [tool.uv]\n# index = 3\n# ///\n", Some((&[], None)));
    check("# /// other\n# not TOML\n# ///\n\n# /// script\n# dependencies = ['a']\n# ///\n", Some((&["a"], None)));
    // Up to the last `# ///`: the one before it is content, here inside of a string.
    check("# /// script\n# dependencies = ['''a\n# ///\n# b''']\n# ///\n# more\n", Some((&["a\n///\nb"], None)));
}

#[test]
fn what_is_no_block() {
    check("# /// script\n# dependencies = ['a']\n", None);
    check("# /// script\n# dependencies = ['a']\n\n# ///\n", None);
    check("# /// script\n#dependencies = ['a']\n# ///\n", None);
    check("# /// script\n# ///\n", None);
    check(" # /// script\n # dependencies = ['a']\n # ///\n", None);
    check("# ///script\n# dependencies = ['a']\n# ///\n", None);
    check("# /// script \n# dependencies = ['a']\n# ///\n", None);
    check("# /// other\n# /// script\n# dependencies = ['a']\n# ///\n", None);
}

#[test]
fn errors() {
    let check = |code: &str, expected: &str| {
        assert_eq!(script_metadata(code).unwrap_err().to_string(), expected, "{code}");
    };
    check(
        "# /// script\n# a = 1\n# ///\n\n# /// script\n# a = 1\n# ///\n",
        "the script has more than one `# /// script` block: keep one",
    );
    check(
        "# /// script\n# dependencies = 'a'\n# ///\n",
        "the script's `# /// script` block is not the TOML of PEP 723: invalid type: string \"a\", expected a sequence",
    );
    check(
        "# /// script\n# dependencies = [\n# ///\n",
        "the script's `# /// script` block is not the TOML of PEP 723: unclosed array, expected `]`",
    );
}

#[test]
fn time_is_linear_and_nesting_is_an_error() {
    for part in ["# /// script\n", "# ///\n", "#\n", "# /// a\n# ///\n", "# /// script\n# a\n# ///\n\n"] {
        drop(script_metadata(&part.repeat((1 << 20) / part.len())));
    }
    let block = |text: String| script_metadata(&format!("# /// script\n# {text}\n# ///\n"));
    for nested in ["[", "a.", "{a=", "[[a."] {
        let most = ScriptMetadata::MAX_LENGTH / nested.len() - 8;
        assert!(matches!(block(format!("a = {}", nested.repeat(most))), Err(MetadataError::Toml(_))), "{nested}");
        assert!(matches!(block(format!("{}a = 1", nested.repeat(most))), Err(MetadataError::Toml(_))), "{nested}");
    }
    let longest = ScriptMetadata::MAX_LENGTH - "a = ''\n".len();
    assert!(block(format!("a = '{}'", "a".repeat(longest))).is_ok());
    assert_eq!(block(format!("a = '{}'", "a".repeat(longest + 1))), Err(MetadataError::TooLong));
}

proptest! {
    #[test]
    fn nothing_panics(code in r"(# /// script\n|# ///\n|#\n|# dependencies = |# |\[|\]|'|a|=|\n|\r|é|\PC)*") {
        drop(script_metadata(&code));
    }
}

#[test]
fn versions_of_python() {
    for (version, requires, expected) in [
        ("3.13.15", ">=3.11", true),
        ("3.11.2", ">=3.11,<3.12", true),
        ("3.11.2", ">=3.12", false),
        ("3.11.2", "==3.11.*", true),
        ("3.11.2", "nonsense", false),
        ("", ">=3", false),
    ] {
        assert_eq!(python_satisfies(version, requires), expected, "{version} {requires}");
    }
    let error = script_metadata("# /// script\n# requires-python = \"soon\"\n# ///\n").expect_err("refused");
    assert!(error.to_string().contains("`soon`"), "{error}");
}
