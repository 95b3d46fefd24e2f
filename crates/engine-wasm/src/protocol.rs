//! What server and worker say to each other: one postcard value a packet, over two seqpacket sockets.
//!
//! On *jobs* the server sends [`Job`]s. Idle threads of the worker wait there, and the kernel hands each job to one of
//! them ([`crate::jobs`]), so the worker needs no dispatcher. Their [`Reply`]s come back on the same socket. On
//! *control*, the worker's standard input, [`Hello`] comes first and then [`Control`]s, which must be heard while all
//! threads are busy. Both ends are the same binary, but the worker hosts guests, so what it says is checked like a
//! guest's word.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use sandbox::{Display, FolderEntry};
use serde::de::{DeserializeOwned, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::guest::{MOST_FILES, MOST_LINKS};

/// The largest packet. Well below what a socket buffers by default; what is larger travels in a memfd, or in parts.
pub(crate) const MAX_PACKET: usize = 64 << 10;
/// The most descriptors beside one packet, the kernel's own limit being 253.
const MAX_DESCRIPTORS: usize = 64;

/// The first thing a worker hears. Beside it: the jobs socket, then for each runtime its module, and its tree if it has one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// Both ends must be the same build to understand anything else.
    pub(crate) build: String,
    /// How many runs there can be at one time.
    pub(crate) slots: u32,
    pub(crate) runtimes: Vec<RuntimeEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RuntimeEntry {
    pub(crate) name: String,
    pub(crate) tree: TreeEntry,
}

/// Whether a runtime comes with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TreeEntry {
    None,
    /// A descriptor of its own.
    Own,
}

/// The worker's answer on the control socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Greeting {
    /// It is locked down and waits for jobs.
    Ready(Reset),
    /// It cannot work, and ends.
    Failed(String),
}

/// How an instance's memory is made ready for the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reset {
    /// Pages that were written to are found and copied back.
    Scan,
    /// It is mapped anew, and every page is a page fault again: the kernel is older than 6.7, or there is no `/proc`.
    Remap,
}

/// What the server says while runs go on.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Control {
    /// The caller does not want it any more.
    Cancel(RunId),
    /// So much output has been passed on; see [`OUTPUT_WINDOW`].
    Consumed(RunId, u64),
    /// Nobody will use this session any more.
    Close(SessionId),
}

/// A run, as the server numbers them. Never the same twice in a worker's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct RunId(pub(crate) u64);

/// A session, as the server numbers them. Never the same twice in a worker's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct SessionId(pub(crate) u64);

/// How much output of a run may be on its way to whoever reads it, by [`Piece::weight`]. Past that the guest waits, as for a full pipe.
pub(crate) const OUTPUT_WINDOW: u64 = 256 << 10;

/// How a job arrives.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Envelope {
    /// In this packet. A layer's tree may be beside it.
    Inline(Box<Task>),
    /// In the memfd beside it, so many bytes long. A layer's tree may be behind that.
    Beside(u64),
}

/// What a worker is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Task {
    /// In an instance of its own, which goes with it.
    Run(Job),
    /// In a session.
    Cell(SessionId, Job),
    /// For a session. The answer is [`Reply::Answer`], under this number.
    Errand(SessionId, RunId, Errand),
}

