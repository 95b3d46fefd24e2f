//! A session's files.

use sandbox::{
    Collect, EntryKind, FileError, FilePart, InputFile, LimitKind, LimitsRequest, Outcome, Request, SessionError,
    SkipReason, Status, WorkspacePath, WriteMode,
};

use crate::{Notebook, Stage, plan, request};

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::new(text).expect("a path")
}

fn names(outcome: &Outcome) -> Vec<&str> {
    outcome.files.iter().map(|file| file.path.as_str()).collect()
}

async fn read(session: &mut Notebook, name: &str) -> Vec<u8> {
    let all = FilePart { offset: 0, limit: u64::MAX };
    session.session.read(&path(name), all).await.expect("a file").bytes
}

#[tokio::test]
async fn a_cell_tells_of_its_own_files() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    let outcome = session.cell("python", "import os\nos.mkdir('d')\nfor n in 'a', 'd/b': open(n, 'w').write(n)").await;
    assert_eq!(names(&outcome), ["a", "d/b"]);
    assert_eq!(outcome.files[0].contents, None);
    assert_eq!(names(&session.cell("python", "print(open('a').read())").await), [""; 0]);
    let input = InputFile { path: "in.txt".into(), contents: b"given".to_vec() };
    let outcome = session
        .run(Request {
            files: vec![input],
            collect: Collect::Contents,
            ..request(
                "python",
                "open('a', 'a').write(open('in.txt').read())\nos.rename('d/b', 'c')\nos.symlink('a', 'l')",
            )
        })
        .await;
    assert_eq!(names(&outcome), ["a", "c"]);
    assert_eq!(outcome.files[0].contents.as_deref(), Some(b"agiven".as_slice()));
    let [link] = &outcome.skipped_files[..] else { panic!("{outcome:?}") };
    assert_eq!((&*link.path, link.reason), ("l", SkipReason::NotRegular));
    assert_eq!(names(&session.cell("python", "os.listdir()").await), [""; 0]);
}

#[tokio::test]
async fn files_are_written_and_read_from_outside() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    let live = &mut session.session;
    assert_eq!(live.write(&path("d/e/f.py"), b"x = ", WriteMode::Replace).await.expect("room"), 4);
    assert_eq!(live.write(&path("d/e/f.py"), b"5\n", WriteMode::Append).await.expect("room"), 6);
    assert_eq!(live.write(&path("new"), b"1", WriteMode::Append).await.expect("room"), 1);
    assert_eq!(session.printed("python", "from d.e import f\nprint(f.x)").await, "5\n");
    let live = &mut session.session;
    let part = live.read(&path("d/e/f.py"), FilePart { offset: 2, limit: 3 }).await.expect("a file");
    assert_eq!((part.bytes, part.size), (b"= 5".to_vec(), 6));
    let beyond = live.read(&path("new"), FilePart { offset: 9, limit: 3 }).await.expect("a file");
    assert_eq!((beyond.bytes, beyond.size), (Vec::new(), 1));
    assert!(matches!(live.read(&path("none"), FilePart { offset: 0, limit: 1 }).await, Err(FileError::NotFound)));
    assert!(matches!(live.read(&path("d"), FilePart { offset: 0, limit: 1 }).await, Err(FileError::IsFolder)));
    assert!(matches!(live.read(&path("new/x"), FilePart { offset: 0, limit: 1 }).await, Err(FileError::NotFolder)));
    assert!(matches!(live.write(&path("d"), b"", WriteMode::Replace).await, Err(FileError::IsFolder)));
    assert!(matches!(live.write(&path("new/x"), b"", WriteMode::Replace).await, Err(FileError::NotFolder)));
    // Large, and not in one piece.
    let large: Vec<u8> = (0..40_u32 << 20).map(|index| index.to_le_bytes()[1]).collect();
    live.write(&path("large"), &large, WriteMode::Replace).await.expect("room");
    assert!(read(&mut session, "large").await == large);
}

