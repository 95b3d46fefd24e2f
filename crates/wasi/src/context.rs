//! Everything that belongs to one run.

use std::collections::BTreeMap;

use crate::descriptors::Descriptors;
use crate::files::Files;
use crate::fs::{Contents, Disk, File, FileSystem, InodeId, Node, Quota, Usage};
use crate::path::is_name;
use crate::workspace::Workspace;
use crate::{Errno, Host, Image};

/// One guest's view of the world: descriptors, files, arguments, environment, standard input.
///
/// Made for one run. What a guest gets from [`Context::new`], and all it gets:
///
/// * descriptors 0, 1 and 2: an empty standard input, and the host's [`output`](Host::output);
/// * descriptor 3: the directory `/`, with the image's trees, read-only;
/// * `/box` and `/tmp`: empty, writable, in memory, within the quota;
/// * `/dev`: `null`, `zero`, `random`, `urandom`, `stdin`, `stdout`, `stderr`;
/// * no arguments and no environment;
/// * the host's clocks and randomness.
///
/// There are no sockets, processes, signals or terminals.
///
/// The functions of `wasi_snapshot_preview1` are methods by their WASI names, which take the guest's memory and WASI's parameters. They
/// give the error number that the guest is to get, or the [`End`](crate::End) of the guest. No argument, memory or order of calls makes
/// them panic, and one call takes a bounded time, save for [`Host::sleep`].
#[derive(Debug)]
pub struct Context<H> {
    pub(crate) host: H,
    pub(crate) file_system: FileSystem,
    pub(crate) descriptors: Descriptors,
    pub(crate) stdin: Stdin,
    pub(crate) arguments: Strings,
    pub(crate) environment: Strings,
    pub(crate) lowest: u32,
    /// The files that the embedder put into the workspace, by path, and the inode that each was.
    inputs: BTreeMap<String, u64>,
}

impl<H: Host> Context<H> {
    /// A context as described above. Costs a few allocations, however large the image is.
    pub fn new(host: H, image: &Image, quota: Quota) -> Self {
        let file_system = FileSystem::new(image, quota, host.realtime());
        Self {
            host,
            file_system,
            descriptors: Descriptors::new(),
            stdin: Stdin::default(),
            arguments: Strings::default(),
            environment: Strings::default(),
            lowest: 0,
            inputs: BTreeMap::new(),
        }
    }

    /// The program's arguments, its name first.
    pub fn set_arguments<S: AsRef<str>>(&mut self, arguments: impl IntoIterator<Item = S>) -> Result<(), NulError> {
        self.arguments = Strings::default();
        arguments.into_iter().try_for_each(|argument| self.arguments.push(&[argument.as_ref()]))
    }

    /// The environment, as names and values.
    pub fn set_environment<S: AsRef<str>>(
        &mut self,
        variables: impl IntoIterator<Item = (S, S)>,
    ) -> Result<(), NulError> {
        self.environment = Strings::default();
        let mut variables = variables.into_iter();
        variables.try_for_each(|(name, value)| self.environment.push(&[name.as_ref(), "=", value.as_ref()]))
    }

    /// No call touches the guest's memory below this address: the guest cannot either, and gets [`Errno::Fault`].
    pub fn set_lowest_address(&mut self, lowest: u32) {
        self.lowest = lowest;
    }

    /// What the guest reads from standard input; after it, the end of the file.
    pub fn set_stdin(&mut self, contents: impl Into<Contents>) {
        self.stdin = Stdin { contents: contents.into(), position: 0 };
    }

    /// Puts a file into the workspace, by its plain path there, and makes the directories on the way. It counts against the quota, is
    /// copied only if the guest writes to it, and [`into_workspace`](Self::into_workspace) says whether that happened.
    pub fn add_input(&mut self, path: &str, contents: impl Into<Contents>) -> Result<(), Errno> {
        if !path.split('/').all(is_name) {
            return Err(Errno::Inval);
        }
        let now = self.host.realtime();
        let workspace = Node::Memory(InodeId::WORKSPACE);
        if let Some((directories, _)) = path.rsplit_once('/') {
            self.file_system.make_directories(workspace, directories, now)?;
        }
        let id = self.file_system.put(workspace, path, File::given(contents.into()), now)?;
        let number = self.file_system.number(Node::Memory(id));
        self.inputs.insert(path.to_owned(), number);
        Ok(())
    }