/// What a session is asked for beside cells. Paths are relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Errand {
    /// Create it, with these limits on memory and files.
    Open(JobLimits),
    /// Which runtimes it has live instances of.
    Runtimes,
    Write {
        path: String,
        #[serde(with = "serde_bytes")]
        contents: Vec<u8>,
        mode: Writing,
    },
    Read {
        path: String,
        offset: u64,
        limit: u64,
    },
    List {
        folder: Option<String>,
    },
    /// Files in the order of paths, starting behind this one; none when there are no more.
    Files {
        after: Option<String>,
    },
    /// Take over what was done elsewhere to a copy of its files: what was removed (folders after what was in them), and
    /// what was added or changed. All of it or, if something cannot be there, nothing.
    Merge {
        gone: Vec<String>,
        files: Vec<JobFile>,
    },
    /// Make another session with the same in it.
    Fork(SessionId),
    /// Save it into the file that comes along.
    Save,
    /// Become what is in the file that comes along, so many bytes long, with no higher limits than these.
    Restore {
        length: u64,
        most: JobLimits,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Writing {
    Replace,
    Append,
}

/// What came of an [`Errand`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Done,
    /// Indices of runtimes.
    Runtimes(#[serde(deserialize_with = "list::<MOST_RUNTIMES, _, _>")] Vec<u32>),
    Restored {
        #[serde(deserialize_with = "list::<MOST_RUNTIMES, _, _>")]
        runtimes: Vec<u32>,
        /// What the session may have.
        memory: u64,
    },
    Size(u64),
    Part {
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
        size: u64,
    },
    Entries(#[serde(deserialize_with = "list::<MOST_ENTRIES, _, _>")] Vec<ListedEntry>),
}

/// Far more than there are.
const MOST_RUNTIMES: usize = 64;
/// The most files that one answer names. Whoever wants more asks again.
pub(crate) const MOST_ENTRIES: usize = 64 << 10;
const _: () = assert!(FolderEntry::MAX_COUNT < MOST_ENTRIES, "a listing is one answer");

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListedEntry {
    pub(crate) path: String,
    pub(crate) kind: ListedKind,
    pub(crate) size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ListedKind {
    File,
    Folder,
    Other,
}

/// Why an [`Errand`] was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Fault {
    /// Of a file: there is none.
    NotFound,
    IsFolder,
    NotFolder,
    Special,
    Full,
    /// What was asked for cannot be, and why.
    Refused(String),
    /// Something that is ours to mend.
    Failed(String),
}

/// A run, with everything it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: RunId,
    pub(crate) work: Work,
    /// The index of its runtime in [`Hello::runtimes`].
    pub(crate) runtime: u32,
    pub(crate) dialect: Dialect,
    /// The program's path as the guest sees it.
    pub(crate) file: String,
    #[serde(with = "serde_bytes")]
    pub(crate) code: Vec<u8>,
    #[serde(with = "serde_bytes")]
    pub(crate) stdin: Vec<u8>,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    /// Names and JSON texts.
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) files: Vec<JobFile>,
    /// Packages, whose tree comes beside the job.
    pub(crate) layer: Option<LayerEntry>,
    pub(crate) limits: JobLimits,
    pub(crate) collect: Collecting,
}

/// Packages of a job. No two layers have the same id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LayerEntry {
    pub(crate) id: String,
    /// The size of its tree.
    pub(crate) length: u64,
}

/// What a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Work {
    /// A program that runs.
    Run,
    /// A module, [`Job::code`], to be translated to machine code. The answer's only file is what can be loaded.
    Translate,
}

/// What has to be done to a program before its runtime understands it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Dialect {
    Plain,
    /// Types are taken out.
    TypeScript,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobFile {
    /// Relative to the workspace.
    pub(crate) path: String,
    #[serde(with = "serde_bytes")]
    pub(crate) contents: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobLimits {
    pub(crate) wall_micros: u64,
    pub(crate) cpu_micros: u64,
    /// Bytes of memory beyond what the runtime itself has at its start.
    pub(crate) memory: u64,
    /// Bytes in all writable places.
    pub(crate) disk: u64,
    /// Files and directories in all writable places.
    pub(crate) files: u32,
}

/// What to send back of files that were made or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Collecting {
    Sizes,
    Contents,
    /// Contents, and what is [`Gone`].
    Changes,
}

/// What a run was given and has removed, as far as [`Collecting`] asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Gone {
    /// Files, and behind them folders that went with them.
    Paths(#[serde(deserialize_with = "list::<{ Gone::MOST_PATHS }, _, _>")] Vec<String>),
    /// More than can be reported.
    TooMuch,
}

impl Gone {
    /// The most bytes that all paths may take together. With this, a reply that brings everything back is still one
    /// that the server takes.
    const MOST: usize = 16 << 20;
    const MOST_PATHS: usize = 64 << 10;

    pub(crate) fn of<'p>(paths: impl Iterator<Item = &'p str> + Clone) -> Self {
        let size = paths.clone().map(str::len).sum::<usize>();
        if size > Self::MOST || paths.clone().count() > Self::MOST_PATHS {
            Self::TooMuch
        } else {
            Self::Paths(paths.map(str::to_owned).collect())
        }
    }
}