#[tokio::test]
async fn links_lead_nowhere_from_outside() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    let code = "import os\nopen('a', 'w').write('a')\nos.mkdir('d')\nos.symlink('a', 'l')\nos.symlink('/lib', 'out')\nos.symlink('.', 'd/self')\nos.symlink('nowhere', 'dangling')";
    session.printed("python", code).await;
    let live = &mut session.session;
    for link in ["l", "dangling", "out", "out/python3.13/os.py", "d/self/self", "dangling/x"] {
        let part = FilePart { offset: 0, limit: 1 };
        assert!(matches!(live.read(&path(link), part).await, Err(FileError::Special)), "{link}");
        assert!(matches!(live.write(&path(link), b"x", WriteMode::Replace).await, Err(FileError::Special)), "{link}");
        assert!(matches!(live.write(&path(link), b"x", WriteMode::Append).await, Err(FileError::Special)), "{link}");
    }
    assert!(matches!(live.list(Some(&path("out"))).await, Err(FileError::Special)));
    let listed = live.list(None).await.expect("a list");
    let listed: Vec<_> = listed.iter().map(|entry| (entry.path.as_str(), entry.kind, entry.size)).collect();
    let (file, folder, other) = (EntryKind::File, EntryKind::Folder, EntryKind::Other);
    let expected = [
        ("a", file, 1),
        ("d", folder, 0),
        ("d/self", other, 0),
        ("dangling", other, 0),
        ("l", other, 0),
        ("out", other, 0),
    ];
    assert_eq!(listed, expected);
    let below = live.list(Some(&path("d"))).await.expect("a list");
    assert_eq!(below.len(), 1);
    assert_eq!(below[0].path, "d/self");
    assert!(matches!(live.list(Some(&path("a"))).await, Err(FileError::NotFolder)));
    assert!(matches!(live.list(Some(&path("no"))).await, Err(FileError::NotFound)));
}

#[tokio::test]
async fn a_full_workspace_says_so_and_keeps_what_it_has() {
    let Some(stage) = Stage::start() else { return };
    let limits = LimitsRequest { disk: Some(sandbox::Bytes::mib(1)), files: Some(64), ..LimitsRequest::default() };
    let mut session = stage.open_as(Request { limits, ..request("python", "0") }).await;
    let live = &mut session.session;
    live.write(&path("a"), &vec![1; 600 << 10], WriteMode::Replace).await.expect("room");
    for (name, mode) in [("a", WriteMode::Append), ("b", WriteMode::Replace)] {
        let full = live.write(&path(name), &vec![2; 600 << 10], mode).await;
        assert!(matches!(full, Err(FileError::Full)), "{name}: {full:?}");
    }
    assert_eq!(live.write(&path("a"), &[3; 10], WriteMode::Replace).await.expect("room"), 10);
    assert_eq!(read(&mut session, "a").await, [3; 10]);
    let outcome = session.cell("python", "open('big', 'wb').write(bytes(2 << 20))").await;
    assert!(outcome.stderr.text.contains("No space left"), "{outcome:?}");
    session.printed("python", "import os\nos.remove('big')\nfor n in range(60): open(f'f{n}', 'w').close()").await;
    let live = &mut session.session;
    let mut made = 0;
    while live.write(&path(&format!("g{made}")), b"", WriteMode::Replace).await.is_ok() {
        made += 1;
    }
    assert!(made <= 4, "{made}");
}

#[tokio::test]
async fn languages_share_a_workspace() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    session.printed("python", "held = open('p.txt', 'w')\n_ = held.write('from python')\nheld.flush()").await;
    let code =
        "const fs = require('fs'); console.log(fs.readFileSync('p.txt', 'utf8')); fs.writeFileSync('j.txt', 'from js')";
    assert_eq!(session.printed("javascript", code).await, "from python\n");
    assert_eq!(
        session
            .printed("python", "_ = held.write('!')\nheld.close()\nprint(open('j.txt').read(), open('p.txt').read())")
            .await,
        "from js from python!\n"
    );
    assert_eq!(session.printed("ruby", "puts File.read('p.txt')").await, "from python!\n");
    session.session.write(&path("main.lua"), b"mine", WriteMode::Replace).await.expect("room");
    let lua = "local f = io.open('p.txt'); print(f:read('a')); io.open('l.txt', 'w'):write('from lua')";
    let outcome = session.cell("lua", lua).await;
    assert_eq!((&*outcome.stdout.text, names(&outcome)), ("from python!\n", vec!["l.txt"]));
    assert_eq!(read(&mut session, "main.lua").await, b"mine");
    let outcome = session.cell("sql", "select 1 as one;").await;
    assert!(outcome.status.is_success() && outcome.files.is_empty(), "{outcome:?}");
    let outcome = session
        .cell("php", "<?php echo file_get_contents('l.txt'), \"\\n\"; file_put_contents('h.txt', 'from php');")
        .await;
    assert_eq!((&*outcome.stdout.text, names(&outcome)), ("from lua\n", vec!["h.txt"]));
    let c = "#include <stdio.h>\nint main(void) { char b[99] = {0}; FILE *f = fopen(\"h.txt\", \"r\"); fread(b, 1, 98, f); puts(b); f = fopen(\"c.txt\", \"w\"); fputs(\"from c\", f); fclose(f); return 0; }";
    let outcome = session.cell("c", c).await;
    assert_eq!((&*outcome.stdout.text, names(&outcome)), ("from php\n", vec!["c.txt"]), "{outcome:?}");
    assert_eq!(session.printed("python", "print(open('c.txt').read())").await, "from c\n");
    assert_eq!(session.session.languages(), ["javascript", "ruby", "python"]);
}

