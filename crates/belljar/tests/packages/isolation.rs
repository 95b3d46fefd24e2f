//! What a package, and a program with packages, can do to the host, to the layer, and to others.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde_json::{Value, json};
use testkit::arena::{self, Setup};
use testkit::run::{Ending, Outcome, Running};
use testkit::stage::{SECRET, Stage};

use crate::client::BELLJAR;
use crate::site::{Site, names};

/// A stage and a site of its user's.
fn open(setup: Setup, wheels: &Value) -> Option<(Stage, Site)> {
    match Stage::open(setup, Path::new(BELLJAR)) {
        Ok(stage) => {
            let site = Site::of(stage.uid(), wheels)?;
            Some((stage, site))
        }
        Err(unavailable) => {
            unavailable.skip(setup);
            None
        }
    }
}

/// A program with one package.
fn run(stage: &Stage, site: &Site, package: &str, code: &str) -> Outcome {
    let mut command = stage.command(stage.belljar());
    command.args(["run", "--json", "-l", "python", "--engine", "native", "--package", package, "-c", code]);
    // As an operator's own registries have them.
    command.env("UV_INDEX_PRIVATE_PASSWORD", SECRET);
    let mut command = site.given_to(command);
    command.args(["--", stage.marker()]);
    Running::start(command).finish().outcome(stage.level().name())
}

/// Everything that a layer is.
fn look(site: &Site) -> Vec<String> {
    let list = arena::host_command("find")
        .arg(site.packages().join("layers"))
        .args(["-printf", "%p %m %s %T@ %l\\n"])
        .output();
    let text = String::from_utf8(list.expect("find").stdout).expect("our own names");
    // When a layer was used is noted at its description.
    text.lines().filter(|line| !line.contains("layer.json ")).map(str::to_owned).collect()
}

const CHANGES: &str = "\
import ctypes, os, good
place = '/packages/python'
file = place + '/good.py'
held = os.open(file, os.O_RDONLY)
for change in (
    lambda: open(file, 'a'),
    lambda: open(place + '/more.py', 'w'),
    lambda: os.chmod(file, 0o777),
    lambda: os.chmod(place, 0o777),
    lambda: os.rename(file, place + '/bad.py'),
    lambda: os.rename('/packages', '/elsewhere'),
    lambda: os.unlink(file),
    lambda: os.symlink('/etc', place + '/link'),
    lambda: os.link(file, 'good.py'),
    lambda: os.utime(file),
    lambda: os.truncate(file, 0),
    lambda: os.setxattr(file, 'user.x', b'1'),
    lambda: open('/proc/self/fd/%d' % held, 'w'),
    lambda: os.listdir('/cache'),
    lambda: os.listdir('/layer'),
):
    try:
        change()
        print('changed', change.__code__.co_names, change.__code__.co_consts)
    except OSError:
        pass
libc = ctypes.CDLL(None)
for call in (
    lambda: libc.mount(b'none', place.encode(), b'tmpfs', 0, 0),
    lambda: libc.mount(b'none', place.encode(), b'none', 0x1020, 0),
    lambda: libc.umount2(place.encode(), 2),
    lambda: libc.unshare(0x10020000),
):
    if call() == 0:
        print('mounted', call.__code__.co_consts)
print(good.x)
";

fn a_layer_stays_as_it_is(setup: Setup) {
    let Some((stage, site)) = open(setup, &json!({"good": {"good.py": "x = 1\n"}})) else { return };
    let control = run(&stage, &site, "good", "import good\nprint(good.x)");
    control.assert_ended(Ending::completed(0));
    assert_eq!((&*control.stdout, &*control.stderr), ("1\n", ""));
    let before = look(&site);
    assert!(before.iter().any(|line| line.contains("good.py ")), "{before:#?}");
    let attack = run(&stage, &site, "good", CHANGES);
    assert_eq!((&*attack.stdout, &*attack.stderr), ("1\n", ""));
    assert_eq!(look(&site), before);
    stage.assert_unharmed();
}

const WAYS_OUT: &str = "\
import good, socket
for address in (('1.1.1.1', 53), ('169.254.169.254', 80), ('127.0.0.1', 3128), ('::1', 3128)):
    try:
        socket.create_connection(address, 2)
        print('reached', address)
    except OSError:
        pass
for name in ('example.org', 'example.com'):
    try:
        print('resolved', socket.getaddrinfo(name, 443))
    except OSError:
        pass
print(good.x, open('/proc/net/route').read().count('\\n'))
";

