use std::sync::Arc;

use arbitrary::{Arbitrary, Unstructured};
use belljar_wasi::{Context, FileKind, Image, Quota, Tree};

use crate::host::NoHost;
use crate::{structured, variant};

#[derive(Debug)]
enum Input<'a> {
    /// What comes first is always the same.
    Bytes(&'a [u8]),
    /// A good one, in which bytes are exchanged.
    Edited { files: Vec<(Vec<Name>, &'a [u8])>, edits: Vec<(u16, u8)> },
}

#[derive(Debug)]
enum Name {
    A,
    B,
    Long,
    Accented,
}

impl<'a> Arbitrary<'a> for Input<'a> {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(match variant(u, 2)? {
            0 => Self::Bytes(u.bytes(u.len())?),
            _ => Self::Edited { files: u.arbitrary()?, edits: u.arbitrary()? },
        })
    }
}

impl<'a> Arbitrary<'a> for Name {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(match variant(u, 4)? {
            0 => Self::A,
            1 => Self::B,
            2 => Self::Long,
            _ => Self::Accented,
        })
    }
}

/// Any bytes as a packed tree: refused, or a tree in which everything that is listed is found.
pub fn packed_trees(input: &[u8]) {
    let Some(input) = structured::<Input<'_>>(input) else { return };
    let bytes = match input {
        Input::Bytes(bytes) => [b"belljar tree 01\n", bytes].concat(),
        Input::Edited { files, edits } => {
            let Some(mut bytes) = pack(&files) else { return };
            for (at, byte) in edits {
                let length = bytes.len();
                bytes[usize::from(at) % length] = byte;
            }
            bytes
        }
    };
    let Ok(tree) = Tree::open(Arc::new(bytes)) else { return };
    let Ok(image) = Image::new([("/t", tree.clone()), ("/t", tree.clone()), ("/lib", tree.clone())]) else { return };
    let mut context = Context::new(NoHost, &image, Quota { bytes: 0, entries: 0 });
    let files = walk(&mut context, "/t");
    assert_eq!(files.len(), tree.len() as usize);
    let packed = files.iter().map(|(path, contents)| (path.as_str(), contents.as_slice()));
    let again = Tree::open(Arc::new(Tree::pack(packed).unwrap())).unwrap();
    let image = Image::new([("/t", again)]).unwrap();
    assert_eq!(walk(&mut Context::new(NoHost, &image, Quota { bytes: 0, entries: 0 }), "/t"), files);
}

fn pack(files: &[(Vec<Name>, &[u8])]) -> Option<Vec<u8>> {
    let name = |name: &Name| match name {
        Name::A => "a",
        Name::B => "b",
        Name::Long => "a-longer-name",
        Name::Accented => "\u{e9}",
    };
    let paths: Vec<String> =
        files.iter().map(|(names, _)| names.iter().take(8).map(name).collect::<Vec<_>>().join("/")).collect();
    Tree::pack(paths.iter().map(String::as_str).zip(files.iter().map(|(_, contents)| *contents))).ok()
}

/// Everything below a folder, and what is in it; folders end with a slash. Nothing of it can be changed.
fn walk(context: &mut Context<NoHost>, root: &str) -> Vec<(String, Vec<u8>)> {
    let (mut found, mut pending) = (Vec::new(), vec![String::new()]);
    while let Some(folder) = pending.pop() {
        let mut files = context.files();
        for (name, kind) in files.list(&format!("{root}/{folder}")).unwrap_or_default() {
            let path = format!("{folder}{name}");
            let place = format!("{root}/{path}");
            // Too deep to be named.
            if place.len() > belljar_wasi::MAX_PATH {
                continue;
            }
            assert!(files.write(&place, b"x".as_slice()).is_err() && files.remove_all(&place).is_err(), "{place}");
            if kind == FileKind::Directory {
                found.push((format!("{path}/"), Vec::new()));
                pending.push(format!("{path}/"));
            } else {
                found.push((path, files.read(&place).unwrap()));
            }
        }
    }
    found.sort_unstable();
    found
}
