use proptest::prelude::*;

use super::*;

#[test]
fn packages() {
    let check = |text: &str, name: &str, range: &str| {
        let spec = NpmSpec::parse(text).unwrap();
        assert_eq!((spec.name(), spec.range()), (name, range), "{text}");
    };
    check("lodash", "lodash", "*");
    check(" lodash@4 ", "lodash", "4");
    check("lodash@^4.17", "lodash", "^4.17");
    check("@scope/name", "@scope/name", "*");
    check("@scope/name@~1.2.3", "@scope/name", "~1.2.3");
    check("npm:zod@3", "zod", "3");
    check("zod@latest", "zod", "latest");
    check("react@19.0.0-rc.1+build.5", "react", "19.0.0-rc.1+build.5");
    check("typescript@next", "typescript", "next");
    check("zod@>=3 <4", "zod", ">=3 <4");
    check("zod@ >= 3   < 4 ", "zod", ">= 3 < 4");
    check("a@1.x || >=2.5.0||5.0.0 - 7.2", "a", "1.x || >=2.5.0 || 5.0.0 - 7.2");
    check("a@*", "a", "*");
    check("a@v1.2.3", "a", "v1.2.3");
    check("socket.io", "socket.io", "*");
    check("a_b-c.d", "a_b-c.d", "*");
    check(&"a".repeat(214), &"a".repeat(214), "*");
}

#[test]
fn refusals() {
    let check = |text: &str, expected: fn(Excerpt) -> NpmError| {
        assert_eq!(NpmSpec::parse(text), Err(expected(Excerpt::of(text))), "{text}");
    };
    assert_eq!(NpmSpec::parse("  "), Err(NpmError::Empty));
    check(&"a".repeat(600), NpmError::TooLong);
    for control in ["lodash\n", "a\0b", "a@1\t", "\u{1b}[31m"] {
        check(control, NpmError::ControlCharacter);
    }
    for option in ["--registry=https://a.b", "-g"] {
        check(option, NpmError::Option);
    }
    for jsr in ["jsr:@std/path", "a@jsr:@std/path"] {
        check(jsr, NpmError::Jsr);
    }
    check("alias@npm:other", NpmError::Alias);
    for location in [
        "git+https://a.b/c.git",
        "git://a.b/c",
        "https://a.b/c.tgz",
        "http://a.b",
        "file:../x",
        "github:user/repo",
        "user/repo",
        "../x",
        "./x",
        "/x",
        "~/x",
        "x.tgz",
        "a@https://b.c",
        "a@file:x",
        "a@user/repo",
        "git@github.com:a/b.git",
        "c:\\x",
        "@a/b/c",
    ] {
        check(location, NpmError::Location);
    }
}

#[test]
fn refused_names_and_ranges() {
    for name in [
        "Lodash",
        ".a",
        "_a",
        "a b",
        "a;rm -rf",
        "$(id)",
        "a|b",
        "a&b",
        "`id`",
        "é",
        "@scope",
        "@",
        "@/a",
        "@Scope/a",
        "node_modules",
        "a'",
        "a!",
        "a*",
        "a(b)",
    ] {
        assert_eq!(NpmSpec::parse(name), Err(NpmError::Name(Excerpt::of(name))), "{name}");
    }
    assert!(matches!(NpmSpec::parse(&"a".repeat(215)), Err(NpmError::Name(_))));
    for range in [
        "",
        " ",
        "3; rm -rf",
        "1.2.3.4",
        "$(id)",
        "&& id",
        "1 ||",
        "|| 1",
        ">",
        "> >3",
        "3 >",
        "=>3",
        "1.2-beta",
        "^^1",
        "latest next",
        "1 - ",
        "-1",
        "1..2",
        "`id`",
        "é",
        "@1",
        "1@2",
    ] {
        let expected = NpmError::Range(Excerpt::of(range.trim_end_matches(' ')));
        assert_eq!(NpmSpec::parse(&format!("a@{range}")), Err(expected), "{range}");
    }
}

#[test]
fn messages_name_the_text_and_what_works() {
    let message = NpmSpec::parse("zod@3;id").unwrap_err().to_string();
    assert_eq!(
        message,
        "`3;id` is not a range of versions: write one such as `^4.17`, `>=3 <4`, `1.x || 2` or `latest`"
    );
    let message = NpmSpec::parse("jsr:@std/path").unwrap_err().to_string();
    assert_eq!(message, "`jsr:@std/path` is from JSR, and only npm is served: write an npm package, such as `zod@3`");
}

proptest! {
    #[test]
    fn what_is_read_is_read_again(text in r"(npm:|@|/|a|lodash|1|x|\.|-|\^|>=|<| |\|\||\PC)*") {
        if let Ok(spec) = NpmSpec::parse(&text) {
            prop_assert_eq!(NpmSpec::parse(&spec.to_string()), Ok(spec));
        }
    }

    #[test]
    fn nothing_panics(text in any::<String>()) {
        drop(NpmSpec::parse(&text));
    }
}
