//! Registries that are not well, no network, no disk: said in a sentence, nothing is left half made, and other runs go on.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use testkit::arena;

use crate::client::{BELLJAR, Client};
use crate::site::{Site, names};
use crate::{printed, refusal};

/// A registry on loopback, with a certificate of its own.
struct Registry {
    child: Child,
    port: u16,
    certificate: PathBuf,
}

impl Registry {
    fn start(mode: &str, folder: &Path) -> Self {
        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        let mut openssl = arena::host_command("openssl");
        openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]);
        openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
        openssl.args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout"]).arg(&key).arg("-out").arg(&certificate);
        assert!(openssl.stderr(Stdio::null()).status().expect("the host has OpenSSL").success());
        let mut python = arena::host_command("python3");
        python.args(["-c", include_str!("registry.py"), mode]).args([&certificate, &key]).stdout(Stdio::piped());
        let mut child = python.stderr(Stdio::null()).spawn().expect("the host has Python");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("it says its port");
        let port = line.trim().parse().expect("a port");
        Self { child, port, certificate }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn refuses(command: Command, site: &Site, expected: &str) {
    let mut client = Client::of(command).greeted();
    let ask = json!({"language": "python", "engine": "native", "code": "print(1)", "packages": ["late"]});
    let result = client.run(&ask);
    let text = refusal(&result);
    assert!(text.contains(expected) && !text.contains('\n'), "{expected}: {text}");
    assert_eq!(names(&site.packages().join("tmp")), Vec::<String>::new());
    let result = client.run(&json!({"language": "python", "engine": "native", "code": "print('ok')"}));
    assert_eq!(printed(&result), "ok\n");
}

fn site() -> Option<Site> {
    Site::of(0, &json!({"late": {"late.py": format!("x = '{}'\n", "x".repeat(12 << 20))}}))
}

#[test]
fn a_registry_that_is_not_well_is_named() {
    let Some(site) = site() else { return };
    for (mode, expected) in [("fails", "500"), ("hangs", "imed out")] {
        let registry = Registry::start(mode, &site.index());
        let host = format!("127.0.0.1:{}", registry.port);
        fs::write(site.configuration(), format!("[packages]\nprivate_registries = ['{host}']\n")).expect("written");
        let mut command = site.serve();
        command.env("UV_DEFAULT_INDEX", format!("https://{host}/simple")).env("SSL_CERT_FILE", &registry.certificate);
        refuses(command, &site, expected);
    }
    // Nobody is there, and a host in a private network that the operator did not name.
    for (named, expected) in [("['127.0.0.1:1']", "cannot be reached"), ("[]", "is an address")] {
        fs::write(site.configuration(), format!("[packages]\nprivate_registries = {named}\n")).expect("written");
        let mut command = site.serve();
        command.env("UV_DEFAULT_INDEX", "https://127.0.0.1:1/simple");
        refuses(command, &site, expected);
    }
}

#[test]
fn nobody_goes_around_a_proxy_that_cannot_be_used() {
    let Some(site) = site() else { return };
    fs::write(site.configuration(), "").expect("written");
    let mut command = site.serve();
    command.env_remove("UV_DEFAULT_INDEX").env("HTTPS_PROXY", "socks5://127.0.0.1:1");
    refuses(command, &site, "the server's `HTTPS_PROXY` cannot be used: only proxies whose address begins with");
}

/// Which Python a program is for says nothing of what it imports.
#[test]
fn an_import_is_a_guess_whatever_python_the_program_is_for() {
    let Some(site) = site() else { return };
    fs::write(site.configuration(), "[packages]\nprivate_registries = ['127.0.0.1:1']\n").expect("written");
    let mut command = site.serve();
    command.env("UV_DEFAULT_INDEX", "https://127.0.0.1:1/simple");
    let mut client = Client::of(command).greeted();
    let mut run = |python: &str| {
        let program = "try:\n    import late\nexcept ImportError:\n    print('without')";
        let code = format!("# /// script\n# requires-python = '{python}'\n# ///\n{program}");
        client.run(&json!({"language": "python", "engine": "native", "code": code}))
    };
    let result = run(">=3");
    assert_eq!(printed(&result), "without\n");
    let problem = result["structuredContent"]["packages"]["problem"].as_str().expect("it is said why");
    assert!(problem.contains("cannot be reached"), "{problem}");
    assert!(refusal(&run("<3")).starts_with("Refused: the program requires Python `<3`, and this is 3."));
}

#[test]
fn without_a_network_nothing_is_installed_and_the_rest_runs() {
    let Some(site) = site().filter(|_| arena::running_as_root()) else { return };
    fs::write(site.configuration(), "").expect("written");
    let mut command = arena::host_command("unshare");
    command.args(["--net", BELLJAR, "serve"]);
    let mut command = site.given_to(command);
    command.env_remove("UV_DEFAULT_INDEX");
    refuses(command, &site, "no package registry can be reached");
}

#[test]
fn a_full_disk_is_said() {
    let Some(site) = site().filter(|_| arena::running_as_root()) else { return };
    fs::create_dir_all(site.packages()).expect("ours");
    let mut command = arena::host_command("unshare");
    let script = "mount -t tmpfs -o size=6m,mode=700 tmpfs \"$0\" && exec \"$@\"";
    command.args(["--mount", "sh", "-c", script]).arg(site.packages()).args([BELLJAR, "serve"]);
    refuses(site.given_to(command), &site, "No space left on device");
}

#[test]
fn what_is_too_young_is_not_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let configuration = folder.path().join("belljar.toml");
    let run = |age: &str| {
        fs::write(&configuration, format!("[packages]\nminimum_age = '{age}'\n")).expect("written");
        let mut client = Client::start(&["--config", &configuration.display().to_string()]).greeted();
        let code = "import six\nprint(six.__version__)";
        client.run(&json!({"language": "python", "engine": "wasm", "code": code, "packages": ["six>=1.10"]}))
    };
    // Of May 2021; the next is of December 2024.
    assert_eq!(printed(&run("3years")), "1.16.0\n");
    assert!(refusal(&run("30years")).contains("six"), "nothing is that old");
}
