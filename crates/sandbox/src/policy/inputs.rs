//! What a program is given: files, variables, packages, standard input, arguments, environment.

use std::collections::HashSet;

use super::Policy;
use crate::{
    Bytes, InputFile, Language, Limits, PathError, PlannedFile, ProgramNames, Refusal, Variable, WorkspacePath,
};

pub(super) fn files(files: Vec<InputFile>, names: &ProgramNames, limits: &Limits) -> Result<Vec<PlannedFile>, Refusal> {
    if files.len() > Policy::MAX_FILES {
        return Err(Refusal::new(
            "files",
            format!("`files` holds {} files, above the limit of {}", files.len(), Policy::MAX_FILES),
            "send an archive and unpack it in the program",
        ));
    }
    let total: u64 = files.iter().map(|file| file.contents.len() as u64).sum();
    if total > limits.disk.get() {
        return Err(Refusal::new(
            "files",
            format!("`files` hold {}, above the workspace's {}", Bytes::new(total), limits.disk),
            "send less, or ask for a larger `disk`",
        ));
    }
    let mut seen = HashSet::new();
    let mut planned = Vec::with_capacity(files.len());
    for file in files {
        let path = WorkspacePath::new(&file.path).map_err(|error| bad_path(&file.path, &error))?;
        if path.as_str() == names.source {
            return Err(Refusal::new(
                "files",
                format!("`files` names `{path}`, which is the program itself"),
                "give the file another name",
            ));
        }
        if !seen.insert(path.clone()) {
            return Err(Refusal::new("files", format!("`files` names `{path}` twice"), "name each file once"));
        }
        planned.push(PlannedFile { path, contents: file.contents });
    }
    let all = seen.iter().map(WorkspacePath::as_str).chain([names.source.as_str()]).collect();
    if let Some((inner, outer)) = file_used_as_directory(all) {
        return Err(Refusal::new(
            "files",
            format!("`files` names both `{outer}` and `{inner}`, so `{outer}` would be a file and a directory"),
            "give one of them another name",
        ));
    }
    Ok(planned)
}

fn file_used_as_directory(mut names: Vec<&str>) -> Option<(&str, &str)> {
    // Sorted by path components, so that a directory's contents come right after it. Looking up every prefix of a path
    // would take time quadratic in its length.
    names.sort_unstable_by(|one, other| one.split('/').cmp(other.split('/')));
    names.array_windows().find_map(|&[outer, inner]| {
        let is_inside = inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
        is_inside.then_some((inner, outer))
    })
}

fn bad_path(path: &std::ffi::OsStr, error: &PathError) -> Refusal {
    let shown: String = path.to_string_lossy().chars().flat_map(char::escape_debug).take(80).collect();
    Refusal::new(
        "files",
        format!("`{shown}` cannot be a file of the workspace: {error}"),
        "use a relative UTF-8 path without `..`, such as `data/input.csv`",
    )
}

/// Languages whose programs can be given variables.
const WITH_VARIABLES: &[&str] = &["python", "javascript", "typescript"];

pub(super) fn check_variables(variables: &[Variable], language: &Language) -> Result<(), Refusal> {
    if variables.is_empty() {
        return Ok(());
    }
    if !WITH_VARIABLES.contains(&language.id) {
        return Err(Refusal::new(
            "variables",
            format!("`variables` cannot be set for {}", language.name),
            format!("use `files` or `stdin`; variables work for {}", WITH_VARIABLES.join(", ")),
        ));
    }
    let size: usize = variables.iter().map(|variable| variable.name.len() + variable.json.len()).sum();
    if size > Policy::MAX_CODE.as_usize() {
        return Err(Refusal::new(
            "variables",
            format!("`variables` are {}, above the limit of {}", Bytes::new(size as u64), Policy::MAX_CODE),
            "put data into `files`",
        ));
    }
    let mut seen = HashSet::new();
    for Variable { name, .. } in variables {
        let mut characters = name.chars();
        let is_name = characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && characters.all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name {
            let shown: String = name.chars().flat_map(char::escape_debug).take(40).collect();
            return Err(Refusal::new(
                "variables",
                format!("`{shown}` is no name for a variable"),
                "use letters, digits and `_`, not starting with a digit",
            ));
        }
        if !seen.insert(name) {
            return Err(Refusal::new("variables", format!("`variables` sets `{name}` twice"), "set each once"));
        }
    }
    Ok(())
}

