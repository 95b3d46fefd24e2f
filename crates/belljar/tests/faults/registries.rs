//! Registries that hang, drip, break off and fail: it is said which one, whoever waits can give up, others go on, nothing is left, and when the
//! registry is well again the same call works.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use testkit::{arena, processes};

use crate::client::Client;
use crate::world::World;
use crate::{SOON, printed, told};

/// A registry on loopback, which becomes unwell when it is told to.
struct Registry {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    host: String,
    certificate: PathBuf,
}

impl Registry {
    /// With packages `late0` and so on, in a folder of their own.
    fn start(folder: &Path, packages: usize) -> Self {
        let text = format!("x = 5\n# {}\n", "x".repeat(100_000));
        let names = (0..packages).map(|number| format!("late{number}")).chain(["six".to_owned()]);
        let wheel = |name: String| (name.clone(), json!({format!("{name}.py"): text}));
        let wheels: Map<String, Value> = names.map(wheel).collect();
        let mut make = arena::host_command("python3");
        make.args(["-c", include_str!("../packages/wheels.py")]).arg(folder.join("simple")).stdin(Stdio::piped());
        let mut make = make.spawn().expect("the host has Python");
        let wheels = Value::Object(wheels).to_string();
        make.stdin.take().expect("piped").write_all(wheels.as_bytes()).expect("it reads");
        assert!(make.wait().expect("our own child").success());

        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        let mut openssl = arena::host_command("openssl");
        openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]);
        openssl.args(["-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=IP:127.0.0.1"]);
        openssl.arg("-keyout").arg(&key).arg("-out").arg(&certificate).stderr(Stdio::null());
        assert!(openssl.status().expect("the host has OpenSSL").success());
        let mut python = arena::host_command("python3");
        python.args(["-c", include_str!("registry.py")]).arg(folder).args([&certificate, &key]);
        let mut child = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the host has Python");
        let input = child.stdin.take().expect("piped");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let mut port = String::new();
        output.read_line(&mut port).expect("it says its port");
        Self { child, input, output, host: format!("127.0.0.1:{}", port.trim()), certificate }
    }

    /// How it serves its `index`, or its `files`, from now on.
    fn becomes(&mut self, place: &str, health: &str) {
        writeln!(self.input, "{place} {health}").expect("it reads");
        self.output.read_line(&mut String::new()).expect("it answers");
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

struct Shop {
    world: World,
    registry: Registry,
    client: Client,
}

impl Shop {
    fn open(packages: usize) -> Option<Self> {
        Self::open_with(packages, "")
    }

    /// With more settings of `[packages]`.
    fn open_with(packages: usize, settings: &str) -> Option<Self> {
        let world = World::new()?;
        let registry = Registry::start(world.directory(), packages);
        let configuration = world.directory().join("registries.toml");
        let text = format!("[packages]\nprivate_registries = ['{}']\n{settings}\n", registry.host);
        fs::write(&configuration, text).expect("ours");
        let mut command = world.command(&["serve", "--log", "off", "--config"]);
        command.arg(&configuration).env("UV_DEFAULT_INDEX", format!("https://{}/simple", registry.host));
        command.env("SSL_CERT_FILE", &registry.certificate);
        let client = Client::of(command).greeted();
        Some(Self { world, registry, client })
    }

    fn send(&mut self, number: usize) -> u64 {
        let (package, code) = (format!("late{number}"), format!("import late{number}\nprint(late{number}.x)"));
        let arguments = json!({"language": "python", "engine": "native", "code": code, "packages": [package]});
        self.client.send("tools/call", &json!({"name": "run_code", "arguments": arguments}))
    }

    fn ask(&mut self, number: usize) -> Value {
        let id = self.send(number);
        self.client.answer(id)["result"].take()
    }

    fn others_go_on(&mut self) {
        let started = Instant::now();
        for engine in ["wasm", "native"] {
            let result = self.client.run(&json!({"language": "python", "engine": engine, "code": "print('ok')"}));
            assert_eq!(printed(&result), "ok\n");
        }
        // Well before one that hangs is given up.
        assert!(started.elapsed() < SOON / 2, "{:?}", started.elapsed());
    }

    fn give_up(&mut self, id: u64) {
        self.client.notify("notifications/cancelled", &json!({"requestId": id, "reason": "test"}));
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        let (started, stages) = (Instant::now(), self.world.cache().join("packages/tmp"));
        let clients = || {
            let all = processes::marked("/uv\0pip\0");
            all.into_iter().filter(|process| process.arguments.contains(&self.registry.host)).collect::<Vec<_>>()
        };
        let stages =
            || fs::read_dir(&stages).into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
        while !clients().is_empty() || !stages().is_empty() {
            assert!(started.elapsed() < SOON, "{:?} {:?}", clients(), stages());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_registry_that_fails_is_named_and_asked_again() {
    let Some(mut shop) = Shop::open(3) else { return };
    // Also before it is known which registries there are.
    for (number, (place, health)) in
        [("index", "fails"), ("files", "fails"), ("files", "breaks")].into_iter().enumerate()
    {
        shop.registry.becomes(place, health);
        let result = shop.ask(number);
        let text = told(&result);
        let hint = "try again later, or tell whoever runs the server; programs without `packages` run as ever.";
        let names = text.contains(&shop.registry.host) || text.contains(&format!("late{number}==1.0"));
        assert!(text.starts_with("Refused: `packages` cannot be installed: ") && text.ends_with(hint), "{text}");
        assert!(names, "{place} {health}: {text}");
        shop.nothing_is_left();
        shop.registry.becomes(place, "well");
        assert_eq!(printed(&shop.ask(number)), "5\n", "{place} is well again");
    }
}

#[test]
fn whoever_waits_for_a_registry_can_give_up() {
    let Some(mut shop) = Shop::open(4) else { return };
    assert_eq!(printed(&shop.ask(0)), "5\n");
    for (number, (place, health)) in [(1, ("index", "hangs")), (2, ("index", "drips")), (3, ("files", "drips"))] {
        shop.registry.becomes(place, health);
        let id = shop.send(number);
        assert_eq!(shop.client.answer_within(id, Duration::from_millis(1500)), None, "{place} {health}");
        shop.others_go_on();
        shop.give_up(id);
        shop.nothing_is_left();
        shop.registry.becomes(place, "well");
        assert_eq!(printed(&shop.ask(number)), "5\n", "{place} is well again");
    }
}

#[test]
fn closing_a_session_ends_what_is_installed_in_it() {
    let Some(mut shop) = Shop::open(1) else { return };
    shop.registry.becomes("index", "hangs");
    let arguments = json!({"session": "s", "language": "python", "packages": ["late0"]});
    let id = shop.client.send("tools/call", &json!({"name": "install_packages", "arguments": arguments}));
    assert_eq!(shop.client.answer_within(id, Duration::from_millis(1500)), None);
    let close = json!({"name": "close_session", "arguments": {"session": "s"}});
    assert_ne!(shop.client.request("tools/call", &close)["result"]["isError"], true);
    // Well before one that hangs is given up.
    let answer = shop.client.answer_within(id, SOON / 2).expect("an answer");
    assert!(told(&answer["result"]).contains("the session `s` was closed"), "{answer}");
    shop.nothing_is_left();
}

#[test]
fn what_was_fetched_for_whoever_gave_up_is_held_to_the_limit() {
    let Some(mut shop) = Shop::open_with(2, "cache = '1KiB'") else { return };
    assert_eq!(printed(&shop.ask(0)), "5\n");
    let clients = shop.world.cache().join("packages/clients");
    let is_cached = || {
        let caches = fs::read_dir(&clients).into_iter().flatten().flatten().map(|numbered| numbered.path().join("uv"));
        caches.flat_map(fs::read_dir).flatten().next().is_some()
    };
    let waits_until = |done: &dyn Fn() -> bool| {
        let started = Instant::now();
        while !done() {
            assert!(started.elapsed() < SOON, "{}", is_cached());
            thread::sleep(Duration::from_millis(10));
        }
    };
    waits_until(&|| !is_cached());
    shop.registry.becomes("files", "hangs");
    let id = shop.send(1);
    waits_until(&is_cached);
    assert_eq!(shop.client.answer_within(id, Duration::from_millis(500)), None);
    shop.give_up(id);
    waits_until(&|| !is_cached());
}
