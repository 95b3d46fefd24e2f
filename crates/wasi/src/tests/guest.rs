//! A guest that is nothing but its memory.

use std::sync::Arc;
use std::time::Duration;

use crate::abi::{fdflags, lookupflags, oflags, rights};
use crate::{Context, End, Errno, Host, Image, Interrupted, OutputStream, Quota, Tree};

/// The descriptor of `/`.
pub(super) const ROOT: u32 = 3;
/// Where things are in the guest's memory: results, arrays of buffers, two paths, data.
pub(super) const RESULT: u32 = 0x100;
const VECTORS: u32 = 0x1000;
const PATH: u32 = 0x4000;
const OTHER_PATH: u32 = 0x8000;
pub(super) const DATA: u32 = 0x1_0000;
const MEMORY: usize = 0x20_0000;

pub(super) const CREATE: u32 = oflags::CREAT;
pub(super) const DIRECTORY: u32 = oflags::DIRECTORY;
pub(super) const EXCLUSIVE: u32 = oflags::EXCL;
pub(super) const TRUNCATE: u32 = oflags::TRUNC;
pub(super) const APPEND: u32 = fdflags::APPEND;
pub(super) const READ: u64 = rights::FD_READ;
pub(super) const WRITE: u64 = rights::FD_WRITE;

/// A host whose clocks go on by what is slept.
#[derive(Debug, Default)]
pub(super) struct TestHost {
    pub(super) elapsed: u64,
    /// The run is over when this much has elapsed.
    pub(super) deadline: Option<u64>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) randoms: u32,
}

pub(super) const EPOCH: u64 = 1_700_000_000_000_000_000;

impl Host for TestHost {
    fn realtime(&self) -> u64 {
        EPOCH.saturating_add(self.elapsed)
    }

    fn monotonic(&self) -> u64 {
        self.elapsed
    }

    fn cpu_time(&self) -> u64 {
        self.elapsed / 2
    }

    fn sleep(&mut self, duration: Duration) -> Result<(), Interrupted> {
        self.elapsed = self.elapsed.saturating_add(u64::try_from(duration.as_nanos()).unwrap());
        match self.deadline {
            Some(deadline) if self.elapsed >= deadline => {
                self.elapsed = deadline;
                Err(Interrupted)
            }
            _ => Ok(()),
        }
    }

    fn random(&mut self, buffer: &mut [u8]) {
        assert!(buffer.len() <= crate::MAX_RANDOM as usize);
        self.randoms += 1;
        buffer.fill(0xa5);
    }

    fn output(&mut self, stream: OutputStream, bytes: &[u8]) {
        match stream {
            OutputStream::Stdout => self.stdout.extend_from_slice(bytes),
            OutputStream::Stderr => self.stderr.extend_from_slice(bytes),
        }
    }
}

/// A file's attributes, as the guest reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStat {
    pub(super) number: u64,
    pub(super) file_type: u8,
    pub(super) links: u64,
    pub(super) size: u64,
    pub(super) accessed: u64,
    pub(super) modified: u64,
    pub(super) changed: u64,
}

pub(super) const CHARACTER_DEVICE: u8 = 2;
pub(super) const A_DIRECTORY: u8 = 3;
pub(super) const A_FILE: u8 = 4;
pub(super) const A_LINK: u8 = 7;

pub(super) struct Guest {
    pub(super) context: Context<TestHost>,
    pub(super) memory: Vec<u8>,
}

/// A tree as a run would see it: two files of a library.
pub(super) fn image() -> Image {
    let packed = Tree::pack([("lib/a.py", b"import b".as_slice()), ("lib/b.py", b"x = 1".as_slice())]).unwrap();
    Image::new([("/", Tree::open(Arc::new(packed)).unwrap())]).unwrap()
}

impl Guest {
    pub(super) fn new() -> Self {
        Self::with(Quota::DEFAULT)
    }

    pub(super) fn with(quota: Quota) -> Self {
        Self { context: Context::new(TestHost::default(), &image(), quota), memory: vec![0; MEMORY] }
    }

    /// Makes a call, which must not end the guest.
    pub(super) fn call(
        &mut self,
        call: impl FnOnce(&mut Context<TestHost>, &mut [u8]) -> Result<Errno, End>,
    ) -> Result<(), Errno> {
        let errno = call(&mut self.context, &mut self.memory).expect("the guest goes on");
        if errno == Errno::Success { Ok(()) } else { Err(errno) }
    }

