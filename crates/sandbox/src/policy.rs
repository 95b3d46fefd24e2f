//! Where a request becomes a plan, or is refused.

use std::collections::HashSet;
use std::time::Duration;

use crate::compiling::check_arguments;
use crate::language::{Detected, detect, strip_fence};
use crate::{
    Bytes, DetectError, EngineChoice, EngineId, Folders, HostPattern, InputFile, Language, Limits, LimitsRequest,
    NetworkPolicy, PathError, Plan, PlannedFile, ProgramNames, Refusal, Request, SessionName, Variable, WorkspacePath,
};

/// What the operator allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// What a run gets that asks for nothing.
    pub defaults: Limits,
    /// What a run can ask for.
    pub ceilings: Limits,
    /// Folders of the host that every run sees. No request can name one.
    pub folders: Folders,
    /// Hosts that runs can connect to.
    pub network: NetworkPolicy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            defaults: Limits::DEFAULT,
            ceilings: Limits::CEILING,
            folders: Folders::default(),
            network: NetworkPolicy::default(),
        }
    }
}

impl Policy {
    /// The largest program. Bigger data belongs into `files`.
    pub const MAX_CODE: Bytes = Bytes::mib(16);
    /// The largest standard input.
    pub const MAX_STDIN: Bytes = Bytes::mib(64);
    /// All arguments and environment variables together, well below the kernel's `ARG_MAX`.
    pub const MAX_ARGUMENTS: Bytes = Bytes::kib(512);
    /// How many input files a request may carry.
    pub const MAX_FILES: usize = 1_024;
    /// How many packages a request may name.
    pub const MAX_PACKAGES: usize = 64;

    /// Checks everything that can be checked without touching the host, once. The only maker of a [`Plan`].
    pub fn admit(&self, request: Request) -> Result<Plan, Refusal> {
        let limits = self.limits(&request.limits)?;
        let (language, code) = program(&request)?;
        let code = in_tags(language, code);
        let names = language.names_for(&code);
        let files = files(request.files, &names, &limits)?;
        check_stdin(&request.stdin)?;
        check_args(&request.args)?;
        check_env(&request.env)?;
        check_arguments_size(&request.args, &request.env)?;
        check_variables(&request.variables, language)?;
        check_arguments(&request.compiler_args, language)?;
        check_packages(&request.packages, language)?;
        let network = self.network.admit(&request.network)?;
        let engine = self.engine(request.engine, &network)?;
        Ok(Plan {
            language,
            code,
            names,
            stdin: request.stdin,
            args: request.args,
            env: request.env,
            compiler_args: request.compiler_args,
            files,
            variables: request.variables,
            packages: request.packages,
            layer: None,
            session: request.session.as_deref().map(SessionName::new).transpose()?,
            principal: request.principal,
            engine,
            limits,
            folders: self.folders.clone(),
            network,
            collect: request.collect,
        })
    }

    /// The choice of engine of a request that asks for nothing.
    pub fn usual_engine(&self) -> EngineChoice {
        self.engine(EngineChoice::Auto, &self.network.always).unwrap_or_default()
    }

    /// WebAssembly has nothing behind its calls that could lead outside, so what is granted only the native engine can give.
    fn engine(&self, asked: EngineChoice, network: &[HostPattern]) -> Result<EngineChoice, Refusal> {
        let granted = match (network.is_empty(), self.folders.is_empty()) {
            (true, true) => return Ok(asked),
            (false, _) => "a network",
            (true, false) => "folders of the host",
        };
        match asked {
            EngineChoice::Auto | EngineChoice::Only(EngineId::Native) => Ok(EngineChoice::Only(EngineId::Native)),
            EngineChoice::Only(EngineId::Wasm) => Err(Refusal::new(
                "engine",
                format!("`engine` asks for `wasm`, which cannot have {granted}, and this run has"),
                "use engine `auto` or `native`",
            )),
        }
    }