/// The secret in two parts, or a program would find itself.
const SECRETS: &str = "\
import good, os
secret = b'SUPER' + b'SECRET-'
for root in ('/proc', '/packages', '/tmp', '/etc', '/run', '/var', '/root', '/home', '/dev'):
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            try:
                file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                text = os.read(file, 1 << 20)
                os.close(file)
            except OSError:
                continue
            if secret in text:
                print('found in', path)
print(good.x)
";

fn a_program_with_packages_has_no_way_out(setup: Setup) {
    let Some((stage, site)) = open(setup, &json!({"good": {"good.py": "x = 1\n"}})) else { return };
    let attack = run(&stage, &site, "good", WAYS_OUT);
    assert_eq!((&*attack.stdout, &*attack.stderr), ("1 1\n", ""));
    let attack = run(&stage, &site, "good", SECRETS);
    assert_eq!((&*attack.stdout, &*attack.stderr), ("1\n", ""));
    stage.assert_unharmed();
}

/// Whatever is in a wheel, nothing of it runs that the program does not import, or ends up where the wheel does not.
fn a_wheel_keeps_to_itself(setup: Setup) {
    let evil = |name: &str| format!("import sys\nsys.stderr.write('{name} ran\\n')\n");
    let wheels = json!({
        "starts": {
            "starts.py": "x = 1\n",
            "starts.pth": "import sys; sys.stderr.write('pth ran\\n')\n",
            "sitecustomize.py": evil("sitecustomize"),
            "usercustomize.py": evil("usercustomize"),
            "compileall.py": evil("compileall"),
        },
        "replaces": {
            "replaces.py": "x = 1\n",
            "os.py": evil("os"),
            "json/__init__.py": evil("json"),
            "random.py": evil("random"),
            "encodings/__init__.py": evil("encodings"),
            "zlib.py": evil("zlib"),
        },
        "climbs": {"climbs.py": "x = 1\n", "../../evil_up.py": "x = 1\n", "/cache/evil_root.py": "x = 1\n", "/tmp/evil_tmp.py": "x = 1\n"},
        "links": {"links.py": "x = 1\n", "evil_link": "-> /etc/passwd", "evil_folder": "-> /"},
        "spills": {"spills.py": "x = 1\n", "spills-1.0.data/data/../../../cache/evil_data": "x", "spills-1.0.data/data/evil_plain": "x"},
        "breaks": {"breaks.py": "x = 1\n", "broken.py": "def (", "deep.py": "(".repeat(5000), "nothing.py": "\u{0}"},
    });
    let Some((stage, site)) = open(setup, &wheels) else { return };
    for package in ["starts", "replaces", "climbs", "links", "spills", "breaks"] {
        let code = format!(
            "import {package}, json, os, random, zlib\nprint({package}.x, [m.__name__ for m in (json, os, random, zlib) if '/packages/' in getattr(m, '__file__', '')])\nprint([n for n in os.listdir('/packages/python') if os.path.islink('/packages/python/' + n)])"
        );
        let outcome = run(&stage, &site, package, &code);
        assert_eq!((&*outcome.stdout, &*outcome.stderr), ("1 []\n[]\n", ""), "{package}");
    }
    let outside =
        |folder: &Path| names(folder).into_iter().filter(|name| name.starts_with("evil_")).collect::<Vec<_>>();
    for folder in ["", "layers", "tmp", "clients", "clients/0", "clients/0/uv"] {
        assert_eq!(outside(&site.packages().join(folder)), Vec::<String>::new(), "in {folder}");
    }
    assert_eq!(outside(Path::new("/tmp")), Vec::<String>::new());
    for layer in names(&site.packages().join("layers")) {
        let found = names(&site.packages().join("layers").join(&layer));
        assert_eq!(found, ["layer.json", "site"], "{layer}");
    }
    site.assert_nothing_half_made();
    stage.assert_unharmed();
}

/// Another user of the machine does not get at what is kept.
#[test]
fn what_is_kept_is_its_owners() {
    let Some((stage, site)) = open(Setup::Unprivileged, &json!({"good": {"good.py": "x = 1\n"}})) else { return };
    run(&stage, &site, "good", "import good").assert_ended(Ending::completed(0));
    let kept = fs::symlink_metadata(site.packages()).expect("it is there");
    assert_eq!((kept.mode() & 0o777, kept.uid()), (0o700, stage.uid()));
}

testkit::in_both_setups! {
    a_layer_stays_as_it_is;
    a_program_with_packages_has_no_way_out;
    a_wheel_keeps_to_itself;
}
