use std::str::FromStr as _;

use pep440_rs::{Version, VersionSpecifiers};
use serde::Deserialize;

#[cfg(test)]
mod tests;

/// What a script says about itself in its `# /// script` block (PEP 723). Unchecked: the requirements are as it wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ScriptMetadata {
    /// The requirements, each in the form of PEP 508.
    #[serde(default)]
    pub dependencies: Vec<String>,
    /// Which versions of Python it runs with.
    pub requires_python: Option<String>,
}

impl ScriptMetadata {
    /// The longest block that is read, in bytes: what it says is kept, and shown where it cannot be had.
    pub const MAX_LENGTH: usize = 64 << 10;
}

/// Whether a version of Python is one of those that a script's `requires-python` names. What cannot be read names none in particular.
pub fn python_satisfies(version: &str, requires: &str) -> bool {
    let specifiers = VersionSpecifiers::from_str(requires);
    let version = Version::from_str(version);
    specifiers.is_ok_and(|specifiers| version.is_ok_and(|version| specifiers.contains(&version)))
}

/// Why a script's block cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// PEP 723 allows one.
    #[error("the script has more than one `# /// script` block: keep one")]
    SeveralBlocks,
    /// Longer than [`ScriptMetadata::MAX_LENGTH`].
    #[error("the script's `# /// script` block is longer than {} KiB", ScriptMetadata::MAX_LENGTH >> 10)]
    TooLong,
    /// `requires-python` is not made of versions.
    #[error("`requires-python` is `{0}`, which is no list of versions: write it like `>=3.11`")]
    RequiresPython(String),
    /// The block is not TOML, or a field has another type.
    #[error("the script's `# /// script` block is not the TOML of PEP 723: {}", .0.message())]
    Toml(#[from] toml::de::Error),
}

/// Reads a Python script's `# /// script` block as the reference implementation of PEP 723 does, so that a block which is not
/// closed is none. Other blocks, and tables such as `[tool.uv]`, are not looked at.
pub fn script_metadata(code: &str) -> Result<Option<ScriptMetadata>, MetadataError> {
    let mut metadata = None;
    let lines: Vec<&str> = code.lines().collect();
    for comment in lines.split(|line| !is_comment(line)) {
        let Some(("script", content)) = block(comment) else { continue };
        if metadata.is_some() {
            return Err(MetadataError::SeveralBlocks);
        } else if content.len() > ScriptMetadata::MAX_LENGTH {
            return Err(MetadataError::TooLong);
        }
        metadata = Some(content);
    }
    let metadata: Option<ScriptMetadata> = metadata.map(|content| toml::from_str(&content)).transpose()?;
    let requires = metadata.as_ref().and_then(|metadata| metadata.requires_python.as_deref());
    match requires.filter(|requires| VersionSpecifiers::from_str(requires).is_err()) {
        Some(requires) => Err(MetadataError::RequiresPython(requires.chars().take(80).collect())),
        None => Ok(metadata),
    }
}

/// A line that a block can hold. Its first and last line are such lines too, so a block never spans two comments.
fn is_comment(line: &str) -> bool {
    line == "#" || line.starts_with("# ")
}

/// The type and content of the block in adjacent comment lines. There is at most one: it goes up to the last `# ///`, as the PEP's
/// regular expression is greedy, and holds at least one line.
fn block<'code>(comment: &[&'code str]) -> Option<(&'code str, String)> {
    let last = comment.iter().rposition(|line| *line == "# ///")?;
    let within = comment.get(..last)?;
    let (first, kind) = within.iter().enumerate().find_map(|(at, line)| {
        let kind = line.strip_prefix("# /// ")?;
        let is_kind = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (is_kind && at + 1 < last).then_some((at, kind))
    })?;
    let content = within.get(first + 1..)?.iter().flat_map(|line| [line.get(2..).unwrap_or_default(), "\n"]).collect();
    Some((kind, content))
}