    fn limits(&self, asked: &LimitsRequest) -> Result<Limits, Refusal> {
        let (default, ceiling, floor) = (&self.defaults, &self.ceilings, &Limits::FLOOR);
        let time = |duration: Duration| format!("{}", Seconds(duration));
        Ok(Limits {
            wall: within("timeout", asked.wall, [floor.wall, default.wall, ceiling.wall], time)?,
            cpu: within("cpu", asked.cpu, [floor.cpu, default.cpu, ceiling.cpu], time)?,
            memory: within("memory", asked.memory, [floor.memory, default.memory, ceiling.memory], |size| {
                size.to_string()
            })?,
            disk: within("disk", asked.disk, [floor.disk, default.disk, ceiling.disk], |size| size.to_string())?,
            files: within("file_count", asked.files, [floor.files, default.files, ceiling.files], |count| {
                count.to_string()
            })?,
            processes: within(
                "processes",
                asked.processes,
                [floor.processes, default.processes, ceiling.processes],
                |count| count.to_string(),
            )?,
            output: within("output", asked.output, [floor.output, default.output, ceiling.output], |size| {
                size.to_string()
            })?,
        })
    }
}

/// The limit asked for, or the default; refused below the floor and above the ceiling. An operator's ceiling below the default wins.
fn within<T: Ord + Copy>(
    name: &'static str,
    asked: Option<T>,
    [floor, default, ceiling]: [T; 3],
    show: impl Fn(T) -> String,
) -> Result<T, Refusal> {
    let Some(asked) = asked else {
        return Ok(default.min(ceiling));
    };
    if asked > ceiling {
        return Err(Refusal::new(
            name,
            format!("`{name}` of {} is above this server's ceiling of {}", show(asked), show(ceiling)),
            format!("ask for at most {}, or raise `limits.{name}` in the server's configuration", show(ceiling)),
        ));
    }
    if asked < floor {
        return Err(Refusal::new(
            name,
            format!("`{name}` of {} is below the least that can work, {}", show(asked), show(floor)),
            format!(
                "ask for {} to {}, or leave `{name}` out for {}",
                show(floor),
                show(ceiling),
                show(default.min(ceiling))
            ),
        ));
    }
    Ok(asked)
}

/// Shows a duration in the unit that reads best.
struct Seconds(Duration);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.subsec_nanos() == 0 {
            write!(f, "{} s", self.0.as_secs())
        } else {
            write!(f, "{} ms", self.0.as_millis())
        }
    }
}

/// The language and the bare program: a Markdown fence around it is evidence for the language and no part of the program.
fn program(request: &Request) -> Result<(&'static Language, Vec<u8>), Refusal> {
    let code = &request.code;
    if code.len() > Policy::MAX_CODE.as_usize() {
        return Err(Refusal::new(
            "code",
            format!("`code` is {}, above the limit of {}", Bytes::new(code.len() as u64), Policy::MAX_CODE),
            "put data into `files` and keep `code` to the program",
        ));
    }
    if code.contains(&0) {
        return Err(Refusal::new(
            "code",
            "`code` contains a NUL byte",
            "send source text; put binary data into `files`",
        ));
    }
    if code.trim_ascii().is_empty() {
        return Err(Refusal::new("code", "`code` is empty", "send a program, such as `print(1 + 1)`"));
    }
    let text = String::from_utf8_lossy(code);
    if let Some(name) = &request.language {
        let language = Language::find(name).ok_or_else(|| unknown_language(name))?;
        // Lossy text differs from the bytes where they are not UTF-8; then there is no fence worth stripping.
        let code =
            std::str::from_utf8(code).map_or_else(|_| code.clone(), |text| strip_fence(text).as_bytes().to_vec());
        return Ok((language, code));
    }
    match detect(&text, request.file_name.as_deref()) {
        Ok(Detected { language, code: inner }) => {
            let code = if std::str::from_utf8(code).is_ok() { inner.as_bytes().to_vec() } else { code.clone() };
            Ok((language, code))
        }
        Err(error) => Err(undetected(&error)),
    }
}

/// PHP prints what is outside its tags. A program without any is meant to be run all the same; the tag goes before it on its first line, so
/// that lines keep their numbers.
fn in_tags(language: &Language, mut code: Vec<u8>) -> Vec<u8> {
    let tagged = || {
        code.windows(3).any(|start| start == b"<?=") || code.windows(5).any(|tag| tag.eq_ignore_ascii_case(b"<?php"))
    };
    if language.id == "php" && !tagged() {
        code.splice(..0, *b"<?php ");
    }
    code
}

fn unknown_language(name: &str) -> Refusal {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
    let ids: Vec<&str> = Language::all().iter().map(|language| language.id).collect();
    let hint = match nearest_language(name) {
        Some(near) => format!("did you mean `{}`?", near.id),
        None => format!("use one of {}", ids.join(", ")),
    };
    Refusal::new("language", format!("`{shown}` is not a language belljar knows"), hint)
}