    /// The guest's files, for functions of the host's own.
    pub fn files(&mut self) -> Files<'_> {
        Files::new(&mut self.file_system, &mut self.host)
    }

    /// Whether the guest has anything open that it opened itself.
    pub fn has_open_files(&self) -> bool {
        self.descriptors.has_opened()
    }

    /// How much of the quota is in use.
    pub fn usage(&self) -> Usage {
        self.file_system.usage()
    }

    /// Swaps this context's disk with another. Open descriptors belong to a disk: whoever takes it away brings it back
    /// before the guest goes on.
    pub fn swap_disk(&mut self, disk: &mut Disk) {
        self.file_system.swap_disk(disk);
    }

    /// Puts another image beneath the disk. What the guest has open of a tree that is in both stays open. The rest of the old image, and the
    /// directories where several trees meet, but for `/`, are lost to it ([`Errno::Io`]).
    pub fn set_image(&mut self, image: &Image) {
        let before = self.file_system.set_image(image);
        for node in self.descriptors.nodes_mut() {
            if let Node::Image(entry) = node {
                *entry = image.find_again(*entry, &before);
            }
        }
    }

    /// Closes everything that the guest has open, for a disk that goes on without it. Nothing works after this.
    pub fn close_all(&mut self) {
        for descriptor in self.descriptors.take_all() {
            if let Some(node) = descriptor.node() {
                self.file_system.release(node);
            }
        }
    }

    /// A copy of the guest, for another host: what it has open and what it was given, but not its disk.
    #[must_use]
    pub fn fork(&self, host: H, image: &Image) -> Self {
        let mut fork = Self::new(host, image, Quota { bytes: 0, entries: 0 });
        fork.descriptors = self.descriptors.clone();
        fork.arguments = self.arguments.clone();
        fork.environment = self.environment.clone();
        fork.lowest = self.lowest;
        fork
    }

    /// The host.
    pub fn host(&self) -> &H {
        &self.host
    }

    /// The host.
    pub fn host_mut(&mut self) -> &mut H {
        &mut self.host
    }

    /// Ends the run. Returns the host, and what is in the workspace.
    pub fn into_workspace(self) -> (H, Workspace) {
        (self.host, Workspace::collect(self.file_system, self.inputs))
    }
}

/// Standard input.
#[derive(Debug, Default)]
pub(crate) struct Stdin {
    contents: Contents,
    position: usize,
}

impl Stdin {
    fn rest(&self) -> &[u8] {
        self.contents.as_ref().get(self.position..).unwrap_or_default()
    }

    /// How much is left.
    pub(crate) fn left(&self) -> usize {
        self.rest().len()
    }

    pub(crate) fn read(&mut self, target: &mut [u8]) -> usize {
        let count = self.left().min(target.len());
        let (target, _) = target.split_at_mut(count);
        let (bytes, _) = self.rest().split_at(count);
        target.copy_from_slice(bytes);
        self.position += count;
        count
    }
}

/// A string with a NUL in it, which C cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a string for the guest contains NUL")]
pub struct NulError;

/// Strings as WASI hands them out: one after the other, each with a NUL at its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Strings {
    bytes: Vec<u8>,
    count: u32,
}

impl Strings {
    fn push(&mut self, parts: &[&str]) -> Result<(), NulError> {
        for part in parts {
            if part.contains('\0') {
                return Err(NulError);
            }
            self.bytes.extend_from_slice(part.as_bytes());
        }
        self.bytes.push(0);
        self.count += 1;
        Ok(())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Where each string starts.
    pub(crate) fn starts(&self) -> impl Iterator<Item = usize> {
        let strings = self.bytes.split_inclusive(|byte| *byte == 0);
        strings.scan(0, |start, string| {
            let this = *start;
            *start += string.len();
            Some(this)
        })
    }
}