/// C runs elsewhere, on copies: what it takes away is to be gone here too, and it is to see everything.
#[tokio::test]
async fn a_compiled_cell_works_on_the_whole_workspace() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    let python = "import os\nos.makedirs('d/e')\nos.makedirs('kept')\nfor n in 'a', 'b', 'd/e/f', 'kept/g': open(n, 'w').write(n)\n\
                  os.mkdir('many')\nfor n in range(2_500): open(f'many/{n}', 'w').close()";
    session.printed("python", python).await;
    let c = r#"
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    int files = 0;
    DIR *many = opendir("many");
    for (struct dirent *entry; (entry = readdir(many));) files += entry->d_name[0] != '.';
    printf("%d %d %d %d %d\n", files, remove("a"), rename("b", "c"), rename("d", "moved"), unlink("kept/g"));
    return 0;
}"#;
    let outcome = session.cell("c", c).await;
    assert_eq!((&*outcome.stdout.text, names(&outcome)), ("2500 0 0 0 0\n", vec!["c", "moved/e/f"]), "{outcome:?}");
    let python = "print(sorted(os.listdir()), os.listdir('kept'), open('c').read(), open('moved/e/f').read(), len(os.listdir('many')))";
    let expected = "['c', 'kept', 'many', 'moved'] [] b d/e/f 2500\n";
    assert_eq!(session.printed("python", python).await, expected);
}

/// What it moves to where it cannot be brought back from stays where it was.
#[tokio::test]
async fn a_compiled_cell_loses_nothing() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    let python = "import os\nopen('large', 'w').truncate(65 << 20)\nfor n in 'a', 'b': open(n, 'w').write(n)\n\
                  os.mkdir('many')\nfor n in range(2_500): open(f'many/{n}', 'w').close()\n\
                  def look(): print(os.path.getsize('large'), len(os.listdir('many')), open('a').read(), open('b').read())";
    session.printed("python", python).await;
    for (from, to, reason) in [
        ("large", "grown", SkipReason::TooLarge),
        ("many", "moved", SkipReason::TooMany),
        ("a", "a\\n", SkipReason::Name),
    ] {
        let c =
            format!("#include <stdio.h>\nint main(void) {{ return rename(\"{from}\", \"{to}\") | remove(\"b\"); }}");
        let outcome = session.cell("c", &c).await;
        assert!(outcome.status.is_success(), "{outcome:?}");
        assert!(outcome.skipped_files.iter().all(|file| file.reason == reason), "{:?}", outcome.skipped_files);
        let said = outcome.diagnostics.expect("it is said");
        assert!(said.contains("still there under its old name"), "{said}");
        assert_eq!(session.printed("python", "look()").await, "68157440 2500 a b\n", "{from}");
    }
    let outcome = session.cell("c", "#include <stdio.h>\nint main(void) { return remove(\"b\"); }").await;
    assert_eq!(outcome.diagnostics, None);
    assert_eq!(session.printed("python", "print(os.path.exists('b'))").await, "False\n");
}

/// It gets a file as often as that has names, and all of it passes through the server.
#[tokio::test]
async fn a_compiled_cell_is_not_given_more_than_there_is_room_for() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    let python = "import os\nopen('0', 'w').truncate(48 << 20)\nfor n in range(1, 20): os.link('0', str(n))";
    session.printed("python", python).await;
    let c = "int main(void) { return 0; }";
    let ran = session.session.run(plan(request("c", c)), &mut ()).await;
    let Err(SessionError::Refused(refusal)) = ran else { panic!("{ran:?}") };
    assert!(refusal.message().starts_with("the session's files are too large for a compiled cell"), "{refusal}");
    session.printed("python", "for n in range(1, 20): os.remove(str(n))").await;
    let outcome = session.cell("c", c).await;
    assert!(outcome.status.is_success(), "{outcome:?}");
}

