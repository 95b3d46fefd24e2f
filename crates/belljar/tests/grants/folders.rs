//! Folders of the host in runs, as root's server and as an ordinary user's.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use testkit::arena::Setup;
use testkit::run::{Ending, Finished, Outcome, Running};
use testkit::stage::{Stage, contains_secret};

use crate::client::BELLJAR;

/// A stage, and a folder of its user's that is closed to everybody else.
fn open(setup: Setup) -> Option<(Stage, PathBuf)> {
    match Stage::open(setup, Path::new(BELLJAR)) {
        Ok(stage) => {
            let folder = stage.work().join("data");
            make(&stage, &folder);
            Some((stage, folder))
        }
        Err(unavailable) => {
            unavailable.skip(setup);
            None
        }
    }
}

/// A folder of the stage's user, with a file in it.
fn make(stage: &Stage, folder: &Path) {
    fs::create_dir(folder).expect("a fresh name");
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).expect("our own");
    put(stage, &folder.join("given"), "given\n");
    chown(folder, Some(stage.uid()), Some(stage.uid())).expect("our own");
}

fn put(stage: &Stage, path: &Path, text: &str) {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("our own");
    chown(path, Some(stage.uid()), Some(stage.uid())).expect("our own");
}

/// A Python program that is shown folders.
fn start(stage: &Stage, mounts: &[String], code: &str) -> Finished {
    let mut command = stage.command(stage.belljar());
    command.args(["run", "--json", "-l", "python", "-c", code]);
    for mount in mounts {
        command.args(["--mount", mount]);
    }
    command.args(["--", stage.marker()]);
    Running::start(command).finish()
}

fn run(stage: &Stage, mounts: &[String], code: &str) -> Outcome {
    start(stage, mounts, code).outcome(stage.level().name())
}

fn at_data(folder: &Path, access: &str) -> [String; 1] {
    [format!("{}:/data:{access}", folder.display())]
}

/// What a run leaves in a folder that it may change is its owner's, and stays.
fn what_is_written_stays(setup: Setup) {
    let Some((stage, folder)) = open(setup) else { return };
    let code = "\
import os
print(open('/data/given').read().strip(), os.stat('/data').st_uid == os.getuid())
open('/data/given', 'a').write('more\\n')
os.makedirs('/data/a/b')
open('/data/a/b/new', 'w').write('new')
os.rename('/data/a', '/data/moved')
open('here', 'w').write('here')
";
    let outcome = run(&stage, &at_data(&folder, "rw"), code);
    outcome.assert_ended(Ending::completed(0));
    assert_eq!((&*outcome.stdout, &*outcome.stderr), ("given True\n", ""));
    assert_eq!(outcome.isolation.granted, ["folder /data rw"]);
    let names: Vec<&Path> = outcome.files.iter().map(|file| file.path.as_path()).collect();
    assert_eq!(names, [Path::new("here")]);
    assert_eq!(fs::read_to_string(folder.join("given")).expect("it is there"), "given\nmore\n");
    let new = folder.join("moved/b/new");
    assert_eq!(fs::read_to_string(&new).expect("it is there"), "new");
    for path in [&new, &folder.join("moved")] {
        let owner = fs::symlink_metadata(path).expect("it is there");
        assert_eq!((owner.uid(), owner.gid()), (stage.uid(), stage.uid()), "{}", path.display());
    }
    let again = run(&stage, &at_data(&folder, "rw"), "import shutil\nshutil.rmtree('/data/moved')");
    again.assert_ended(Ending::completed(0));
    assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 1);
    stage.assert_unharmed();
}

/// Where it is on the host is where a run finds it, unless it is said otherwise; and a run that was granted nothing has nothing.
fn it_is_where_it_is(setup: Setup) {
    let Some((stage, folder)) = open(setup) else { return };
    let code = format!("import os\nprint(os.path.isdir({:?}), os.path.isdir('/data'))", folder.display().to_string());
    let outcome = run(&stage, &[folder.display().to_string()], &code);
    assert_eq!((&*outcome.stdout, &*outcome.stderr), ("True False\n", ""));
    assert_eq!(outcome.isolation.granted, [format!("folder {} ro", folder.display())]);
    let outcome = run(&stage, &[], &code);
    assert_eq!((&*outcome.stdout, &*outcome.stderr), ("False False\n", ""));
    assert_eq!(outcome.isolation.granted, Vec::<String>::new());
    stage.assert_unharmed();
}

