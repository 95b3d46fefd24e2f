//! Where paths lead, and where they do not.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::guest::{A_DIRECTORY, A_LINK, CREATE, DIRECTORY, EXCLUSIVE, Guest, READ, ROOT, WRITE};
use crate::Errno;

const KEEP: u32 = 0;
const FOLLOW: u32 = 1;

fn guest_with(paths: &[&str]) -> Guest {
    let mut guest = Guest::new();
    for path in paths {
        match path.strip_suffix('/') {
            Some(directory) => guest.make_directory(directory).unwrap(),
            None => guest.save(path, path.as_bytes()).unwrap(),
        }
    }
    guest
}

#[test]
fn dots_and_slashes() {
    let mut guest = guest_with(&["box/d/", "box/d/e/", "box/d/e/file"]);
    for path in [
        "box/d/e/file",
        "./box//d/./e///file",
        "box/d/../d/e/../e/file",
        "tmp/../box/d/e/file",
        "../../box/d/e/file",
        "lib/../../box/d/../../../box/d/e/file",
    ] {
        assert_eq!(guest.load(path).as_deref(), Ok(b"box/d/e/file".as_slice()), "{path}");
    }
    for path in [".", "./", "..", "../..", "box/..", "lib/../.", "box/d/../../../"] {
        let root = guest.stat_fd(ROOT).unwrap().number;
        assert_eq!(guest.stat(path).unwrap().number, root, "{path}");
    }
    assert_eq!(guest.load("box/d/e/file/"), Err(Errno::Notdir));
    assert_eq!(guest.load("box/d/e/file/."), Err(Errno::Notdir));
    assert_eq!(guest.load("box/d/e/file/.."), Err(Errno::Notdir));
    assert_eq!(guest.load("lib/a.py/.."), Err(Errno::Notdir));
    assert_eq!(guest.load("dev/null/.."), Err(Errno::Notdir));
    assert_eq!(guest.load("box/none/../d/e/file"), Err(Errno::Noent));
    assert_eq!(guest.stat("box/d/").unwrap().file_type, A_DIRECTORY);
    assert_eq!(guest.open("box/new/", CREATE, WRITE), Err(Errno::Isdir));
    assert_eq!(guest.open("box/d/..", CREATE | EXCLUSIVE, WRITE), Err(Errno::Exist));
}

#[test]
fn what_is_no_path() {
    let mut guest = guest_with(&["box/a"]);
    assert_eq!(guest.stat(""), Err(Errno::Noent));
    assert_eq!(guest.stat("/"), Err(Errno::Perm));
    assert_eq!(guest.stat("/box/a"), Err(Errno::Perm));
    assert_eq!(guest.stat("box/a\0"), Err(Errno::Inval));
    let name = "x".repeat(255);
    guest.save(&format!("box/{name}"), b"").unwrap();
    assert_eq!(guest.save(&format!("box/{name}x"), b""), Err(Errno::Nametoolong));
    assert_eq!(guest.stat(&format!("box/{name}x")), Err(Errno::Nametoolong));
    let long = format!("box/{}a", "./".repeat(2_045));
    assert_eq!(long.len(), 4_095);
    guest.stat(&long).unwrap();
    assert_eq!(guest.stat(&format!("./{long}")), Err(Errno::Nametoolong));

    let (path, length) = guest.path(b"box/\xff");
    let result = guest.call(|context, memory| context.path_create_directory(memory, ROOT, path, length));
    assert_eq!(result, Err(Errno::Ilseq));
    let result = guest.call(|context, memory| context.path_create_directory(memory, ROOT, u32::MAX, 5));
    assert_eq!(result, Err(Errno::Fault));
    let result = guest.call(|context, memory| context.path_create_directory(memory, ROOT, path, u32::MAX));
    assert_eq!(result, Err(Errno::Nametoolong));
}