/// The language whose id or alias somebody may have meant.
fn nearest_language(name: &str) -> Option<&'static Language> {
    let names = Language::all().iter().flat_map(|language| language.aliases.iter().copied().chain([language.id]));
    Language::find(crate::nearest(name, names)?)
}

fn undetected(error: &DetectError) -> Refusal {
    let hint = match error {
        DetectError::Unclear { candidates } if !candidates.is_empty() => {
            format!("set `language`; it may be {}", candidates.join(", "))
        }
        DetectError::Unclear { .. } | DetectError::UnknownFence { .. } => "set `language`, such as `python`".to_owned(),
    };
    Refusal::new("language", error.to_string(), hint)
}

fn files(files: Vec<InputFile>, names: &ProgramNames, limits: &Limits) -> Result<Vec<PlannedFile>, Refusal> {
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
    if let Some((inner, outer)) = file_used_as_directory(&all) {
        return Err(Refusal::new(
            "files",
            format!("`files` names both `{outer}` and `{inner}`, so `{outer}` would be a file and a directory"),
            "give one of them another name",
        ));
    }
    Ok(planned)
}

fn file_used_as_directory<'a>(names: &HashSet<&'a str>) -> Option<(&'a str, &'a str)> {
    for name in names {
        for (slash, _) in name.match_indices('/') {
            if let Some(outer) = name.get(..slash).and_then(|prefix| names.get(prefix)) {
                return Some((name, outer));
            }
        }
    }
    None
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

fn check_variables(variables: &[Variable], language: &Language) -> Result<(), Refusal> {
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

fn check_packages(packages: &[String], language: &Language) -> Result<(), Refusal> {
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

fn check_stdin(stdin: &[u8]) -> Result<(), Refusal> {
    if stdin.len() > Policy::MAX_STDIN.as_usize() {
        return Err(Refusal::new(
            "stdin",
            format!("`stdin` is {}, above the limit of {}", Bytes::new(stdin.len() as u64), Policy::MAX_STDIN),
            "put large input into `files`",
        ));
    }
    Ok(())
}

fn check_args(args: &[String]) -> Result<(), Refusal> {
    if let Some(index) = args.iter().position(|argument| argument.contains('\0')) {
        return Err(Refusal::new(
            "args",
            format!("argument {} in `args` contains a NUL byte", index + 1),
            "arguments are text; put binary data into `files` or `stdin`",
        ));
    }
    Ok(())
}

fn check_env(env: &[(String, String)]) -> Result<(), Refusal> {
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

fn check_arguments_size(args: &[String], env: &[(String, String)]) -> Result<(), Refusal> {
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

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    use proptest::prelude::*;

    use super::*;
    use crate::{Folder, FolderAccess};

    fn python(code: &str) -> Request {
        Request { code: code.into(), language: Some("python".to_owned()), ..Request::default() }
    }

    fn with_file(path: impl Into<OsString>) -> Request {
        Request { files: vec![InputFile { path: path.into(), contents: Vec::new() }], ..python("1") }
    }

    fn refused(request: Request) -> (&'static str, String) {
        let refusal = Policy::default().admit(request).expect_err("must be refused");
        (refusal.argument(), refusal.message().to_owned())
    }

    #[test]
    fn defaults_apply() {
        let plan = Policy::default().admit(python("print(1)")).expect("admitted");
        assert_eq!((plan.language().id, plan.limits()), ("python", &Limits::DEFAULT));
    }

    #[test]
    fn a_ceiling_below_the_default_wins() {
        let policy = Policy { ceilings: Limits { memory: Bytes::mib(64), ..Limits::CEILING }, ..Policy::default() };
        assert_eq!(policy.admit(python("1")).expect("admitted").limits().memory, Bytes::mib(64));
    }

    #[test]
    fn fences_are_stripped() {
        let plan = Policy::default().admit(python("```python\nprint(1)\n```")).expect("admitted");
        assert_eq!(plan.code(), b"print(1)\n");
    }

    #[test]
    fn each_bad_input_has_its_sentence() {
        let wall =
            |wall| Request { limits: LimitsRequest { wall: Some(wall), ..LimitsRequest::default() }, ..python("1") };
        let memory = |memory| Request {
            limits: LimitsRequest { memory: Some(memory), ..LimitsRequest::default() },
            ..python("1")
        };
        let env = |name: &str| Request { env: vec![(name.to_owned(), String::new())], ..python("1") };
        for (request, argument, message) in [
            (
                Request { language: Some("klingon".to_owned()), ..python("1") },
                "language",
                "`klingon` is not a language belljar knows",
            ),
            (python(" \n"), "code", "`code` is empty"),
            (python("a\0b"), "code", "`code` contains a NUL byte"),
            (python(&"#".repeat(50_000_000)), "code", "`code` is 47.6 MiB, above the limit of 16 MiB"),
            (with_file("../x"), "files", "`../x` cannot be a file of the workspace: it contains `..`"),
            (with_file("/etc/passwd"), "files", "`/etc/passwd` cannot be a file of the workspace: it is absolute"),
            (
                with_file(OsString::from_vec(vec![0xff])),
                "files",
                "`\u{fffd}` cannot be a file of the workspace: it is not UTF-8",
            ),
            (with_file("main.py"), "files", "`files` names `main.py`, which is the program itself"),
            (wall(Duration::ZERO), "timeout", "`timeout` of 0 s is below the least that can work, 1 ms"),
            (wall(Duration::from_secs(301)), "timeout", "`timeout` of 301 s is above this server's ceiling of 300 s"),
            (memory(Bytes::new(0)), "memory", "`memory` of 0 bytes is below the least that can work, 16 MiB"),
            (memory(Bytes::gib(4)), "memory", "`memory` of 4 GiB is above this server's ceiling of 2 GiB"),
            (env("A=B"), "env", "`A=B` cannot be the name of an environment variable"),
            (env(""), "env", "`` cannot be the name of an environment variable"),
            (
                Request { network: vec!["example.org".to_owned()], ..python("1") },
                "network",
                "`network` asks for `example.org`, and this server gives no run a network",
            ),
        ] {
            assert_eq!(refused(request), (argument, message.to_owned()));
        }
    }

    #[test]
    fn what_is_granted_is_had_natively() {
        let folder = Folder::new("/srv".into(), "/data".into(), FolderAccess::Write).expect("a folder");
        let folders = Folders::new(vec![folder]).expect("folders");
        let with_folders = Policy { folders, ..Policy::default() };
        let allowed = vec!["*.example.org".parse().expect("a pattern")];
        let with_network =
            Policy { network: NetworkPolicy { allowed, ..NetworkPolicy::default() }, ..Policy::default() };
        let asking = || Request { network: vec!["a.example.org".to_owned()], ..python("1") };
        let native = EngineChoice::Only(EngineId::Native);

        let plan = with_folders.admit(python("1")).expect("admitted");
        assert_eq!((plan.engine(), plan.granted()), (native, vec!["folder /data rw".to_owned()]));
        let plan = with_network.admit(asking()).expect("admitted");
        assert_eq!((plan.engine(), plan.granted()), (native, vec!["network a.example.org".to_owned()]));
        let plan = with_network.admit(python("1")).expect("admitted");
        assert_eq!((plan.engine(), plan.granted()), (EngineChoice::Auto, Vec::new()));

        let wasm = EngineChoice::Only(EngineId::Wasm);
        for (policy, request, what) in
            [(with_folders, python("1"), "folders of the host"), (with_network, asking(), "a network")]
        {
            let refusal = policy.admit(Request { engine: wasm, ..request }).expect_err("refused");
            let message = format!("`engine` asks for `wasm`, which cannot have {what}, and this run has");
            assert_eq!(refusal.message(), message);
        }
    }

    #[test]
    fn a_file_cannot_be_a_directory_too() {
        let mut request = with_file("a");
        request.files.push(InputFile { path: "a/b".into(), contents: Vec::new() });
        assert_eq!(refused(request).1, "`files` names both `a` and `a/b`, so `a` would be a file and a directory");
    }

    type Words = &'static [&'static str];

    /// Mostly what somebody would send, now and then what nobody should, or anything.
    fn text(good: Words, bad: Words) -> impl Strategy<Value = String> {
        let one_of = |words: Words| proptest::sample::select(words).prop_map(str::to_owned);
        prop_oneof![40 => one_of(good), 1 => one_of(bad), 1 => any::<String>()]
    }

    fn texts(good: Words, bad: Words) -> impl Strategy<Value = Vec<String>> {
        proptest::collection::vec(text(good, bad), 0..3)
    }

    fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
        let name = text(&["a", "B_1", "_", "HOME", "x9"], &["1a", "a b", "A=B", "", "a\0"]);
        proptest::collection::vec((name, text(&["1", "\"x\""], &["a\0b"])), 0..3)
    }

    /// A limit, mostly none, mostly one that can be had.
    fn limit<T: Clone + std::fmt::Debug>(
        [floor, ceiling]: [u64; 2],
        of: fn(u64) -> T,
    ) -> impl Strategy<Value = Option<T>> {
        let value = prop_oneof![8 => floor..=ceiling, 1 => 0..=ceiling.saturating_mul(2), 1 => any::<u64>()];
        proptest::option::weighted(0.3, value.prop_map(of))
    }

    fn limits_request() -> impl Strategy<Value = LimitsRequest> {
        let (floor, ceiling) = (Limits::FLOOR, Limits::CEILING);
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).expect("a few minutes");
        let time = |[floor, ceiling]: [Duration; 2]| limit([millis(floor), millis(ceiling)], Duration::from_millis);
        let size = |[floor, ceiling]: [Bytes; 2]| limit([floor.get(), ceiling.get()], Bytes::new);
        let count = |[floor, ceiling]: [u32; 2]| {
            limit([floor.into(), ceiling.into()], |count| u32::try_from(count).unwrap_or(u32::MAX))
        };
        let all = (
            time([floor.wall, ceiling.wall]),
            time([floor.cpu, ceiling.cpu]),
            size([floor.memory, ceiling.memory]),
            size([floor.disk, ceiling.disk]),
            count([floor.files, ceiling.files]),
            count([floor.processes, ceiling.processes]),
            size([floor.output, ceiling.output]),
        );
        all.prop_map(|(wall, cpu, memory, disk, files, processes, output)| LimitsRequest {
            wall,
            cpu,
            memory,
            disk,
            files,
            processes,
            output,
        })
    }

    fn request() -> impl Strategy<Value = Request> {
        let code =
            text(&["print(1)", "```python\n1\n```", "#!/bin/bash\necho 1", "class A {}"], &["\0", " ", "", "```"]);
        let language = text(&["python", "py", "javascript", "c", "php", "java", "bash"], &["klingon", ""]);
        let path = text(
            &["a", "b", "./c", "d//e", "d/f.csv", "main.txt", "lib.c"],
            &["main.py", "main.c", "a/b", "../a", "/etc/passwd", "", ".", "d/../../x"],
        );
        let files = proptest::collection::vec((path, proptest::collection::vec(any::<u8>(), 0..9)), 0..4);
        let rest = (
            texts(&["-x", "--", "ü"], &["a\0b"]),
            prop_oneof![4 => Just(Vec::new()), 1 => texts(&["-O2", "-std=c11", "-DA=1"], &["-Wl,x", "-I/", "-D", "@x"])],
            prop_oneof![4 => Just(Vec::new()), 1 => texts(&["pandas", "a==1"], &["-r x"])],
            pairs(),
            prop_oneof![4 => Just(Vec::new()), 1 => pairs()],
        );
        let session = proptest::option::weighted(0.2, text(&["s", "a-1.b"], &["..", "a/b", ""]));
        (code, proptest::option::weighted(0.9, language), files, rest, session, limits_request()).prop_map(
            |(code, language, files, (args, compiler_args, packages, env, variables), session, limits)| Request {
                code: code.into_bytes(),
                language,
                files: files.into_iter().map(|(path, contents)| InputFile { path: path.into(), contents }).collect(),
                args,
                compiler_args,
                packages,
                env,
                variables: variables.into_iter().map(|(name, json)| Variable { name, json }).collect(),
                session,
                limits,
                ..Request::default()
            },
        )
    }

    /// An operator's limits, which need not make sense.
    fn ceilings() -> impl Strategy<Value = Limits> {
        (0u64..600_000, 0u64..(4 << 30), 0u32..100_000).prop_map(|(millis, size, count)| Limits {
            wall: Duration::from_millis(millis),
            cpu: Duration::from_millis(millis / 2),
            memory: Bytes::new(size),
            disk: Bytes::new(size / 2),
            files: count,
            processes: count / 2,
            output: Bytes::new(size / 4),
        })
    }

    /// Those asked for, or the operator's; never above their ceilings.
    fn assert_limits(limits: &Limits, asked: &LimitsRequest, policy: &Policy) {
        let (default, ceiling) = (&policy.defaults, &policy.ceilings);
        assert_eq!(
            *limits,
            Limits {
                wall: asked.wall.unwrap_or(default.wall.min(ceiling.wall)),
                cpu: asked.cpu.unwrap_or(default.cpu.min(ceiling.cpu)),
                memory: asked.memory.unwrap_or(default.memory.min(ceiling.memory)),
                disk: asked.disk.unwrap_or(default.disk.min(ceiling.disk)),
                files: asked.files.unwrap_or(default.files.min(ceiling.files)),
                processes: asked.processes.unwrap_or(default.processes.min(ceiling.processes)),
                output: asked.output.unwrap_or(default.output.min(ceiling.output)),
            }
        );
        assert!(limits.wall <= ceiling.wall && limits.cpu <= ceiling.cpu);
        assert!(limits.memory <= ceiling.memory && limits.disk <= ceiling.disk && limits.output <= ceiling.output);
        assert!(limits.files <= ceiling.files && limits.processes <= ceiling.processes);
        let floor = Limits::FLOOR;
        assert!(asked.wall.is_none_or(|wall| wall >= floor.wall) && asked.cpu.is_none_or(|cpu| cpu >= floor.cpu));
        assert!(asked.memory.is_none_or(|memory| memory >= floor.memory));
        assert!(asked.processes.is_none_or(|processes| processes >= floor.processes));
    }

    /// What everybody relies on who holds a plan.
    fn assert_checked(plan: &Plan) {
        assert!(Language::all().iter().any(|language| std::ptr::eq(language, plan.language())));
        assert!(!plan.code().trim_ascii().is_empty() && !plan.code().contains(&0));
        let source = plan.names().source.as_str();
        let mut paths = vec![source];
        for file in plan.files() {
            let path = file.path.as_str();
            assert!(!path.starts_with('/') && path.split('/').all(|name| !matches!(name, "" | "." | "..")), "{path}");
            paths.push(path);
        }
        paths.sort_unstable();
        for two in paths.windows(2) {
            assert!(two[0] != two[1] && !two[1].starts_with(&format!("{}/", two[0])), "{paths:?}");
        }
        let total: u64 = plan.files().iter().map(|file| file.contents.len() as u64).sum();
        assert!(total <= plan.limits().disk.get());
        assert!(plan.args().iter().all(|argument| !argument.contains('\0')));
        let is_environment =
            |(name, value): &(String, String)| !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
        assert!(plan.env().iter().all(is_environment));
        let is_identifier = |name: &str| {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && !name.is_empty()
        };
        assert!(plan.variables().iter().all(|variable| is_identifier(&variable.name)));
        assert!(!plan.compiler_args().iter().any(|argument| argument.starts_with("-I") || argument.starts_with("-Wl")));
        assert!(plan.session().is_none_or(|name| !name.as_str().contains(['/', '\0']) && name.as_str() != ".."));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn what_is_admitted_was_checked(request in request(), ceilings in proptest::option::weighted(0.2, ceilings())) {
            let policy = Policy { ceilings: ceilings.unwrap_or(Limits::CEILING), ..Policy::default() };
            let asked = request.limits;
            match policy.admit(request) {
                Ok(plan) => {
                    assert_limits(plan.limits(), &asked, &policy);
                    assert_checked(&plan);
                }
                Err(refusal) => {
                    prop_assert!(!refusal.message().is_empty() && !refusal.hint().is_empty());
                    prop_assert!(refusal.message().len() < 2_000 && !refusal.message().contains(char::is_control), "{}", refusal);
                }
            }
        }
    }

    #[test]
    fn php_needs_no_tag() {
        for (given, run) in [
            ("echo 1;", "<?php echo 1;"),
            ("echo '<?xml ?>';", "<?php echo '<?xml ?>';"),
            ("<?PHP echo 1;", "<?PHP echo 1;"),
            ("a <?= 1 ?> b", "a <?= 1 ?> b"),
        ] {
            let request = Request { language: Some("php".to_owned()), ..python(given) };
            let plan = Policy::default().admit(request).expect("admitted");
            assert_eq!(String::from_utf8_lossy(plan.code()), run);
        }
    }

    #[test]
    fn a_language_that_is_nearly_one_is_named() {
        for (given, meant) in [("pyton", "python"), ("Java Script", "javascript"), ("typescipt", "typescript")] {
            assert_eq!(unknown_language(given).hint(), format!("did you mean `{meant}`?"));
        }
        for given in ["klingon", "", "🐍", &"python".repeat(100)] {
            assert!(unknown_language(given).hint().starts_with("use one of "), "{given}");
        }
    }
}