const CHANGES: &str = "\
import ctypes, os
file = '/data/given'
held = os.open(file, os.O_RDONLY)
for change in (
    lambda: open(file, 'a'),
    lambda: open('/data/more', 'w'),
    lambda: os.mkdir('/data/more'),
    lambda: os.mkfifo('/data/more'),
    lambda: os.chmod(file, 0o777),
    lambda: os.chmod('/data', 0o777),
    lambda: os.rename(file, '/data/bad'),
    lambda: os.rename('/data', '/elsewhere'),
    lambda: os.unlink(file),
    lambda: os.symlink('/etc', '/data/link'),
    lambda: os.link(file, '/tmp/given'),
    lambda: os.link(file, '/data/again'),
    lambda: os.utime(file),
    lambda: os.truncate(file, 0),
    lambda: os.setxattr(file, 'user.x', b'1'),
    lambda: open('/proc/self/fd/%d' % held, 'w'),
):
    try:
        change()
        print('changed', change.__code__.co_names, change.__code__.co_consts)
    except OSError:
        pass
libc = ctypes.CDLL(None)
for call in (
    lambda: libc.mount(b'none', b'/data', b'tmpfs', 0, 0),
    lambda: libc.mount(b'none', b'/data', b'none', 0x1020, 0),
    lambda: libc.umount2(b'/data', 2),
    lambda: libc.unshare(0x10020000),
):
    if call() == 0:
        print('mounted', call.__code__.co_consts)
print(open(file).read().strip())
";

fn what_is_read_only_stays_as_it_is(setup: Setup) {
    let Some((stage, folder)) = open(setup) else { return };
    let look = || {
        let all = [folder.clone(), folder.join("given")].map(|path| {
            let metadata = fs::symlink_metadata(path).expect("it is there");
            (metadata.mode(), metadata.nlink(), metadata.size(), metadata.mtime_nsec(), metadata.ctime_nsec())
        });
        (all, fs::read_dir(&folder).expect("it is there").count())
    };
    let before = look();
    for mount in [at_data(&folder, "ro"), [format!("{}:/data", folder.display())]] {
        let outcome = run(&stage, &mount, CHANGES);
        outcome.assert_ended(Ending::completed(0));
        assert_eq!((&*outcome.stdout, &*outcome.stderr), ("given\n", ""));
        assert_eq!(outcome.isolation.granted, ["folder /data ro"]);
    }
    assert_eq!(look(), before);
    stage.assert_unharmed();
}

const ESCAPES: &str = "\
import os, sys
outside = sys.argv[2]
def tell(what, path):
    for do in (lambda: open(path).read(), lambda: os.listdir(path), lambda: open(path, 'a').write('reached')):
        try:
            print('reached by', what, do())
        except OSError:
            pass
for name in sorted(os.listdir('/data')):
    if os.path.islink('/data/' + name):
        tell(name, '/data/' + name)
        tell(name, '/data/' + name + '/secret')
        tell(name, '/data/' + name + '/canary')
try:
    os.symlink(outside + '/canary', '/data/own')
    os.symlink('../forbidden/canary', '/data/own-relative')
    os.symlink('/proc/1/root' + outside, '/data/own-init')
    os.link('/data/planted', '/data/own-hard', follow_symlinks=True)
except OSError:
    pass
for name in ('own', 'own-relative', 'own-init/canary', 'own-hard'):
    tell(name, '/data/' + name)
top = os.open('/data', os.O_PATH)
for _ in range(8):
    top = os.open('..', os.O_PATH, dir_fd=top)
tell('steps up', '/proc/self/fd/%d' % top + outside + '/secret')
os.chdir('/data')
tell('relative steps', '../' * 16 + outside.lstrip('/') + '/secret')
print('done')
";