#[test]
fn a_directory_is_not_left() {
    let mut guest = guest_with(&["box/d/", "box/d/in", "box/out"]);
    let fd = guest.open("box/d", DIRECTORY, READ).unwrap();
    guest.stat_at(fd, "in", FOLLOW).unwrap();
    guest.stat_at(fd, "../d/in", FOLLOW).unwrap_err();
    for path in ["..", "../out", "./../out", "../../lib/a.py"] {
        assert_eq!(guest.stat_at(fd, path, FOLLOW), Err(Errno::Perm), "{path}");
    }
    assert_eq!(guest.stat_at(fd, "/box/out", FOLLOW), Err(Errno::Perm));
    assert_eq!(guest.stat_at(fd, "in/../../out", FOLLOW), Err(Errno::Notdir));

    // Links neither, though from the root they lead there.
    guest.symlink("../out", "box/d/relative").unwrap();
    guest.symlink("/box/out", "box/d/absolute").unwrap();
    guest.symlink("in", "box/d/inside").unwrap();
    guest.symlink("../d/in", "box/d/around").unwrap();
    for name in ["relative", "absolute", "around"] {
        assert_eq!(guest.stat_at(fd, name, FOLLOW), Err(Errno::Perm), "{name}");
        assert_eq!(guest.stat_at(fd, name, KEEP).unwrap().file_type, A_LINK);
        guest.stat(&format!("box/d/{name}")).unwrap();
    }
    guest.stat_at(fd, "inside", FOLLOW).unwrap();
    assert_eq!(guest.load("box/d/absolute").unwrap(), b"box/out");
}

#[test]
fn an_image_directory_is_not_left_either() {
    let mut guest = Guest::new();
    let fd = guest.open("lib", DIRECTORY, READ).unwrap();
    guest.stat_at(fd, "a.py", FOLLOW).unwrap();
    assert_eq!(guest.stat_at(fd, "..", FOLLOW), Err(Errno::Perm));
    assert_eq!(guest.stat_at(fd, "../lib/a.py", FOLLOW), Err(Errno::Perm));
    guest.stat_at(fd, "./a.py", FOLLOW).unwrap();
}

#[test]
fn links_are_followed_or_not() {
    let mut guest = guest_with(&["box/d/", "box/d/file"]);
    guest.symlink("d", "box/to-d").unwrap();
    guest.symlink("to-d/file", "box/to-file").unwrap();
    guest.symlink("/box/to-file", "tmp/to-to-file").unwrap();
    for path in ["box/to-d/file", "box/to-file", "tmp/to-to-file"] {
        assert_eq!(guest.load(path).unwrap(), b"box/d/file", "{path}");
    }
    assert_eq!(guest.link_stat("box/to-d").unwrap().file_type, A_LINK);
    assert_eq!(guest.link_stat("box/to-d").unwrap().size, 1);
    assert_eq!(guest.link_stat("box/to-d/").unwrap().file_type, A_DIRECTORY);
    assert_eq!(guest.link_stat("box/to-file/"), Err(Errno::Notdir));
    assert_eq!(guest.open_at(ROOT, "box/to-file", KEEP, 0, READ, 0), Err(Errno::Loop));
    assert_eq!(guest.open_at(ROOT, "box/to-d", KEEP, DIRECTORY, READ, 0), Err(Errno::Notdir));
    // From where the link leads, not from where it is.
    guest.make_directory("tmp/far").unwrap();
    guest.symlink("/tmp/far", "box/far").unwrap();
    assert_eq!(guest.stat("box/far/..").unwrap().number, guest.stat("tmp").unwrap().number);

    assert_eq!(guest.read_link("box/to-file", 100).unwrap(), b"to-d/file");
    assert_eq!(guest.read_link("box/to-file", 4).unwrap(), b"to-d");
    assert_eq!(guest.read_link("box/d", 100), Err(Errno::Inval));
    assert_eq!(guest.read_link("lib", 100), Err(Errno::Inval));
}

