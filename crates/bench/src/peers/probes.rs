//! What a program can reach of the host. The host's side decides: whether the file is there, whether somebody connected.
//! Nothing is harmed: files are the benchmark's own, the listener is its own, and the process that may be left is a
//! `sleep`.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use testkit::processes;

use super::catalogue::{Peer, Scene, VARIABLE, VARIABLE_VALUE};
use super::conversation::{Answer, Runs};
use super::install::telling_line;
use super::table::{Cell, Column};

const PATIENCE: Duration = Duration::from_secs(20);
const SECRET: &str = "a secret of the host";

/// Runs both functions of a program, and says that it did: Python's own way to the host, and the one through the
/// JavaScript below Pyodide.
const TRIES: &str = "
for way in (plain, through_javascript):
    try:
        print(way())
    except BaseException as error:
        pass
print('tried')
";

/// All that can be tried before `end`.
pub(crate) fn probe(peer: &Peer, scene: &Scene<'_>, end: Instant, column: &mut Column) {
    let probes: &[(&str, Probe)] = &[
        ("apart", apart),
        ("read", read),
        ("environment", environment),
        ("write", write),
        ("connect", connect),
        ("processes", sees_processes),
        ("left", leaves_process),
    ];
    for (key, probe) in probes {
        if Instant::now() > end {
            column.set(key, Cell::out_of_time());
            continue;
        }
        let place = scene.folder.fresh("host");
        let outcome = place.and_then(|place| {
            let mut runs = peer.start(scene)?;
            // Slow ones are slow the first time.
            runs.run("print(1)", PATIENCE)?;
            probe(runs.as_mut(), &place)
        });
        column.set(key, outcome.unwrap_or_else(|error| Cell::Bad(format!("the probe ends it: {error:#}"))));
    }
}

type Probe = fn(&mut dyn Runs, &Path) -> anyhow::Result<Cell>;

fn apart(runs: &mut dyn Runs, _: &Path) -> anyhow::Result<Cell> {
    let left =
        "left = 1\ntry:\n    import builtins\n    builtins.left = 1\nexcept ImportError:\n    pass\nprint('tried')";
    ran(&runs.run(left, PATIENCE)?)?;
    let answer = runs.run("try:\n    print(left)\nexcept NameError:\n    print('clean')\nprint('tried')", PATIENCE)?;
    ran(&answer)?;
    Ok(found((!answer.text.contains("clean")).then_some("a variable of the run before")))
}

fn read(runs: &mut dyn Runs, place: &Path) -> anyhow::Result<Cell> {
    let path = place.join("secret").display().to_string();
    fs::write(&path, SECRET)?;
    let plain = format!("    return open('{path}').read()");
    let through = format!("    return js.process.getBuiltinModule('fs').readFileSync('{path}', 'utf8')");
    let answer = attempt(runs, &plain, &through)?;
    Ok(found(answer.text.contains(SECRET).then_some("a file of the host")))
}

fn environment(runs: &mut dyn Runs, _: &Path) -> anyhow::Result<Cell> {
    let plain = format!("    import os\n    return os.environ.get('{VARIABLE}')");
    let answer = attempt(runs, &plain, &format!("    return js.process.env.{VARIABLE}"))?;
    Ok(found(answer.text.contains(VARIABLE_VALUE).then_some("a variable of the server's")))
}

fn write(runs: &mut dyn Runs, place: &Path) -> anyhow::Result<Cell> {
    let path = place.join("written").display().to_string();
    let plain = format!("    with open('{path}', 'w') as file:\n        file.write('here')");
    let through = format!("    js.process.getBuiltinModule('fs').writeFileSync('{path}', 'here')");
    attempt(runs, &plain, &through)?;
    Ok(found(Path::new(&path).is_file().then_some("a new file on the host")))
}

fn connect(runs: &mut dyn Runs, _: &Path) -> anyhow::Result<Cell> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let plain = format!("    import socket\n    socket.create_connection(('127.0.0.1', {port}), 1).close()");
    let through = format!("    js.process.getBuiltinModule('net').connect({port}, '127.0.0.1')");
    attempt(runs, &plain, &through)?;
    std::thread::sleep(Duration::from_millis(200));
    Ok(found(listener.accept().is_ok().then_some("it came through")))
}

fn sees_processes(runs: &mut dyn Runs, _: &Path) -> anyhow::Result<Cell> {
    let own = std::process::id();
    let name = std::env::current_exe()?.file_name().context("a program has a name")?.display().to_string();
    let path = format!("/proc/{own}/cmdline");
    let plain = format!("    return open('{path}').read()");
    let through = format!("    return js.process.getBuiltinModule('fs').readFileSync('{path}', 'utf8')");
    let answer = attempt(runs, &plain, &through)?;
    Ok(found(answer.text.contains(&name).then_some("a command line")))
}

fn leaves_process(runs: &mut dyn Runs, _: &Path) -> anyhow::Result<Cell> {
    // A number of seconds that nobody else sleeps for.
    let seconds = format!("600.{}", std::process::id());
    let plain = format!(
        "    import subprocess
    quiet = subprocess.DEVNULL
    subprocess.Popen(['sleep', '{seconds}'], start_new_session=True, stdin=quiet, stdout=quiet, stderr=quiet)"
    );
    let through = format!(
        "    from pyodide.ffi import to_js
    options = to_js({{'detached': True, 'stdio': 'ignore'}}, dict_converter=js.Object.fromEntries)
    js.process.getBuiltinModule('child_process').spawn('sleep', to_js(['{seconds}']), options)"
    );
    let outcome = attempt(runs, &plain, &through);
    std::thread::sleep(Duration::from_millis(300));
    // The program's text may be among its interpreter's arguments, which is no process that was left.
    let mut left = processes::marked(&seconds);
    left.retain(|process| process.arguments.starts_with("sleep\0"));
    for process in &left {
        processes::kill(process.pid);
    }
    outcome?;
    Ok(found((!left.is_empty()).then_some("it outlives its run")))
}

fn attempt(runs: &mut dyn Runs, plain: &str, through: &str) -> anyhow::Result<Answer> {
    let code = format!("def plain():\n{plain}\ndef through_javascript():\n    import js\n{through}\n{TRIES}");
    let answer = runs.run(&code, PATIENCE)?;
    ran(&answer)?;
    Ok(answer)
}

/// The control: a program that never tried has shown nothing.
fn ran(answer: &Answer) -> anyhow::Result<()> {
    anyhow::ensure!(answer.text.contains("tried"), "it says {:?}", telling_line(&answer.text));
    Ok(())
}

/// What a program got that it was not to get, if it did.
fn found(reached: Option<&str>) -> Cell {
    reached.map_or_else(|| Cell::Good("no".to_owned()), |reached| Cell::Bad(format!("yes: {reached}")))
}