/// Links in a folder, planted before or made by the run, end in the run's own root.
fn links_do_not_lead_out(setup: Setup) {
    let Some((stage, folder)) = open(setup) else { return };
    let outside = stage.forbidden();
    let up = Path::new("../../forbidden");
    assert_eq!(fs::canonicalize(folder.join(up)).ok(), fs::canonicalize(outside).ok(), "the control: it leads there");
    for (name, target) in [
        ("planted", outside.join("secret")),
        ("planted-folder", outside.to_owned()),
        ("planted-relative", up.join("secret")),
        ("planted-folder-relative", up.to_owned()),
        ("planted-root", "/".into()),
        ("planted-init", "/proc/1/root".into()),
    ] {
        symlink(target, folder.join(name)).expect("a fresh name");
    }
    for access in ["ro", "rw"] {
        let mut command = stage.command(stage.belljar());
        command.args(["run", "--json", "-l", "python", "-c", ESCAPES, "--mount"]).args(at_data(&folder, access));
        command.args(["--", stage.marker()]).arg(outside);
        let outcome = Running::start(command).finish().outcome(stage.level().name());
        outcome.assert_ended(Ending::completed(0));
        let lines: Vec<&str> = outcome.stdout.lines().filter(|line| line.contains("forbidden")).collect();
        assert_eq!((lines, &*outcome.stderr), (Vec::new(), ""));
        assert!(
            outcome.stdout.ends_with("done\n") && !contains_secret(outcome.stdout.as_bytes()),
            "{}",
            outcome.stdout
        );
    }
    stage.assert_unharmed();
}

/// A run that puts a link where another folder's way leads does not choose what the next run is shown.
fn a_link_on_the_way_is_not_followed(setup: Setup) {
    let Some((stage, folder)) = open(setup) else { return };
    make(&stage, &folder.join("inner"));
    let mounts = [format!("{}:/outer:rw", folder.display()), format!("{}:/inner", folder.join("inner").display())];
    let code = "import os, sys\nos.rename('/outer/inner', '/outer/away')\nos.symlink(sys.argv[1], '/outer/inner')";
    let code = code.replace("sys.argv[1]", &format!("{:?}", stage.forbidden().display().to_string()));
    run(&stage, &mounts, &code).assert_ended(Ending::completed(0));
    assert!(folder.join("inner/secret").is_file(), "the control: the link leads there");
    // Named by its own path again, belljar would find out at its start what it is now; so by a server that goes on.
    let mut server = stage.command(stage.belljar());
    server.arg("serve").arg("--mount").arg(&mounts[0]);
    fs::remove_file(folder.join("inner")).expect("the link");
    fs::rename(folder.join("away"), folder.join("inner")).expect("the folder");
    server.arg("--mount").arg(&mounts[1]);
    let mut client = crate::client::Client::of(server).greeted();
    let mut python = |code: &str| client.run(&serde_json::json!({"language": "python", "code": code}));
    assert_eq!(crate::printed(&python("print(open('/inner/given').read())")), "given\n\n");
    assert_eq!(crate::printed(&python(&code)), "");
    let attack = python("import os\nprint(os.listdir('/inner'))");
    assert!(crate::refusal(&attack).contains("the sandbox could not be built"), "{attack:#}");
    drop(client);
    stage.assert_unharmed();
}

/// What is not its owner's in a folder is not the run's either.
#[test]
fn others_files_stay_others() {
    let Some((stage, folder)) = open(Setup::Root) else { return };
    let other = folder.join("other");
    fs::write(&other, "other\n").expect("written");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o666)).expect("our own");
    chown(&other, Some(1), Some(1)).expect("root may");
    let code = "\
import os
for change in (
    lambda: open('/data/other', 'a').write('x'),
    lambda: os.chmod('/data/other', 0o777),
    lambda: os.chown('/data/given', 1, 1),
    lambda: os.chown('/data/given', 0, 0),
):
    try:
        change()
        print('changed', change.__code__.co_names)
    except OSError:
        pass