impl Default for Gone {
    fn default() -> Self {
        Self::Paths(Vec::new())
    }
}

/// A piece of a [`Reply`]: all of them in order make its encoding.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Part<'a> {
    pub(crate) run: RunId,
    pub(crate) more: More,
    #[serde(borrow, with = "serde_bytes")]
    pub(crate) bytes: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum More {
    Follows,
    Done,
}

/// What a worker says about a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// Output while it goes on.
    Output(#[serde(deserialize_with = "list::<MOST_PIECES, _, _>")] Vec<Piece>),
    /// Its end, with the output that was not sent yet.
    Finished(Box<Finished>),
    /// Of an errand.
    Answer(Box<Result<Answer, Fault>>),
}

/// The most pieces in one reply. Even if all are of the smallest size, fewer are sent at one time.
const MOST_PIECES: usize = 16 << 10;

/// Consecutive bytes of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Piece {
    pub(crate) stream: OutputStream,
    #[serde(with = "serde_bytes")]
    pub(crate) bytes: Vec<u8>,
}

impl Piece {
    /// What it takes beside its bytes, so that many tiny ones still fit into a packet.
    pub(crate) const OVERHEAD: usize = 8;

    /// What it counts for, on both sides.
    pub(crate) fn weight(&self) -> u64 {
        (self.bytes.len() + Self::OVERHEAD) as u64
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OutputStream {
    Stdout,
    Stderr,
}

/// What is said of a module that is too large for [`Work::Translate`].
pub(crate) const TOO_LARGE: &str = "the program is too large";

/// How a run ended and what is left of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finished {
    pub(crate) end: End,
    #[serde(deserialize_with = "list::<MOST_PIECES, _, _>")]
    pub(crate) output: Vec<Piece>,
    pub(crate) report: Report,
    #[serde(deserialize_with = "list::<MOST_FILES, _, _>")]
    pub(crate) files: Vec<MadeFile>,
    /// Symbolic links, which are not brought back.
    #[serde(deserialize_with = "list::<MOST_LINKS, _, _>")]
    pub(crate) links: Vec<String>,
    pub(crate) gone: Gone,
    pub(crate) wall_micros: u64,
    pub(crate) cpu_micros: u64,
    /// The largest its memory and files were.
    pub(crate) peak_bytes: u64,
    /// Of a cell: why its interpreter is not there any more, if it is not.
    pub(crate) lost: Option<String>,
}

impl Finished {
    /// A run of which nothing is known but its end.
    pub(crate) fn only(end: End) -> Self {
        Self {
            end,
            output: Vec::new(),
            report: Report::default(),
            files: Vec::new(),
            links: Vec::new(),
            gone: Gone::default(),
            wall_micros: 0,
            cpu_micros: 0,
            peak_bytes: 0,
            lost: None,
        }
    }

    /// Cuts it down to what may be reported. Done in the worker, where a guest may have had a say in it; and again in
    /// the server, since the worker had.
    pub(crate) fn bound(&mut self) {
        self.report.bound();
        self.lost.iter_mut().for_each(|why| shorten(why, Report::MAX_WORDS));
        if let End::Trapped { message, .. } = &mut self.end {
            shorten(message, Report::MAX_WORDS);
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum End {
    Exited(u8),
    /// What a native program would have been ended by, and wasmtime's word for it.
    Trapped {
        signal: i32,
        message: String,
    },
    TimedOut,
    Cancelled,
    OverCpu,
    /// It ended because its limit kept memory from it.
    OverMemory,
    /// What it was given does not fit into its session's workspace.
    OverDisk,
    /// This path in its session's workspace cannot have what it was given for it.
    Unplaced {
        path: String,
        fault: Fault,
    },
}

/// What a runtime's driver says about a run beside its output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The last expression's value, as JSON text.
    pub(crate) value_json: Option<String>,
    /// The same as the language prints it.
    pub(crate) value_printed: Option<String>,
    pub(crate) error: Option<ReportedError>,
    /// What the program wanted that WebAssembly does not have.
    pub(crate) unsupported: Option<String>,
    #[serde(deserialize_with = "list::<MOST_SHOWN, _, _>")]
    pub(crate) displays: Vec<Shown>,
}

/// One more than are shown, so that whoever shows them can say so.
const MOST_SHOWN: usize = Display::MAX_COUNT + 1;

/// Something that a program shows: its MIME type and what it is made of, as the guest says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shown {
    pub(crate) mime: String,
    #[serde(with = "serde_bytes")]
    pub(crate) data: Vec<u8>,
}

impl Shown {
    /// The longest name of a kind. Those that are known are shorter.
    pub(crate) const MAX_MIME: usize = 128;
}

impl Report {
    /// The most of a value's JSON text, of its printed form, and of any other text about a run.
    pub(crate) const MAX_JSON: usize = 256 << 10;
    pub(crate) const MAX_PRINTED: usize = 64 << 10;
    pub(crate) const MAX_WORDS: usize = 8 << 10;

