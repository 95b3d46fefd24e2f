use proptest::prelude::*;

use super::*;

#[test]
fn what_to_ask_for() {
    let check = |module: &str, expected: Option<&str>| {
        assert_eq!(distribution_for(module).as_deref(), expected, "{module}");
    };
    check("pandas", Some("pandas"));
    check("pandas.core.frame", Some("pandas"));
    check("cv2", Some("opencv-python-headless"));
    check("PIL.Image", Some("pillow"));
    check("sklearn.svm", Some("scikit-learn"));
    check("yaml", Some("pyyaml"));
    check("typing_extensions", Some("typing-extensions"));
    check("Levenshtein", Some("levenshtein"));
    check("google.protobuf.json_format", Some("protobuf"));
    check("google.cloud.storage.blob", Some("google-cloud-storage"));
    check("ruamel.yaml", Some("ruamel-yaml"));
    check("mpl_toolkits.mplot3d", Some("matplotlib"));
    check("a.__b", Some("a"));

    for nothing in [
        "os",
        "os.path",
        "__future__",
        "__main__",
        "distutils.core",
        "imp",
        "tomllib",
        "compression.zstd",
        "win32api",
        "AppKit",
        "google",
        "google.cloud",
        "google.colab",
        "azure",
        "utils",
        "_private",
        "x_",
        "größe",
        "",
        ".",
        "a b",
        "../a",
        "-r",
    ] {
        check(nothing, None);
    }
    check(&"a".repeat(MAX_NAME + 1), None);
}

#[test]
fn only_other_names_are_known() {
    assert_eq!(distribution_of("bs4.element"), Some("beautifulsoup4"));
    assert_eq!(distribution_of("pandas"), None);
    assert_eq!(distribution_of("google"), None);
}

#[test]
fn tables_are_sorted_and_each_entry_is_needed() {
    assert!(STANDARD.is_sorted_by(|one, next| one < next));
    assert!(NAMESPACES.is_sorted_by(|one, next| one < next));
    assert!(DISTRIBUTIONS.is_sorted_by(|(one, _), (next, _)| one < next));
    for (module, distribution) in DISTRIBUTIONS.iter() {
        assert!(is_distribution_name(distribution) && normalise(distribution) == *distribution, "{distribution}");
        let top = top_of(module);
        assert!(!is_distribution_name(top) || normalise(top) != *distribution, "{module} needs no entry");
        assert!(!is_python_standard(module) && !is_namespace(module), "{module}");
        assert!(!NEVER.contains(module), "{module}");
        let shorter = module.rsplit_once('.').and_then(|(shorter, _)| distribution_of(shorter));
        assert_ne!(shorter, Some(*distribution), "{module} is implied");
    }
    for module in NEVER.iter().chain(NAMESPACES) {
        assert_eq!(distribution_for(module), None);
        assert!(!is_python_standard(module), "{module}");
    }
}

#[test]
fn names_are_normalised() {
    for (name, expected) in
        [("Foo", "foo"), ("a__b.-c", "a-b-c"), ("a--b", "a-b"), ("zope.interface", "zope-interface"), ("a-b", "a-b")]
    {
        assert_eq!(normalise(name), expected);
    }
}

proptest! {
    #[test]
    fn what_is_asked_for_is_a_name(module in r"(google|cv2|[a-zA-Z_0-9]|\.|-|\PC)*") {
        if let Some(distribution) = distribution_for(&module) {
            prop_assert!(is_distribution_name(&distribution));
            prop_assert_eq!(normalise(&distribution), distribution.as_ref());
        }
    }
}