/// Languages whose programs can be given packages.
const WITH_PACKAGES: &[&str] = &["python", "javascript", "typescript"];

pub(super) fn check_packages(packages: &[String], language: &Language) -> Result<(), Refusal> {
    if !packages.is_empty() && !WITH_PACKAGES.contains(&language.id) {
        return Err(Refusal::new(
            "packages",
            format!("`packages` cannot be installed for {}", language.name),
            format!("leave `packages` out; they can be had for {}", WITH_PACKAGES.join(", ")),
        ));
    }
    if packages.len() > Policy::MAX_PACKAGES {
        return Err(Refusal::new(
            "packages",
            format!("`packages` names {} packages, above the limit of {}", packages.len(), Policy::MAX_PACKAGES),
            "name those that the program imports; what they need comes with them",
        ));
    }
    Ok(())
}

pub(super) fn check_stdin(stdin: &[u8]) -> Result<(), Refusal> {
    if stdin.len() > Policy::MAX_STDIN.as_usize() {
        return Err(Refusal::new(
            "stdin",
            format!("`stdin` is {}, above the limit of {}", Bytes::new(stdin.len() as u64), Policy::MAX_STDIN),
            "put large input into `files`",
        ));
    }
    Ok(())
}

pub(super) fn check_args(args: &[String]) -> Result<(), Refusal> {
    if let Some(index) = args.iter().position(|argument| argument.contains('\0')) {
        return Err(Refusal::new(
            "args",
            format!("argument {} in `args` contains a NUL byte", index + 1),
            "arguments are text; put binary data into `files` or `stdin`",
        ));
    }
    Ok(())
}

pub(super) fn check_env(env: &[(String, String)]) -> Result<(), Refusal> {
    let mut seen = HashSet::new();
    for (name, value) in env {
        let shown: String = name.chars().flat_map(char::escape_debug).take(80).collect();
        if name.is_empty() || name.contains(['=', '\0']) || name.chars().any(char::is_control) {
            return Err(Refusal::new(
                "env",
                format!("`{shown}` cannot be the name of an environment variable"),
                "use a name without `=` and control characters, such as `API_URL`",
            ));
        }
        if value.contains('\0') {
            return Err(Refusal::new(
                "env",
                format!("the value of `{shown}` in `env` contains a NUL byte"),
                "use text",
            ));
        }
        if !seen.insert(name) {
            return Err(Refusal::new("env", format!("`env` names `{shown}` twice"), "name each variable once"));
        }
    }
    Ok(())
}

pub(super) fn check_arguments_size(args: &[String], env: &[(String, String)]) -> Result<(), Refusal> {
    // The kernel takes at most 128 KiB for one string (MAX_ARG_STRLEN), whatever the total.
    const MAX_ONE: usize = 128 * 1024 - 1;
    let total: usize = args.iter().map(String::len).sum::<usize>()
        + env.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
    let longest =
        args.iter().map(String::len).chain(env.iter().map(|(name, value)| name.len() + value.len() + 1)).max();
    if total > Policy::MAX_ARGUMENTS.as_usize() || longest.is_some_and(|longest| longest > MAX_ONE) {
        return Err(Refusal::new(
            "args",
            format!(
                "`args` and `env` are {} together, above what a program can be started with ({}, 128 KiB each)",
                Bytes::new(total as u64),
                Policy::MAX_ARGUMENTS
            ),
            "put long data into `files` or `stdin`",
        ));
    }
    Ok(())
}