/// What is gone is told by name, and not more of it than an answer has room for.
#[tokio::test]
async fn a_compiled_cell_that_removes_too_much_removes_nothing() {
    let Some(stage) = Stage::start() else { return };
    let mut session = stage.open().await;
    let python = "import os\nfolder = '/'.join(['n' * 250] * 11)\nos.makedirs(folder)\nopen('a', 'w').close()\n\
                  for n in range(6_500): open(f'{folder}/{n}', 'w').close()";
    session.printed("python", python).await;
    let name = "n".repeat(250);
    let c = format!(
        "#include <stdio.h>\nint main(void) {{ return rename(\"{name}\", \"/tmp/elsewhere\") | remove(\"a\"); }}"
    );
    let outcome = session.cell("c", &c).await;
    assert!(outcome.status.is_success(), "{outcome:?}");
    let said = outcome.diagnostics.expect("it is said");
    assert!(said.contains("still there under its old name"), "{said}");
    assert_eq!(session.printed("python", "print(len(os.listdir(folder)), os.path.exists('a'))").await, "6500 True\n");
}

#[tokio::test]
async fn what_a_compiled_cell_did_is_there_or_none_of_it() {
    let Some(stage) = Stage::start() else { return };
    let limits = LimitsRequest { disk: Some(sandbox::Bytes::mib(1)), ..LimitsRequest::default() };
    let mut session = stage.open_as(Request { limits, ..request("python", "0") }).await;
    session.printed("python", "import os\nopen('a', 'w').write('x' * 600_000)").await;
    // There is no room for two of them.
    let outcome = session.cell("c", "#include <stdio.h>\nint main(void) { return rename(\"a\", \"b\"); }").await;
    assert_eq!(names(&outcome), ["b"], "{outcome:?}");
    session.printed("python", "open('/tmp/elsewhere', 'w').write('x' * 300_000)").await;
    let c = r#"
#include <stdio.h>
#include <unistd.h>
int main(void) { FILE *f = fopen("d", "w"); return rename("b", "c") | ftruncate(fileno(f), 200000); }"#;
    let ran = session.session.run(plan(request("c", c)), &mut ()).await;
    let error = ran.expect_err("there is no room for it where others have written too");
    assert!(error.to_string().contains("workspace is full"), "{error}");
    assert_eq!(session.printed("python", "print(os.listdir(), os.path.getsize('b'))").await, "['b'] 600000\n");
}

#[tokio::test]
async fn what_cannot_be_put_into_a_session_is_refused() {
    let Some(stage) = Stage::start() else { return };
    let limits = LimitsRequest { disk: Some(sandbox::Bytes::mib(1)), ..LimitsRequest::default() };
    let mut session = stage.open_as(Request { limits, ..request("python", "0") }).await;
    session.printed("python", "import os\nos.mkdir('data')\nos.mkdir('main.lua')\nopen('file', 'w').close()").await;
    for (language, name, reason) in [
        ("python", "data", "it is a folder"),
        ("python", "file/x", "it is no folder, or is below a file"),
        ("c", "data", "it is a folder"),
        ("lua", "main.lua", "it is a folder"),
    ] {
        let files = match language {
            "lua" => Vec::new(),
            _ => vec![InputFile { path: name.into(), contents: b"x".to_vec() }],
        };
        let ran = session.session.run(plan(Request { files, ..request(language, "0") }), &mut ()).await;
        let Err(SessionError::Refused(refusal)) = ran else { panic!("{language}: {ran:?}") };
        let message = format!("`{name}` cannot be put into the session's workspace: {reason}");
        assert!(refusal.to_string().contains(&message), "{refusal}");
    }
    let large = InputFile { path: "large".into(), contents: vec![b'x'; 2 << 20] };
    let outcome = session.run(Request { files: vec![large], ..request("python", "0") }).await;
    assert_eq!(outcome.status, Status::LimitExceeded(LimitKind::Disk));
    assert_eq!(session.printed("python", "print(os.listdir('data'))").await, "[]\n");
}
