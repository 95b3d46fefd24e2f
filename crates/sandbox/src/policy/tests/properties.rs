//! Whatever is asked for and allowed: a plan has been checked, and a refusal says something.

use std::time::Duration;

use proptest::prelude::*;

use crate::{
    Bytes, EngineChoice, EngineId, Folder, FolderAccess, Folders, HostPattern, InputFile, Language, Limits,
    LimitsRequest, NetworkPolicy, Plan, Policy, Request, Variable,
};

type Words = &'static [&'static str];

/// Mostly what someone would send, occasionally what nobody should, or anything at all.
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

/// A limit: usually none, otherwise usually one that can be granted.
fn limit<T: Clone + std::fmt::Debug>([floor, ceiling]: [u64; 2], of: fn(u64) -> T) -> impl Strategy<Value = Option<T>> {
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
    let code = text(&["print(1)", "```python\n1\n```", "#!/bin/bash\necho 1", "class A {}"], &["\0", " ", "", "```"]);
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
    let network = prop_oneof![
        2 => Just(Vec::new()),
        1 => texts(
            &["a.org", "A.org.:443", "x.b.org", "*.x.b.org:80", "c.org:8443"],
            &["b.org", "c.org", "*", "10.0.0.1", "0x7f.1", "a.org:0", "a/b"],
        ),
    ];
    let engine = proptest::sample::select(vec![
        EngineChoice::Auto,
        EngineChoice::Only(EngineId::Wasm),
        EngineChoice::Only(EngineId::Native),
    ]);
    let way = (network, engine, proptest::collection::vec(any::<u8>(), 0..9));
    (code, proptest::option::weighted(0.9, language), files, rest, session, limits_request(), way).prop_map(
        |(code, language, files, (args, compiler_args, packages, env, variables), session, limits, way)| Request {
            code: code.into_bytes(),
            network: way.0,
            engine: way.1,
            stdin: way.2,
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

/// What an operator grants: mostly nothing.
fn grants() -> impl Strategy<Value = (Folders, NetworkPolicy)> {
    let folder = |source: &str, access| Folder::new(source.into(), source.into(), access).expect("a folder");
    let folders = vec![folder("/srv", FolderAccess::Read), folder("/data", FolderAccess::Write)];
    let folders = prop_oneof![
        3 => Just(Folders::default()),
        1 => proptest::sample::subsequence(folders, 0..=2).prop_map(|some| Folders::new(some).expect("side by side")),
    ];
    let hosts = ["a.org", "*.b.org", "c.org:8443"].map(|host| host.parse::<HostPattern>().expect("a host")).to_vec();
    let some = move || prop_oneof![1 => Just(Vec::new()), 1 => proptest::sample::subsequence(hosts.clone(), 0..=3)];
    let network = (some(), prop_oneof![3 => Just(Vec::new()), 1 => some()]);
    (folders, network.prop_map(|(allowed, always)| NetworkPolicy { allowed, always }))
}

/// The plan has everything that is always granted, what was asked for of the rest, and nothing else; with any grant, it
/// runs only natively.
fn assert_granted(plan: &Plan, network: &[String], engine: EngineChoice, policy: &Policy) {
    assert_eq!(plan.folders(), &policy.folders);
    assert!(policy.network.always.iter().all(|host| plan.network().contains(host)));
    let asked: Vec<HostPattern> = network.iter().map(|host| host.parse().expect("a host")).collect();
    assert!(asked.iter().all(|host| plan.network().contains(host)));
    for host in plan.network() {
        assert!(policy.network.always.contains(host) || asked.contains(host), "{host}");
        assert!(host.is_within(policy.network.all()), "{host}");
    }
    let is_granted = !plan.network().is_empty() || !plan.folders().is_empty();
    assert_eq!(plan.engine(), if is_granted { EngineChoice::Only(EngineId::Native) } else { engine });
    assert!(!is_granted || engine != EngineChoice::Only(EngineId::Wasm));
}

/// The limits are those asked for, or else the operator's, and never above the ceilings.
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

/// What everyone who holds a plan relies on.
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
    fn what_is_admitted_was_checked(
        request in request(),
        ceilings in proptest::option::weighted(0.2, ceilings()),
        (folders, network) in grants(),
    ) {
        let ceilings = ceilings.unwrap_or(Limits::CEILING);
        let policy = Policy { ceilings, folders, network, ..Policy::default() };
        let asked = request.clone();
        match policy.admit(request) {
            Ok(plan) => {
                assert_limits(plan.limits(), &asked.limits, &policy);
                assert_checked(&plan);
                assert_granted(&plan, &asked.network, asked.engine, &policy);
                prop_assert_eq!(plan.stdin(), asked.stdin);
            }
            Err(refusal) => {
                prop_assert!(!refusal.message().is_empty() && !refusal.hint().is_empty());
                prop_assert!(refusal.message().len() < 2_000 && !refusal.message().contains(char::is_control), "{}", refusal);
            }
        }
    }
}