    pub(super) fn put(&mut self, pointer: u32, bytes: &[u8]) {
        let start = pointer as usize;
        self.memory[start..start + bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn get(&self, pointer: u32, length: u32) -> &[u8] {
        &self.memory[pointer as usize..(pointer + length) as usize]
    }

    pub(super) fn get_u32(&self, pointer: u32) -> u32 {
        u32::from_le_bytes(self.get(pointer, 4).try_into().unwrap())
    }

    pub(super) fn get_u64(&self, pointer: u32) -> u64 {
        u64::from_le_bytes(self.get(pointer, 8).try_into().unwrap())
    }

    /// Lays out a path; its pointer and length.
    pub(super) fn path(&mut self, path: &[u8]) -> (u32, u32) {
        self.put(PATH, path);
        (PATH, u32::try_from(path.len()).unwrap())
    }

    fn other_path(&mut self, path: &[u8]) -> (u32, u32) {
        self.put(OTHER_PATH, path);
        (OTHER_PATH, u32::try_from(path.len()).unwrap())
    }

    /// Lays out buffers; the array's pointer and length.
    pub(super) fn vectors(&mut self, buffers: &[(u32, u32)]) -> (u32, u32) {
        for (place, (pointer, length)) in (VECTORS..).step_by(8).zip(buffers) {
            self.put(place, &pointer.to_le_bytes());
            self.put(place + 4, &length.to_le_bytes());
        }
        (VECTORS, u32::try_from(buffers.len()).unwrap())
    }

    /// Opens a path below `/`.
    pub(super) fn open(&mut self, path: &str, oflags: u32, rights: u64) -> Result<u32, Errno> {
        self.open_at(ROOT, path, lookupflags::SYMLINK_FOLLOW, oflags, rights, 0)
    }

    #[expect(clippy::too_many_arguments, reason = "so has the call")]
    pub(super) fn open_at(
        &mut self,
        fd: u32,
        path: &str,
        lookup: u32,
        oflags: u32,
        rights: u64,
        fdflags: u32,
    ) -> Result<u32, Errno> {
        let (path, length) = self.path(path.as_bytes());
        self.call(|context, memory| {
            context.path_open(memory, fd, lookup, path, length, oflags, rights, 0, fdflags, RESULT)
        })?;
        Ok(self.get_u32(RESULT))
    }

    pub(super) fn close(&mut self, fd: u32) -> Result<(), Errno> {
        self.call(|context, memory| context.fd_close(memory, fd))
    }

    pub(super) fn write(&mut self, fd: u32, bytes: &[u8]) -> Result<u32, Errno> {
        self.put(DATA, bytes);
        let (vectors, count) = self.vectors(&[(DATA, u32::try_from(bytes.len()).unwrap())]);
        self.call(|context, memory| context.fd_write(memory, fd, vectors, count, RESULT))?;
        Ok(self.get_u32(RESULT))
    }

    pub(super) fn write_at(&mut self, fd: u32, bytes: &[u8], offset: u64) -> Result<u32, Errno> {
        self.put(DATA, bytes);
        let (vectors, count) = self.vectors(&[(DATA, u32::try_from(bytes.len()).unwrap())]);
        self.call(|context, memory| context.fd_pwrite(memory, fd, vectors, count, offset, RESULT))?;
        Ok(self.get_u32(RESULT))
    }

    pub(super) fn read(&mut self, fd: u32, length: u32) -> Result<Vec<u8>, Errno> {
        let (vectors, count) = self.vectors(&[(DATA, length)]);
        self.call(|context, memory| context.fd_read(memory, fd, vectors, count, RESULT))?;
        Ok(self.get(DATA, self.get_u32(RESULT)).to_vec())
    }

    pub(super) fn read_at(&mut self, fd: u32, length: u32, offset: u64) -> Result<Vec<u8>, Errno> {
        let (vectors, count) = self.vectors(&[(DATA, length)]);
        self.call(|context, memory| context.fd_pread(memory, fd, vectors, count, offset, RESULT))?;
        Ok(self.get(DATA, self.get_u32(RESULT)).to_vec())
    }

    pub(super) fn seek(&mut self, fd: u32, offset: i64, whence: u32) -> Result<u64, Errno> {
        self.call(|context, memory| context.fd_seek(memory, fd, offset, whence, RESULT))?;
        Ok(self.get_u64(RESULT))
    }

    pub(super) fn set_size(&mut self, fd: u32, size: u64) -> Result<(), Errno> {
        self.call(|context, memory| context.fd_filestat_set_size(memory, fd, size))
    }

    pub(super) fn stat_fd(&mut self, fd: u32) -> Result<FileStat, Errno> {
        self.call(|context, memory| context.fd_filestat_get(memory, fd, RESULT))?;
        Ok(self.file_stat())
    }

    pub(super) fn stat(&mut self, path: &str) -> Result<FileStat, Errno> {
        self.stat_at(ROOT, path, lookupflags::SYMLINK_FOLLOW)
    }

    pub(super) fn link_stat(&mut self, path: &str) -> Result<FileStat, Errno> {
        self.stat_at(ROOT, path, 0)
    }

    pub(super) fn stat_at(&mut self, fd: u32, path: &str, lookup: u32) -> Result<FileStat, Errno> {
        let (path, length) = self.path(path.as_bytes());
        self.call(|context, memory| context.path_filestat_get(memory, fd, lookup, path, length, RESULT))?;
        Ok(self.file_stat())
    }

    fn file_stat(&self) -> FileStat {
        FileStat {
            number: self.get_u64(RESULT + 8),
            file_type: self.get(RESULT + 16, 1)[0],
            links: self.get_u64(RESULT + 24),
            size: self.get_u64(RESULT + 32),
            accessed: self.get_u64(RESULT + 40),
            modified: self.get_u64(RESULT + 48),
            changed: self.get_u64(RESULT + 56),
        }
    }

    pub(super) fn make_directory(&mut self, path: &str) -> Result<(), Errno> {
        let (path, length) = self.path(path.as_bytes());
        self.call(|context, memory| context.path_create_directory(memory, ROOT, path, length))
    }

    pub(super) fn remove_directory(&mut self, path: &str) -> Result<(), Errno> {
        let (path, length) = self.path(path.as_bytes());
        self.call(|context, memory| context.path_remove_directory(memory, ROOT, path, length))
    }

    pub(super) fn unlink(&mut self, path: &str) -> Result<(), Errno> {
        let (path, length) = self.path(path.as_bytes());
        self.call(|context, memory| context.path_unlink_file(memory, ROOT, path, length))
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        let (from, from_length) = self.path(from.as_bytes());
        let (to, to_length) = self.other_path(to.as_bytes());
        self.call(|context, memory| context.path_rename(memory, ROOT, from, from_length, ROOT, to, to_length))
    }

    pub(super) fn link(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        let (from, from_length) = self.path(from.as_bytes());
        let (to, to_length) = self.other_path(to.as_bytes());
        self.call(|context, memory| context.path_link(memory, ROOT, 0, from, from_length, ROOT, to, to_length))
    }

    pub(super) fn symlink(&mut self, target: &str, path: &str) -> Result<(), Errno> {
        let (target, target_length) = self.path(target.as_bytes());
        let (path, path_length) = self.other_path(path.as_bytes());
        self.call(|context, memory| context.path_symlink(memory, target, target_length, ROOT, path, path_length))
    }

    pub(super) fn read_link(&mut self, path: &str, length: u32) -> Result<Vec<u8>, Errno> {
        let (path, path_length) = self.path(path.as_bytes());
        self.call(|context, memory| context.path_readlink(memory, ROOT, path, path_length, DATA, length, RESULT))?;
        Ok(self.get(DATA, self.get_u32(RESULT)).to_vec())
    }

    /// Makes a file in one go.
    pub(super) fn save(&mut self, path: &str, bytes: &[u8]) -> Result<(), Errno> {
        let fd = self.open(path, CREATE | TRUNCATE, WRITE)?;
        let written = self.write(fd, bytes);
        self.close(fd)?;
        assert_eq!(written?, u32::try_from(bytes.len()).unwrap());
        Ok(())
    }

    /// Reads a file in one go.
    pub(super) fn load(&mut self, path: &str) -> Result<Vec<u8>, Errno> {
        let fd = self.open(path, 0, READ)?;
        let bytes = self.read(fd, 0x10_0000);
        self.close(fd)?;
        bytes
    }

    /// One call of `fd_readdir`: the names with the cookie after each, and whether the buffer was full.
    pub(super) fn read_directory(&mut self, fd: u32, length: u32, cookie: u64) -> Result<Listing, Errno> {
        self.call(|context, memory| context.fd_readdir(memory, fd, DATA, length, cookie, RESULT))?;
        let used = self.get_u32(RESULT);
        let mut entries = Vec::new();
        let mut at = 0;
        while at + 24 <= used {
            let name_length = self.get_u32(DATA + at + 16);
            if at + 24 + name_length > used {
                break;
            }
            let name = String::from_utf8(self.get(DATA + at + 24, name_length).to_vec()).unwrap();
            let file_type = self.get(DATA + at + 20, 1)[0];
            let (next, number) = (self.get_u64(DATA + at), self.get_u64(DATA + at + 8));
            entries.push(Listed { name, next, number, file_type });
            at += 24 + name_length;
        }
        Ok(Listing { entries, full: used == length })
    }

    /// The names in a directory, without `.` and `..`, in order.
    pub(super) fn names(&mut self, path: &str) -> Result<Vec<String>, Errno> {
        let fd = self.open(path, DIRECTORY, READ)?;
        let listing = self.read_directory(fd, 0x10_0000, 0);
        self.close(fd)?;
        let mut names: Vec<_> = listing?.entries.into_iter().skip(2).map(|entry| entry.name).collect();
        names.sort();
        Ok(names)
    }
}

pub(super) struct Listing {
    pub(super) entries: Vec<Listed>,
    pub(super) full: bool,
}

#[derive(Debug)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) next: u64,
    pub(super) number: u64,
    pub(super) file_type: u8,
}
