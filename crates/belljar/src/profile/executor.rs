//! The variables of `mcp_code_executor`.

use std::path::{Path, PathBuf};

use belljar::grants;
use mcp::profiles::{Environment as Configured, EnvironmentType, Profile};
use sandbox::FolderAccess;

use super::{Chosen, Ended, Kind, Shown};
use crate::settings::Environment;

const CODE_STORAGE_DIR: &str = "CODE_STORAGE_DIR";
const ENV_TYPE: &str = "ENV_TYPE";
const CONDA_ENV_NAME: &str = "CONDA_ENV_NAME";
const VENV_PATH: &str = "VENV_PATH";
const UV_VENV_PATH: &str = "UV_VENV_PATH";

pub(super) fn choose(environment: &Environment) -> Result<Chosen, Ended> {
    let missing = |name: &str| Ended::failed(format!("Missing required environment variable: {name}"));
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    let store = variable(CODE_STORAGE_DIR).ok_or_else(|| missing(CODE_STORAGE_DIR))?;
    let name = variable(ENV_TYPE).unwrap_or_else(|| "conda".to_owned());
    let kind = EnvironmentType::find(&name).ok_or_else(|| {
        Ended::failed(format!("error: {ENV_TYPE} is `{name}`, and has to be `conda`, `venv` or `venv-uv`"))
    })?;
    let configured = Configured {
        kind,
        conda_name: variable(CONDA_ENV_NAME),
        venv_path: variable(VENV_PATH),
        uv_venv_path: variable(UV_VENV_PATH),
    };
    let python = match kind {
        EnvironmentType::Conda => {
            let name = configured.conda_name.as_deref();
            let name = name.ok_or_else(|| missing(&format!("{CONDA_ENV_NAME} (required for conda environment)")))?;
            conda(name, environment)?
        }
        EnvironmentType::Venv => {
            let path = configured.venv_path.as_deref();
            path.ok_or_else(|| missing(&format!("{VENV_PATH} (required for virtualenv)")))?.into()
        }
        EnvironmentType::VenvUv => {
            let path = configured.uv_venv_path.as_deref();
            path.ok_or_else(|| missing(&format!("{UV_VENV_PATH} (required for uv virtualenv)")))?.into()
        }
    };
    let unusable = |error: std::io::Error| Ended::failed(format!("error: `{store}` cannot hold code files: {error}"));
    let profile = Profile::mcp_code_executor(Path::new(&store), configured).map_err(unusable)?;
    let real = std::fs::canonicalize(&store).map_err(unusable)?;
    let mut chosen = Chosen::new(Kind::Ready(profile));
    chosen.folders = Shown::Also(vec![grants::folder(&real, None, FolderAccess::Write)?]);
    chosen.python = Some(python);
    Ok(chosen)
}

/// Where conda keeps an environment.
fn conda(name: &str, environment: &Environment) -> Result<PathBuf, Ended> {
    let of_program = environment.path().iter().map(|folder| folder.join("conda")).find(|program| program.is_file());
    let root = of_program.and_then(|program| {
        let real = std::fs::canonicalize(program).ok()?;
        Some(real.parent()?.parent()?.to_owned())
    });
    let Some(root) = root else {
        return Err(Ended::failed(format!(
            "error: {ENV_TYPE} is `conda`, and there is no conda on this machine: set it to `venv` or `venv-uv`, with {VENV_PATH} or {UV_VENV_PATH}"
        )));
    };
    let own = environment.home().map(|home| home.join(".conda/envs").join(name));
    let found = [root.join("envs").join(name)].into_iter().chain(own).find(|path| path.is_dir());
    let base = (name == "base").then_some(root);
    found.or(base).ok_or_else(|| Ended::failed(format!("error: conda has no environment `{name}`")))
}
