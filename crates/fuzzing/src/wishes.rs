use std::time::Duration;

use wanted::{NpmSpec, Requirement};

use crate::time::within;

/// Which packages a program wants, from any text: names that are names, and time that is linear in the text.
pub fn wishes(input: &[u8]) {
    let Some((times, text)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    read(&text);
    if times % 32 == 0 {
        read(&text.repeat(30_000 / (text.len() + 1)));
    }
}

fn read(text: &str) {
    within(Duration::from_secs(1), || {
        requirement(text);
        npm(text);
        for module in wanted::python_imports(text) {
            if let Some(package) = wanted::distribution_for(&module) {
                assert!(Requirement::parse(&package).is_ok(), "`{package}`, for `{module}`");
            }
        }
        for specifier in wanted::javascript_imports(text) {
            if let Some(Ok(spec)) = wanted::npm_package_of(&specifier) {
                npm(&spec.to_string());
            }
        }
        if let Ok(Some(metadata)) = wanted::script_metadata(text) {
            metadata.dependencies.iter().for_each(|dependency| requirement(dependency));
            if let Some(requires) = metadata.requires_python {
                wanted::python_satisfies("3.13.1", &requires);
            }
        }
        wanted::python_satisfies(text, ">=3");
    });
}

/// What is taken for a requirement is one line for the client that installs it, no option, and means the same when it is read again.
fn requirement(text: &str) {
    let Ok(requirement) = Requirement::parse(text) else { return };
    let written = requirement.to_string();
    assert!(!written.starts_with('-') && !written.contains(char::is_control), "{written:?}");
    assert!(requirement.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'));
    let again = Requirement::parse(&written).unwrap_or_else(|error| panic!("`{written}`: {error}"));
    assert_eq!((again.name(), again.to_string()), (requirement.name(), written));
}

fn npm(text: &str) {
    let Ok(spec) = NpmSpec::parse(text) else { return };
    let written = spec.to_string();
    assert!(!written.starts_with('-') && !written.contains(char::is_control), "{written:?}");
    let again = NpmSpec::parse(&written).unwrap_or_else(|error| panic!("`{written}`: {error}"));
    assert_eq!((again.name(), again.range()), (spec.name(), spec.range()));
}
