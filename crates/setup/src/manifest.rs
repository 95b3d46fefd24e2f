//! What is written down about an installed runtime, and what a recipe says about what it built.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// Larger than any manifest.
pub(crate) const MOST_MANIFEST: u64 = 64 << 10;

/// What a runtime is built from, and how long a word about it may be. Together they fit into [`MOST_MANIFEST`].
const MOST_SOURCES: usize = 60;
const LONGEST_WORD: usize = 256;

/// The version of these files' form. Another one is not read.
const FORMAT: u32 = 1;

/// An installed runtime: what it is, what it was made of, and its portable files. Its file is the last that is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    format: u32,
    /// The runtime's name.
    pub name: String,
    /// The version of what it runs: `3.13.15`.
    pub version: String,
    /// Recipe and snapshotter; what another belljar needs to have too in order to use it.
    pub key: Digest,
    /// What the recipe was built from.
    pub sources: Vec<Source>,
    /// The snapshot.
    pub snapshot: FileFacts,
    /// The files it sees, for those that have some.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pack: Option<FileFacts>,
    /// Seconds since 1970.
    built: u64,
    /// The belljar that made it.
    pub belljar: String,
}

/// Something that a recipe took from a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The package's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its hash, as the recipe checked it.
    pub hash: String,
}

/// A file's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileFacts {
    /// Over all of it.
    pub sha256: Digest,
    /// Its size.
    pub bytes: u64,
}

impl Manifest {
    pub(crate) fn new(name: &str, facts: Facts, key: Digest, snapshot: FileFacts, pack: Option<FileFacts>) -> Self {
        let built = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Self {
            format: FORMAT,
            name: name.to_owned(),
            version: facts.version,
            key,
            sources: facts.sources,
            snapshot,
            pack,
            built,
            belljar: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// `None` for what is no manifest of this form.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let manifest: Self = serde_json::from_slice(bytes).ok()?;
        let words = [&manifest.name, &manifest.version, &manifest.belljar];
        let is_shown = words.into_iter().all(|word| is_word(word)) && are_sources(&manifest.sources);
        (manifest.format == FORMAT && is_shown).then_some(manifest)
    }

    /// When it was built, by the clock of the machine that did.
    pub fn built(&self) -> SystemTime {
        UNIX_EPOCH.checked_add(Duration::from_secs(self.built)).unwrap_or(UNIX_EPOCH)
    }
}

/// Whether a text is fit to be shown: an imported manifest is somebody else's.
fn is_word(text: &str) -> bool {
    text.len() <= LONGEST_WORD && !text.contains(char::is_control)
}

fn are_sources(sources: &[Source]) -> bool {
    let is_source =
        |source: &Source| [&source.name, &source.version, &source.hash].into_iter().all(|word| is_word(word));
    sources.len() <= MOST_SOURCES && sources.iter().all(is_source)
}

/// A compiled module's record, beside it. The module counts only with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    format: u32,
    /// What it was compiled from.
    pub(crate) snapshot: Digest,
    /// What it was compiled for, in the engine's words.
    pub(crate) machine: String,
    pub(crate) module: FileFacts,
}

impl Record {
    pub(crate) fn new(snapshot: Digest, machine: String, module: FileFacts) -> Self {
        Self { format: FORMAT, snapshot, machine, module }
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let record: Self = serde_json::from_slice(bytes).ok()?;
        (record.format == FORMAT).then_some(record)
    }
}

/// What a recipe says in its `facts`: lines of `key=value`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Facts {
    pub(crate) version: String,
    pub(crate) sources: Vec<Source>,
}

impl Facts {
    /// `None` without a version, or with anything that a manifest could not hold. Lines with other keys are for people.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut facts = Self::default();
        for line in text.lines() {
            match line.split_once('=') {
                Some(("version", version)) => version.trim().clone_into(&mut facts.version),
                Some(("source", source)) => {
                    let mut words = source.split_whitespace();
                    let mut word = || words.next().unwrap_or_default().to_owned();
                    facts.sources.push(Source { name: word(), version: word(), hash: word() });
                }
                _ => {}
            }
        }
        // A recipe that another one builds upon has named its sources too.
        facts.sources.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
        facts.sources.dedup();
        let is_version = !facts.version.is_empty() && is_word(&facts.version);
        (is_version && are_sources(&facts.sources)).then_some(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_lines() {
        let text =
            "source=zlib 1.3.1 abc\nversion=3.13.15\nsize=1\n\nsource=bzip2 1.0.8 def\nsource=zlib 1.3.1 abc\nnothing";
        let source = |name: &str, version: &str, hash: &str| Source {
            name: name.to_owned(),
            version: version.to_owned(),
            hash: hash.to_owned(),
        };
        let expected = Facts {
            version: "3.13.15".to_owned(),
            sources: vec![source("bzip2", "1.0.8", "def"), source("zlib", "1.3.1", "abc")],
        };
        assert_eq!(Facts::parse(text), Some(expected));
        assert_eq!(Facts::parse("source=a b c"), None);
        assert_eq!(Facts::parse(&format!("version={}", "1".repeat(257))), None);
        let many: Vec<String> = (0..100).map(|number| format!("source=a{number} 1 abc")).collect();
        assert_eq!(Facts::parse(&format!("version=1\n{}", many.join("\n"))), None);
    }

    #[test]
    fn a_manifest_reads_back_and_nothing_else_does() {
        let facts = FileFacts { sha256: Digest::of_parts([]), bytes: 7 };
        let said = Facts { version: "1".to_owned(), sources: Vec::new() };
        let manifest = Manifest::new("python", said, Digest::of_parts([]), facts, None);
        let text = serde_json::to_string(&manifest).expect("serialize");
        assert_eq!(Manifest::parse(text.as_bytes()), Some(manifest));
        for other in ["", "{}", "[]", &text.replace("\"format\":1", "\"format\":2"), &text.replace("built", "x")] {
            assert_eq!(Manifest::parse(other.as_bytes()), None, "{other}");
        }
    }
}