print(open('/data/other').read().strip(), os.stat('/data/other').st_uid)
";
    let outcome = run(&stage, &at_data(&folder, "rw"), code);
    assert_eq!((&*outcome.stdout, &*outcome.stderr), ("other 65534\n", ""));
    let left = fs::symlink_metadata(&other).expect("it is there");
    assert_eq!((left.uid(), left.mode() & 0o777, left.size()), (1, 0o666, 6));
    stage.assert_unharmed();
}

/// A program that a guest leaves in a folder of root's gives nobody root's rights.
fn no_set_user_id_programs(setup: Setup) {
    let Some((stage, folder)) = open(setup) else { return };
    let code = "\
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
os.umask(0)
def made(name, how):
    try:
        how('/data/' + name)
    except OSError:
        pass
    if os.path.exists('/data/' + name) and os.stat('/data/' + name).st_mode & 0o6000:
        print(name, oct(os.stat('/data/' + name).st_mode))
def by_chmod(path):
    open(path, 'w').close()
    os.chmod(path, 0o6755)
def by_fchmod(path):
    os.fchmod(os.open(path, os.O_WRONLY | os.O_CREAT), 0o6755)
made('chmod', by_chmod)
made('fchmod', by_fchmod)
made('open', lambda path: os.open(path, os.O_WRONLY | os.O_CREAT, 0o6755))
made('openat', lambda path: os.open(os.path.basename(path), os.O_WRONLY | os.O_CREAT, 0o6755, dir_fd=os.open('/data', os.O_PATH)))
made('creat', lambda path: libc.creat(path.encode(), 0o6755))
made('creat-by-number', lambda path: libc.syscall(85, path.encode(), 0o6755))
made('open-by-number', lambda path: libc.syscall(2, path.encode(), 0o101, 0o6755))
made('temporary', lambda path: libc.linkat(-100, b'/proc/self/fd/%d' % os.open('/data', os.O_TMPFILE | os.O_RDWR, 0o6755), -100, path.encode(), 0x400))
made('mknod', lambda path: os.mknod(path, 0o106755))
how = (ctypes.c_uint64 * 3)(0o101, 0o6755, 0)
made('openat2', lambda path: libc.syscall(437, -100, path.encode(), how, 24))
made('fchmodat2', lambda path: (open(path, 'w').close(), libc.syscall(452, -100, path.encode(), 0o6755, 0)))
os.chmod('/data/chmod', 0o755)
print(oct(os.stat('/data/chmod').st_mode & 0o7777))
";
    let control = run(&stage, &at_data(&folder, "ro"), &code.replace("/data", "/tmp"));
    control.assert_ended(Ending::completed(0));
    let ways: Vec<&str> = control.stdout.lines().filter_map(|line| line.split(' ').next()).collect();
    let all = ["chmod", "fchmod", "open", "openat", "creat", "creat-by-number", "open-by-number", "temporary", "mknod"];
    assert_eq!((ways, &*control.stderr), ([&all[..], &["openat2", "0o755"]].concat(), ""));
    let outcome = run(&stage, &at_data(&folder, "rw"), code);
    outcome.assert_ended(Ending::completed(0));
    assert_eq!((&*outcome.stdout, &*outcome.stderr), ("0o755\n", ""));
    stage.assert_unharmed();
}

/// Without a root of its own a run cannot be shown anything, and is not run without.
#[test]
fn without_namespaces_it_is_refused() {
    let Some((stage, folder)) = open(Setup::NoUserNamespaces) else { return };
    let mut command = stage.command(stage.belljar());
    command.args(["run", "--require", "landlock", "-l", "python", "-c", "print(1)", "--mount"]);
    command.args(at_data(&folder, "ro"));
    let finished = Running::start(command).finish();
    let said = String::from_utf8_lossy(&finished.stderr);
    assert_eq!((finished.code, &*finished.stdout), (Some(125), &b""[..]), "{said}");
    let reason = "this host gives runs no root and no network of their own, so they cannot be granted folders or hosts";
    assert!(said.contains(reason), "{said}");
}

testkit::in_both_setups! {
    what_is_written_stays;
    it_is_where_it_is;
    what_is_read_only_stays_as_it_is;
    links_do_not_lead_out;
    a_link_on_the_way_is_not_followed;
    no_set_user_id_programs;
}
