//! The runtimes as data: one table, a row a runtime. A row and a folder in `runtimes/` are all that another one takes.

use std::time::Duration;

use sandbox::Bytes;

/// A language runtime that the WebAssembly engine can run.
#[derive(Debug)]
pub struct Runtime {
    /// Its name, and that of its folder in `runtimes/`. Lower case letters and digits.
    pub name: &'static str,
    /// How people write it.
    pub title: &'static str,
    /// The languages that it serves, by id.
    pub languages: &'static [&'static str],
    /// Other folders of `runtimes/` that its recipe uses. A change in one of them is a change of this recipe; one that is a runtime
    /// itself is provisioned first.
    pub upon: &'static [&'static str],
    /// About how long the first provisioning takes on two cores, downloads included.
    pub takes: Duration,
    /// About what it occupies once it is there.
    pub size: Bytes,
    /// About what its recipe needs on the disk while it builds. Refused up front where there is less.
    pub scratch: Bytes,
}

/// All runtimes, in the order in which they are provisioned: what is ready in seconds comes first and serves while the others build.
pub static CATALOGUE: &[Runtime] = &[
    Runtime {
        name: "javascript",
        title: "JavaScript and TypeScript (QuickJS)",
        languages: &["javascript", "typescript"],
        upon: &["toolchain"],
        takes: Duration::from_secs(5),
        size: Bytes::mib(11),
        scratch: Bytes::mib(64),
    },
    Runtime {
        name: "lua",
        title: "Lua",
        languages: &["lua"],
        upon: &["toolchain", "reactor"],
        takes: Duration::from_secs(20),
        size: Bytes::mib(3),
        scratch: Bytes::mib(600),
    },
    Runtime {
        name: "sql",
        title: "SQL (SQLite)",
        languages: &["sql"],
        upon: &["toolchain", "reactor"],
        takes: Duration::from_secs(30),
        size: Bytes::mib(11),
        scratch: Bytes::mib(600),
    },
    Runtime {
        name: "ruby",
        title: "Ruby",
        languages: &["ruby"],
        upon: &["toolchain"],
        takes: Duration::from_secs(80),
        size: Bytes::mib(200),
        scratch: Bytes::mib(256),
    },
    Runtime {
        name: "clang",
        title: "C and C++ (clang)",
        languages: &["c", "cpp"],
        upon: &["toolchain", "reactor"],
        takes: Duration::from_secs(90),
        size: Bytes::mib(310),
        scratch: Bytes::mib(600),
    },
    Runtime {
        name: "php",
        title: "PHP",
        languages: &["php"],
        upon: &["toolchain", "reactor", "lua"],
        takes: Duration::from_secs(255),
        size: Bytes::mib(30),
        scratch: Bytes::gib(1),
    },
    Runtime {
        name: "python",
        title: "Python (CPython)",
        languages: &["python"],
        upon: &["toolchain"],
        takes: Duration::from_secs(340),
        size: Bytes::mib(85),
        scratch: Bytes::gib(2),
    },
    Runtime {
        name: "numpy",
        title: "Python with NumPy",
        languages: &["python"],
        upon: &["toolchain", "python"],
        takes: Duration::from_secs(160),
        size: Bytes::mib(130),
        scratch: Bytes::gib(2),
    },
];

/// The runtime of that name.
pub fn runtime(name: &str) -> Option<&'static Runtime> {
    CATALOGUE.iter().find(|runtime| runtime.name == name)
}

/// The runtimes that somebody's words mean: a runtime's own name, else all that serve the language of that id. No words mean all.
pub fn select<S: AsRef<str>>(words: &[S]) -> Result<Vec<&'static Runtime>, UnknownRuntime> {
    if words.is_empty() {
        return Ok(CATALOGUE.iter().collect());
    }
    let mut selected = Vec::new();
    for word in words.iter().map(AsRef::as_ref) {
        if let Some(runtime) = runtime(word) {
            selected.push(runtime);
            continue;
        }
        let before = selected.len();
        selected.extend(CATALOGUE.iter().filter(|runtime| runtime.languages.contains(&word)));
        if selected.len() == before {
            return Err(UnknownRuntime { word: word.chars().take(64).collect() });
        }
    }
    Ok(in_order(|runtime| selected.iter().any(|selected| selected.name == runtime.name)))
}

/// A word that is neither a runtime's name nor a language that one serves.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no runtime for `{word}`; there is: {}", names())]
pub struct UnknownRuntime {
    word: String,
}

/// With the runtimes that they build upon, each once, in the catalogue's order.
pub(crate) fn with_bases(wanted: &[&'static Runtime]) -> Vec<&'static Runtime> {
    in_order(|runtime| wanted.iter().any(|wanted| folders(wanted).contains(&runtime.name)))
}

/// The runtimes that this one builds upon.
pub(crate) fn bases(of: &Runtime) -> impl Iterator<Item = &'static Runtime> {
    of.upon.iter().filter_map(|name| runtime(name))
}

/// All folders of `runtimes/` that go into a runtime, its own among them. Sorted.
pub(crate) fn folders(of: &Runtime) -> Vec<&'static str> {
    let mut folders = vec![of.name];
    let mut next = 0;
    while let Some(folder) = folders.get(next).copied() {
        let more = if folder == of.name { of.upon } else { runtime(folder).map_or(&[][..], |base| base.upon) };
        for name in more {
            if !folders.contains(name) {
                folders.push(name);
            }
        }
        next += 1;
    }
    folders.sort_unstable();
    folders
}

fn in_order(choose: impl Fn(&Runtime) -> bool) -> Vec<&'static Runtime> {
    CATALOGUE.iter().filter(|runtime| choose(runtime)).collect()
}

fn names() -> String {
    let names: Vec<String> = CATALOGUE.iter().map(|runtime| format!("`{}`", runtime.name)).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_of(runtimes: &[&'static Runtime]) -> Vec<&'static str> {
        runtimes.iter().map(|runtime| runtime.name).collect()
    }

    #[test]
    fn words_name_runtimes_or_languages() {
        let selected = |words: &[&str]| select(words).map(|runtimes| names_of(&runtimes));
        assert_eq!(selected(&[]), Ok(vec!["javascript", "lua", "sql", "ruby", "clang", "php", "python", "numpy"]));
        assert_eq!(selected(&["typescript"]), Ok(vec!["javascript"]));
        assert_eq!(selected(&["numpy", "javascript", "numpy"]), Ok(vec!["javascript", "numpy"]));
        assert_eq!(selected(&["python"]), Ok(vec!["python"]), "a runtime's own name is that runtime");
        let error = select(&["cobol"]).expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "there is no runtime for `cobol`; there is: `javascript`, `lua`, `sql`, `ruby`, `clang`, `php`, `python`, `numpy`"
        );
    }

    #[test]
    fn what_is_built_upon_comes_first() {
        let numpy = runtime("numpy").expect("in the catalogue");
        assert_eq!(names_of(&with_bases(&[numpy])), ["python", "numpy"]);
        assert_eq!(folders(numpy), ["numpy", "python", "toolchain"]);
        for (index, row) in CATALOGUE.iter().enumerate() {
            for base in bases(row) {
                let place = CATALOGUE.iter().position(|other| other.name == base.name);
                assert!(place < Some(index), "`{}` stands before `{}`, which it builds upon", row.name, base.name);
            }
        }
    }

    #[test]
    fn rows_are_well_formed() {
        for row in CATALOGUE {
            assert!(row.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{}", row.name);
            for language in row.languages {
                assert!(sandbox::Language::find(language).is_some_and(|found| found.id == *language), "{language}");
            }
        }
    }
}