#[test]
fn loops_end() {
    let mut guest = Guest::new();
    guest.symlink("self", "box/self").unwrap();
    guest.symlink("b", "box/a").unwrap();
    guest.symlink("a", "box/b").unwrap();
    guest.symlink("grow/x", "box/grow").unwrap();
    for path in ["box/self", "box/a", "box/self/x", "box/grow"] {
        assert_eq!(guest.stat(path), Err(Errno::Loop), "{path}");
        assert_eq!(guest.open(path, CREATE, WRITE), Err(Errno::Loop), "{path}");
    }
    // 40 links are followed, 41 are not.
    guest.save("box/0", b"end").unwrap();
    for number in 1..=41 {
        guest.symlink(&(number - 1).to_string(), &format!("box/{number}")).unwrap();
    }
    assert_eq!(guest.load("box/40").unwrap(), b"end");
    assert_eq!(guest.load("box/41"), Err(Errno::Loop));
    // Texts that get longer and longer end too.
    guest.symlink(&format!("{}long", "./".repeat(2_000)), "box/long").unwrap();
    assert_eq!(guest.stat(&format!("box/long/{}", "./".repeat(2_000))), Err(Errno::Loop));
}

#[test]
fn links_to_nothing() {
    let mut guest = Guest::new();
    guest.symlink("new", "box/link").unwrap();
    assert_eq!(guest.load("box/link"), Err(Errno::Noent));
    assert_eq!(guest.make_directory("box/link"), Err(Errno::Exist));
    assert_eq!(guest.open("box/link", CREATE | EXCLUSIVE, WRITE), Err(Errno::Exist));
    guest.save("box/link", b"through").unwrap();
    assert_eq!(guest.load("box/new").unwrap(), b"through");
    // Where it leads decides whether that can be written.
    guest.symlink("/lib/new", "box/read-only").unwrap();
    assert_eq!(guest.save("box/read-only", b""), Err(Errno::Rofs));
    guest.symlink("/lib/a.py", "box/a.py").unwrap();
    assert_eq!(guest.load("box/a.py").unwrap(), b"import b");
    assert_eq!(guest.save("box/a.py", b""), Err(Errno::Rofs));
}

#[test]
fn making_links() {
    let mut guest = guest_with(&["box/file", "box/d/"]);
    assert_eq!(guest.symlink("", "box/link"), Err(Errno::Noent));
    assert_eq!(guest.symlink("x", "box/file"), Err(Errno::Exist));
    assert_eq!(guest.symlink("x", "box/d/"), Err(Errno::Exist));
    assert_eq!(guest.symlink("x", "box/new/"), Err(Errno::Noent));
    assert_eq!(guest.symlink("x", "box/none/link"), Err(Errno::Noent));
    assert_eq!(guest.symlink("x", "box/file/link"), Err(Errno::Notdir));
    guest.symlink("../../../../etc/passwd", "box/link").unwrap();
    assert_eq!(guest.load("box/link"), Err(Errno::Noent));
    guest.unlink("box/link").unwrap();
    assert_eq!(guest.link_stat("box/link"), Err(Errno::Noent));
}

#[test]
fn hard_links() {
    let mut guest = guest_with(&["box/a", "box/d/"]);
    guest.link("box/a", "tmp/b").unwrap();
    let (a, b) = (guest.stat("box/a").unwrap(), guest.stat("tmp/b").unwrap());
    assert_eq!(a, b);
    assert_eq!(a.links, 2);
    guest.save("tmp/b", b"changed").unwrap();
    assert_eq!(guest.load("box/a").unwrap(), b"changed");
    assert_eq!(guest.context.usage().bytes, 7);
    assert_eq!(guest.link("box/a", "tmp/b"), Err(Errno::Exist));
    assert_eq!(guest.link("box/d", "box/e"), Err(Errno::Perm));
    assert_eq!(guest.link("box/none", "box/e"), Err(Errno::Noent));
    assert_eq!(guest.link("box/a", "box/e/"), Err(Errno::Noent));
    assert_eq!(guest.link("box/a", "e"), Err(Errno::Rofs));
    // Renaming one name to the other changes nothing.
    guest.rename("box/a", "tmp/b").unwrap();
    guest.stat("box/a").unwrap();
    guest.unlink("box/a").unwrap();
    assert_eq!(guest.stat("tmp/b").unwrap().links, 1);
    assert_eq!(guest.load("tmp/b").unwrap(), b"changed");
    guest.unlink("tmp/b").unwrap();
    assert_eq!(guest.context.usage().bytes, 0);
    assert_eq!(guest.context.usage().entries, 1);

    // A link to a link, or to what it leads to.
    guest.save("box/a", b"a").unwrap();
    guest.symlink("a", "box/link").unwrap();
    guest.link("box/link", "box/link2").unwrap();
    assert_eq!(guest.link_stat("box/link2").unwrap().file_type, A_LINK);
    let (from, from_length) = guest.path(b"box/link");
    guest.put(0x9000, b"box/a2");
    guest.call(|context, memory| context.path_link(memory, ROOT, 1, from, from_length, ROOT, 0x9000, 6)).unwrap();
    assert_eq!(guest.link_stat("box/a2").unwrap().number, guest.stat("box/a").unwrap().number);
}