    /// Cuts it down to what may be reported.
    pub(crate) fn bound(&mut self) {
        // Half of it would not be JSON.
        self.value_json.take_if(|json| json.len() > Self::MAX_JSON);
        self.value_printed.iter_mut().for_each(|printed| shorten(printed, Self::MAX_PRINTED));
        self.unsupported.iter_mut().for_each(|words| shorten(words, Self::MAX_WORDS));
        if let Some(error) = &mut self.error {
            shorten(&mut error.kind, Self::MAX_WORDS);
            shorten(&mut error.message, Self::MAX_WORDS);
        }
        self.displays.truncate(MOST_SHOWN);
        let mut total = 0;
        self.displays.retain(|shown| {
            total += shown.data.len();
            shown.mime.len() <= Shown::MAX_MIME && total <= Display::MAX_TOTAL
        });
    }

    /// Whether the program's own last words are about memory.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        let error = self.error.as_ref();
        error.is_some_and(|error| error.kind.ends_with("MemoryError") || error.message.contains("out of memory"))
    }
}

/// Leaves not more than `most` bytes of a text, and no half character at its end.
pub(crate) fn shorten(text: &mut String, most: usize) {
    text.truncate(text.floor_char_boundary(most));
    text.shrink_to_fit();
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReportedError {
    pub(crate) kind: String,
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) line: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MadeFile {
    /// Relative to the workspace.
    pub(crate) path: String,
    pub(crate) size: u64,
    #[serde(with = "serde_bytes")]
    pub(crate) contents: Option<Vec<u8>>,
}

/// A pair of connected sockets.
pub(crate) fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

pub(crate) fn encode<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(message).map_err(io::Error::other)
}

pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> io::Result<T> {
    postcard::from_bytes(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// A list from a worker, of at most `MOST` entries: one byte of a packet is enough for an entry that takes a hundred
/// here.
fn list<'de, const MOST: usize, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct List<const MOST: usize, T>(PhantomData<T>);

    impl<'de, const MOST: usize, T: Deserialize<'de>> Visitor<'de> for List<MOST, T> {
        type Value = Vec<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "a list of at most {MOST}")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(entry) = sequence.next_element()? {
                if list.len() >= MOST {
                    return Err(A::Error::invalid_length(list.len() + 1, &self));
                }
                list.push(entry);
            }
            Ok(list)
        }
    }

    deserializer.deserialize_seq(List::<MOST, T>(PhantomData))
}

/// Sends one packet that is encoded already.
pub(crate) fn send_bytes(socket: impl AsFd, packet: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    send_with(socket, packet, descriptors, SendFlags::NOSIGNAL)
}

