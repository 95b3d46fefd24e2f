use proptest::prelude::*;

use super::*;

#[test]
fn requirements() {
    let check = |text: &str, name: &str, expected: &str| {
        let requirement = Requirement::parse(text).unwrap();
        assert_eq!((requirement.name(), requirement.to_string().as_str()), (name, expected), "{text}");
    };
    check("pandas", "pandas", "pandas");
    check(" pandas>=2,<3 ", "pandas", "pandas>=2,<3");
    check("pandas >= 2 , < 3", "pandas", "pandas>=2,<3");
    check("pandas (>=2)", "pandas", "pandas>=2");
    check("requests[socks]==2.31.*", "requests", "requests[socks]==2.31.*");
    check("requests [ socks , Use_Chardet ] ~= 2.31", "requests", "requests[socks,use-chardet]~=2.31");
    check("requests[]", "requests", "requests");
    check("scikit_learn", "scikit-learn", "scikit-learn");
    check("Zope.Interface!=1.0", "zope-interface", "zope-interface!=1.0");
    check("torch==2.1.0+cpu", "torch", "torch==2.1.0+cpu");
    check("numpy ; python_version >= \"3.10\"", "numpy", "numpy ; python_version >= \"3.10\"");
    check("numpy;python_version>='3.10'", "numpy", "numpy ; python_version >= '3.10'");
    check(
        "numpy>1;(os_name=='posix'  and 'a' not in sys_platform)or extra == \"x;/y @z\"",
        "numpy",
        "numpy>1 ; ( os_name == 'posix' and 'a' not in sys_platform ) or extra == \"x;/y @z\"",
    );
}

#[test]
fn refusals() {
    let check = |text: &str, expected: fn(Excerpt) -> RequirementError| {
        assert_eq!(Requirement::parse(text), Err(expected(Excerpt::of(text))), "{text}");
    };
    assert_eq!(Requirement::parse(" "), Err(RequirementError::Empty));
    check(&"a".repeat(257), RequirementError::TooLong);
    for control in ["six\n", "a\0b", "six\tx", "six; os_name == '\u{7}'", "six\r"] {
        check(control, RequirementError::ControlCharacter);
    }
    for option in ["--index-url=https://a.b", "-r x", "-e .", "six --index-url=https://a.b", "six -r x"] {
        check(option, RequirementError::Option);
    }
    for url in [
        "https://a.b/c.whl",
        "six @ https://a.b/c",
        "six@https://a.b",
        "git+https://a.b/c",
        "six @ file:///x",
        "six[a]@b",
        "git+x",
    ] {
        check(url, RequirementError::Url);
    }
    for path in
        ["../x", "./x", "/x", ".", "..", "~/x", "x.whl", "six-1.0.tar.gz", "a\\b", "a/b", "X.WHL ; os_name == 'a'"]
    {
        check(path, RequirementError::Path);
    }
    for name in ["_six", "six-", "$(id)", "`id`", "é", "==2", "[a]", "*", "(six)"] {
        check(name, RequirementError::Name);
    }
    for extras in ["six[", "six[a", "six[a b]", "six[a,]", "six[-a]", "six[$(id)]"] {
        check(extras, RequirementError::Extras);
    }
}

#[test]
fn refused_versions_and_markers() {
    for versions in ["2", "=2", ">=", ">=2 <3 $(id)", "==2 && id", "six", "(>=2", "[a]==1", ">=2.*", "==1!"] {
        let expected = RequirementError::Versions(Excerpt::of(versions));
        assert_eq!(Requirement::parse(&format!("six[x] {versions}")), Err(expected), "{versions}");
    }
    for marker in [
        "",
        "rm -rf /",
        "python_version",
        "python_version >=",
        "python_version >= 3",
        "'a' == 'a'",
        "os_name == 'a",
        "os_name == 'a' and",
        "(os_name == 'a'",
        "os_name == 'a')",
        "os_name == 'a' or or os_name == 'a'",
        "os_name = 'a'",
        "os_name not 'a'",
        "os_names == 'a'",
        "os_name == 'a' ; id",
        "os_name == 'a\\'",
        "()",
        "os_name == 'a' andos_name == 'a'",
    ] {
        let expected = RequirementError::Marker(Excerpt::of(marker));
        assert_eq!(Requirement::parse(&format!("six; {marker}")), Err(expected), "{marker}");
    }
}

#[test]
fn messages_name_the_text_and_what_works() {
    let check = |text: &str, expected: &str| {
        assert_eq!(Requirement::parse(text).unwrap_err().to_string(), expected);
    };
    check(
        "six; rm -rf /",
        "`rm -rf /` is not a marker: after `;` write a condition such as `python_version >= \"3.10\"`, or nothing",
    );
    check("a\nb", "`a\\nb` contains a control character: write one requirement at a time, such as `pandas>=2,<3`");
    let long = Requirement::parse(&"\n".repeat(300)).unwrap_err().to_string();
    assert!(long.starts_with(&format!("`{}` goes on", "\\n".repeat(40))), "{long}");
}

proptest! {
    #[test]
    fn what_is_read_is_read_again(
        text in r#"[a-z]([a-z.]|\[a\]|==|>=|~=|,|1|\.|\*| |\(|\)|;| os_name | python_version | in | and |'a'|"|\PC)*"#,
    ) {
        if let Ok(requirement) = Requirement::parse(&text) {
            prop_assert_eq!(Requirement::parse(&requirement.to_string()), Ok(requirement));
        }
    }

    #[test]
    fn nothing_panics(text in any::<String>()) {
        drop(Requirement::parse(&text));
        drop(Requirement::parse(&format!("six>={text}")));
        drop(Requirement::parse(&format!("six;os_name=='{text}")));
    }
}
