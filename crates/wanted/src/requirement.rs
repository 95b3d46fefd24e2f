use std::borrow::Cow;
use std::fmt;
use std::str::FromStr as _;

use pep440_rs::VersionSpecifiers;

use crate::distribution::{is_distribution_name, normalise};
use crate::excerpt::Excerpt;

mod marker;
#[cfg(test)]
mod tests;

/// A checked Python requirement (PEP 508): a name in an index, and perhaps extras, versions and a marker. Never a URL, a path or
/// an option: it can be handed to an installer as it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    name: String,
    extras: Vec<String>,
    versions: VersionSpecifiers,
    /// Empty if there is none.
    marker: String,
}

/// Why a text is no requirement that could be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequirementError {
    /// Nothing, or only spaces.
    #[error("a requirement is empty: write a name such as `pandas`, or `pandas>=2,<3`")]
    Empty,
    /// Longer than [`Requirement::MAX_LENGTH`].
    #[error("`{0}` goes on for more than {max} characters: write a name and versions, such as `pandas>=2,<3`", max = Requirement::MAX_LENGTH)]
    TooLong(Excerpt),
    /// NUL, newline or another control character.
    #[error("`{0}` contains a control character: write one requirement at a time, such as `pandas>=2,<3`")]
    ControlCharacter(Excerpt),
    /// Starts with `-`, or something in it does.
    #[error("`{0}` is an option of an installer: only packages can be asked for, such as `pandas>=2,<3`")]
    Option(Excerpt),
    /// A URL, or a name with one.
    #[error(
        "`{0}` is a URL, and packages come from the index alone: write a name and versions, such as `pandas>=2,<3`"
    )]
    Url(Excerpt),
    /// A file or folder.
    #[error(
        "`{0}` is a path, and packages come from the index alone: write a name and versions, such as `pandas>=2,<3`"
    )]
    Path(Excerpt),
    /// Not a name by PEP 508.
    #[error(
        "`{0}` does not begin with a package's name: write one such as `pandas`, of letters, digits and `-`, `_`, `.` between them"
    )]
    Name(Excerpt),
    /// What is between `[` and `]`, or no `]`.
    #[error("`{0}` has extras that cannot be read: write names between brackets, such as `requests[socks]`")]
    Extras(Excerpt),
    /// Not version specifiers by PEP 440.
    #[error("`{0}` is not a range of versions: write one such as `>=2,<3`, `==2.31.*` or `~=1.4`")]
    Versions(Excerpt),
    /// What follows `;`.
    #[error("`{0}` is not a marker: after `;` write a condition such as `python_version >= \"3.10\"`, or nothing")]
    Marker(Excerpt),
}

impl Requirement {
    /// The longest requirement that is read, in characters.
    pub const MAX_LENGTH: usize = 256;

    /// Checks a caller's requirement.
    pub fn parse(text: &str) -> Result<Self, RequirementError> {
        let text = text.trim_matches(' ');
        let refused = |error: fn(Excerpt) -> RequirementError| error(Excerpt::of(text));
        if text.is_empty() {
            return Err(RequirementError::Empty);
        } else if text.chars().count() > Self::MAX_LENGTH {
            return Err(refused(RequirementError::TooLong));
        } else if text.chars().any(char::is_control) {
            return Err(refused(RequirementError::ControlCharacter));
        }
        let (wanted, marker) = text.split_once(';').map_or((text, None), |(wanted, marker)| (wanted, Some(marker)));
        if let Some(error) = not_a_name(wanted) {
            return Err(refused(error));
        }

        let end =
            wanted.find(|part: char| !part.is_ascii_alphanumeric() && !"-_.".contains(part)).unwrap_or(wanted.len());
        let (name, rest) = wanted.split_at_checked(end).unwrap_or((wanted, ""));
        if !is_distribution_name(name) {
            return Err(refused(RequirementError::Name));
        }
        let rest = rest.trim_matches(' ');
        let (extras, rest) = match rest.strip_prefix('[') {
            Some(inside) => inside.split_once(']').ok_or_else(|| refused(RequirementError::Extras))?,
            None => ("", rest),
        };
        Ok(Self {
            name: normalise(name).into_owned(),
            extras: parse_extras(extras).ok_or_else(|| refused(RequirementError::Extras))?,
            versions: parse_versions(rest)?,
            marker: marker.map_or(Ok(String::new()), |marker| {
                marker::canonical(marker).ok_or_else(|| RequirementError::Marker(Excerpt::of(marker.trim_matches(' '))))
            })?,
        })
    }

    /// The name, normalised by PEP 503.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The canonical text, for an installer.
impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        if !self.extras.is_empty() {
            write!(formatter, "[{}]", self.extras.join(","))?;
        }
        let versions: Vec<String> = self.versions.iter().map(ToString::to_string).collect();
        formatter.write_str(&versions.join(","))?;
        if !self.marker.is_empty() {
            write!(formatter, " ; {}", self.marker)?;
        }
        Ok(())
    }
}

/// What a text is that installers take and we do not.
fn not_a_name(wanted: &str) -> Option<fn(Excerpt) -> RequirementError> {
    let lowered = wanted.trim_end().to_ascii_lowercase();
    if wanted.starts_with('-') || wanted.contains(" -") {
        Some(RequirementError::Option)
    } else if wanted.contains([':', '@']) || lowered.starts_with("git+") {
        Some(RequirementError::Url)
    } else if wanted.contains(['/', '\\'])
        || wanted.starts_with(['.', '~'])
        || [".whl", ".zip", ".tar.gz", ".tgz"].iter().any(|end| lowered.ends_with(end))
    {
        Some(RequirementError::Path)
    } else {
        None
    }
}

fn parse_extras(extras: &str) -> Option<Vec<String>> {
    if extras.trim_matches(' ').is_empty() {
        return Some(Vec::new());
    }
    let extra = |extra: &str| is_distribution_name(extra).then(|| normalise(extra)).map(Cow::into_owned);
    extras.split(',').map(|name| extra(name.trim_matches(' '))).collect()
}

/// `>=2,<3`, in parentheses or not.
fn parse_versions(text: &str) -> Result<VersionSpecifiers, RequirementError> {
    let text = text.trim_matches(' ');
    let inside = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
    VersionSpecifiers::from_str(inside).map_err(|_| RequirementError::Versions(Excerpt::of(text)))
}