/// What the resolver is compared to: one name after the other, with names as a list and links put in front of what is left.
#[derive(Debug, Clone)]
enum Thing {
    Directory,
    File,
    Link(String),
}

type Place = Vec<String>;

fn resolve_simply(things: &BTreeMap<Place, Thing>, start: &Place, path: &str, lookup: u32) -> Result<Place, Errno> {
    let names = |text: &str| text.split('/').rev().map(str::to_owned).collect::<Vec<_>>();
    let mut left = names(path);
    let mut here = start.clone();
    let mut links = 0;
    while let Some(name) = left.pop() {
        if !matches!(things[&here], Thing::Directory) {
            return Err(Errno::Notdir);
        }
        match name.as_str() {
            "" | "." => {}
            ".." if here == *start && !start.is_empty() => return Err(Errno::Perm),
            ".." => {
                here.pop();
            }
            _ => {
                let mut child = here.clone();
                child.push(name);
                match things.get(&child) {
                    None => return Err(Errno::Noent),
                    Some(Thing::Link(target)) if !left.is_empty() || lookup == FOLLOW => {
                        links += 1;
                        if links > 40 {
                            return Err(Errno::Loop);
                        }
                        if target.starts_with('/') {
                            if !start.is_empty() {
                                return Err(Errno::Perm);
                            }
                            here.clear();
                        }
                        left.extend(names(target));
                    }
                    Some(_) => here = child,
                }
            }
        }
    }
    Ok(here)
}

fn place(path: &str) -> Place {
    path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn text() -> impl Strategy<Value = String> {
    let names = vec!["a", "b", "f", "l", "m", "..", ".", "box", "tmp", ""];
    proptest::collection::vec(proptest::sample::select(names), 1..7).prop_map(|names| names.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn paths_lead_where_a_simple_resolver_says(
        links in proptest::collection::vec((proptest::sample::select(vec!["box/l", "box/m", "box/a/l", "box/a/b/l", "tmp/l", "tmp/a"]), text()), 0..6),
        queries in proptest::collection::vec((text(), any::<bool>(), any::<bool>()), 1..20),
    ) {
        let mut guest = guest_with(&["box/a/", "box/a/b/", "box/f", "box/a/f", "tmp/b/"]);
        let mut things = BTreeMap::from([(Vec::new(), Thing::Directory)]);
        for directory in ["box", "tmp", "box/a", "box/a/b", "tmp/b"] {
            things.insert(place(directory), Thing::Directory);
        }
        for file in ["box/f", "box/a/f"] {
            things.insert(place(file), Thing::File);
        }
        for (path, target) in &links {
            if !target.is_empty() && guest.symlink(target, path).is_ok() {
                things.insert(place(path), Thing::Link(target.clone()));
            }
        }
        let inner = guest.open("box/a", DIRECTORY, READ).unwrap();
        for (path, from_root, follow) in &queries {
            if path.is_empty() || path.starts_with('/') {
                continue;
            }
            let (fd, start) = if *from_root { (ROOT, "") } else { (inner, "box/a") };
            let lookup = if *follow { FOLLOW } else { KEEP };
            let expected = resolve_simply(&things, &place(start), path, lookup)
                .map(|place| if place.is_empty() { ".".to_owned() } else { place.join("/") })
                .map(|path| guest.link_stat(&path).unwrap());
            prop_assert_eq!(guest.stat_at(fd, path, lookup), expected, "{} from `{}`, {:?}", path, start, things);
        }
    }
}