/// The same, or `WouldBlock` at once.
pub(crate) fn try_send_bytes(socket: impl AsFd, packet: &[u8]) -> io::Result<()> {
    send_with(socket, packet, &[], SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}

fn send_with(socket: impl AsFd, packet: &[u8], descriptors: &[BorrowedFd<'_>], flags: SendFlags) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    rustix::io::retry_on_intr(|| sendmsg(&socket, &[IoSlice::new(packet)], &mut ancillary, flags))?;
    Ok(())
}

pub(crate) fn send<T: Serialize>(socket: impl AsFd, message: &T, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    send_bytes(socket, &encode(message)?, descriptors)
}

/// Receives one packet into `buffer`; `None` when the peer is gone.
pub(crate) fn receive_bytes(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Option<(usize, Vec<OwnedFd>)>> {
    receive_as(socket, buffer, RecvFlags::empty())
}

/// As [`receive_bytes`], but an error if nothing is there.
pub(crate) fn receive_waiting_bytes(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Option<(usize, Vec<OwnedFd>)>> {
    receive_as(socket, buffer, RecvFlags::DONTWAIT)
}

fn receive_as(socket: impl AsFd, buffer: &mut [u8], flags: RecvFlags) -> io::Result<Option<(usize, Vec<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(&socket, &mut [IoSliceMut::new(buffer)], &mut ancillary, flags | RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    Ok((received.bytes > 0).then_some((received.bytes, descriptors)))
}

/// Receives one message; `None` when the peer is gone.
pub(crate) fn receive<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut buffer = vec![0; MAX_PACKET];
    let Some((length, descriptors)) = receive_bytes(socket, &mut buffer)? else { return Ok(None) };
    Ok(Some((decode(buffer.get(..length).unwrap_or_default())?, descriptors)))
}

/// Splits a reply that is too large for one packet.
pub(crate) fn parts(run: RunId, encoded: &[u8]) -> impl Iterator<Item = Part<'_>> {
    /// Room for the part's own fields.
    const PIECE: usize = MAX_PACKET - 64;
    let count = encoded.len().div_ceil(PIECE).max(1);
    (0..count).map(move |index| {
        let rest = encoded.get(index * PIECE..).unwrap_or_default();
        Part {
            run,
            more: if index + 1 == count { More::Done } else { More::Follows },
            bytes: rest.get(..PIECE).unwrap_or(rest),
        }
    })
}

/// Which build this is. A server whose file was replaced while it ran would start a worker of the new one.
pub(crate) fn build() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_its_length() {
        let entry = ListedEntry { path: String::new(), kind: ListedKind::File, size: 0 };
        let of = |count| encode(&Answer::Entries(vec![entry.clone(); count])).expect("encode");
        assert!(decode::<Answer>(&of(MOST_ENTRIES)).is_ok());
        assert!(decode::<Answer>(&of(MOST_ENTRIES + 1)).is_err());
        let piece = Piece { stream: OutputStream::Stdout, bytes: Vec::new() };
        let output = encode(&Reply::Output(vec![piece; MOST_PIECES + 1])).expect("encode");
        assert!(decode::<Reply>(&output).is_err());
    }

    #[test]
    fn a_report_is_bounded() {
        let shown = |mime: &str, size| Shown { mime: mime.to_owned(), data: vec![0; size] };
        let mut report = Report {
            value_json: Some("1".repeat(Report::MAX_JSON + 1)),
            value_printed: Some("€".repeat(Report::MAX_PRINTED)),
            error: Some(ReportedError { kind: "k".repeat(1 << 20), message: "m".repeat(1 << 20), line: None }),
            unsupported: Some("u".repeat(1 << 20)),
            displays: vec![
                shown("text/plain", 1),
                shown(&"x".repeat(1 << 20), 1),
                shown("text/plain", Display::MAX_TOTAL - 2),
                shown("text/plain", 1),
            ],
        };
        report.bound();
        assert_eq!(report.value_json, None);
        assert_eq!(report.value_printed.map(|text| text.len()), Some(Report::MAX_PRINTED - Report::MAX_PRINTED % 3));
        let error = report.error.expect("an error");
        assert_eq!((error.kind.len(), error.message.len()), (Report::MAX_WORDS, Report::MAX_WORDS));
        assert_eq!(report.unsupported.map(|text| text.len()), Some(Report::MAX_WORDS));
        assert_eq!(report.displays.len(), 2);
    }

    #[test]
    fn a_long_reply_comes_in_parts() {
        for length in [0, 1, MAX_PACKET - 64, MAX_PACKET, 5 * MAX_PACKET + 3] {
            let encoded: Vec<u8> = (0..length).map(|index| u8::try_from(index % 251).expect("small")).collect();
            let mut joined = Vec::new();
            let mut last = None;
            for part in parts(RunId(7), &encoded) {
                let packet = encode(&part).expect("encode");
                assert!(packet.len() <= MAX_PACKET, "{length}");
                let part: Part<'_> = decode(&packet).expect("decode");
                joined.extend_from_slice(part.bytes);
                last = Some(part.more);
            }
            assert_eq!(joined, encoded);
            assert_eq!(last, Some(More::Done));
        }
    }
}
