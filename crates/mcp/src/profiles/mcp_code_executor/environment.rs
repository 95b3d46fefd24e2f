//! The environment in use, as the original speaks of it.

use std::path::Path;

use serde_json::{Value, json};

/// Which kind of environment is in use, and what each kind was set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// The one in use.
    pub kind: EnvironmentType,
    /// Of conda.
    pub conda_name: Option<String>,
    /// Of virtualenv.
    pub venv_path: Option<String>,
    /// Of uv.
    pub uv_venv_path: Option<String>,
}

/// Kinds of environments, as the original tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvironmentType {
    /// conda, by name.
    Conda,
    /// virtualenv, by path.
    Venv,
    /// One that uv made, by path.
    VenvUv,
}

impl EnvironmentType {
    /// By the name that the original has for it.
    pub fn find(name: &str) -> Option<Self> {
        [Self::Conda, Self::Venv, Self::VenvUv].into_iter().find(|kind| kind.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Conda => "conda",
            Self::Venv => "venv",
            Self::VenvUv => "venv-uv",
        }
    }

    /// The argument that says which one.
    pub(super) fn argument(self) -> &'static str {
        match self {
            Self::Conda => "conda_name",
            Self::Venv => "venv_path",
            Self::VenvUv => "uv_venv_path",
        }
    }
}

impl Environment {
    pub(super) fn place(&mut self, kind: EnvironmentType) -> &mut Option<String> {
        match kind {
            EnvironmentType::Conda => &mut self.conda_name,
            EnvironmentType::Venv => &mut self.venv_path,
            EnvironmentType::VenvUv => &mut self.uv_venv_path,
        }
    }

    pub(super) fn json(&self) -> Value {
        let set =
            [("conda_name", &self.conda_name), ("venv_path", &self.venv_path), ("uv_venv_path", &self.uv_venv_path)];
        let set = set.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_ref()?))));
        Value::Object([("type".to_owned(), json!(self.kind.name()))].into_iter().chain(set).collect())
    }

    /// The command that the original would run a file with.
    pub(super) fn command(&self, file: &Path) -> String {
        let activate = match self.kind {
            EnvironmentType::Conda => format!("conda activate {}", self.conda_name.as_deref().unwrap_or_default()),
            EnvironmentType::Venv => format!("source {}/bin/activate", self.venv_path.as_deref().unwrap_or_default()),
            EnvironmentType::VenvUv => {
                format!("source {}/bin/activate", self.uv_venv_path.as_deref().unwrap_or_default())
            }
        };
        format!("{activate} && python3 -u \"{}\"", file.display())
    }
}
