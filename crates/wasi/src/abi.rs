//! Names, numbers and layouts of `wasi_snapshot_preview1`.

/// Calls a macro with every function of `wasi_snapshot_preview1`: its name, its parameters with the wasm type of each (`u32` is `i32`,
/// `u64` and `i64` are `i64`) and its result (`u32`, or `()` for `proc_exit`).
///
/// Each is a method of [`Context`](crate::Context) which takes the guest's memory before the parameters, so an embedder links them all
/// with one macro:
///
/// ```
/// # use belljar_wasi::{Context, End, Host};
/// # struct Linker;
/// # impl Linker { fn wrap<T>(&mut self, module: &str, name: &str, function: T) { assert!(module.len() + name.len() > 0); drop(function); } }
/// fn link<H: Host>(linker: &mut Linker) {
///     macro_rules! link {
///         ($($name:ident($($parameter:ident: $type:ty),*) -> $result:ty;)*) => {$(
///             linker.wrap(
///                 "wasi_snapshot_preview1",
///                 stringify!($name),
///                 |context: &mut Context<H>, memory: &mut [u8], $($parameter: $type),*| -> Result<$result, End> {
///                     context.$name(memory, $($parameter),*).map(Into::into)
///                 },
///             );
///         )*};
///     }
///     belljar_wasi::for_each_function!(link);
/// }
/// ```
#[macro_export]
macro_rules! for_each_function {
    ($callback:ident) => {
        $callback! {
            args_get(argv: u32, argv_buf: u32) -> u32;
            args_sizes_get(argc: u32, argv_buf_size: u32) -> u32;
            environ_get(environ: u32, environ_buf: u32) -> u32;
            environ_sizes_get(count: u32, buf_size: u32) -> u32;
            clock_res_get(id: u32, resolution: u32) -> u32;
            clock_time_get(id: u32, precision: u64, time: u32) -> u32;
            fd_advise(fd: u32, offset: u64, len: u64, advice: u32) -> u32;
            fd_allocate(fd: u32, offset: u64, len: u64) -> u32;
            fd_close(fd: u32) -> u32;
            fd_datasync(fd: u32) -> u32;
            fd_fdstat_get(fd: u32, fdstat: u32) -> u32;
            fd_fdstat_set_flags(fd: u32, flags: u32) -> u32;
            fd_fdstat_set_rights(fd: u32, rights_base: u64, rights_inheriting: u64) -> u32;
            fd_filestat_get(fd: u32, filestat: u32) -> u32;
            fd_filestat_set_size(fd: u32, size: u64) -> u32;
            fd_filestat_set_times(fd: u32, atim: u64, mtim: u64, fst_flags: u32) -> u32;
            fd_pread(fd: u32, iovs: u32, iovs_len: u32, offset: u64, nread: u32) -> u32;
            fd_prestat_get(fd: u32, prestat: u32) -> u32;
            fd_prestat_dir_name(fd: u32, path: u32, path_len: u32) -> u32;
            fd_pwrite(fd: u32, iovs: u32, iovs_len: u32, offset: u64, nwritten: u32) -> u32;
            fd_read(fd: u32, iovs: u32, iovs_len: u32, nread: u32) -> u32;
            fd_readdir(fd: u32, buf: u32, buf_len: u32, cookie: u64, bufused: u32) -> u32;
            fd_renumber(fd: u32, to: u32) -> u32;
            fd_seek(fd: u32, offset: i64, whence: u32, newoffset: u32) -> u32;
            fd_sync(fd: u32) -> u32;
            fd_tell(fd: u32, offset: u32) -> u32;
            fd_write(fd: u32, iovs: u32, iovs_len: u32, nwritten: u32) -> u32;
            path_create_directory(fd: u32, path: u32, path_len: u32) -> u32;
            path_filestat_get(fd: u32, flags: u32, path: u32, path_len: u32, filestat: u32) -> u32;
            path_filestat_set_times(fd: u32, flags: u32, path: u32, path_len: u32, atim: u64, mtim: u64, fst_flags: u32) -> u32;
            path_link(old_fd: u32, old_flags: u32, old_path: u32, old_path_len: u32, new_fd: u32, new_path: u32, new_path_len: u32) -> u32;
            path_open(fd: u32, dirflags: u32, path: u32, path_len: u32, oflags: u32, rights_base: u64, rights_inheriting: u64, fdflags: u32, opened: u32) -> u32;
            path_readlink(fd: u32, path: u32, path_len: u32, buf: u32, buf_len: u32, bufused: u32) -> u32;
            path_remove_directory(fd: u32, path: u32, path_len: u32) -> u32;
            path_rename(fd: u32, old_path: u32, old_path_len: u32, new_fd: u32, new_path: u32, new_path_len: u32) -> u32;
            path_symlink(old_path: u32, old_path_len: u32, fd: u32, new_path: u32, new_path_len: u32) -> u32;
            path_unlink_file(fd: u32, path: u32, path_len: u32) -> u32;
            poll_oneoff(subscriptions: u32, events: u32, nsubscriptions: u32, nevents: u32) -> u32;
            proc_exit(code: u32) -> ();
            proc_raise(signal: u32) -> u32;
            random_get(buf: u32, buf_len: u32) -> u32;
            sched_yield() -> u32;
            sock_accept(fd: u32, flags: u32, opened: u32) -> u32;
            sock_recv(fd: u32, ri_data: u32, ri_data_len: u32, ri_flags: u32, datalen: u32, ro_flags: u32) -> u32;
            sock_send(fd: u32, si_data: u32, si_data_len: u32, si_flags: u32, datalen: u32) -> u32;
            sock_shutdown(fd: u32, how: u32) -> u32;
        }
    };
}

/// `clockid`.
pub(crate) mod clock {
    pub(crate) const REALTIME: u32 = 0;
    pub(crate) const MONOTONIC: u32 = 1;
    pub(crate) const PROCESS_CPU: u32 = 2;
    pub(crate) const THREAD_CPU: u32 = 3;
}

/// `fdflags`.
pub(crate) mod fdflags {
    pub(crate) const APPEND: u32 = 1 << 0;
    pub(crate) const ALL: u32 = (1 << 5) - 1;
}

/// `fstflags`.
pub(crate) mod fstflags {
    pub(crate) const ATIM: u32 = 1 << 0;
    pub(crate) const ATIM_NOW: u32 = 1 << 1;
    pub(crate) const MTIM: u32 = 1 << 2;
    pub(crate) const MTIM_NOW: u32 = 1 << 3;
    pub(crate) const ALL: u32 = (1 << 4) - 1;
}

/// `lookupflags`.
pub(crate) mod lookupflags {
    pub(crate) const SYMLINK_FOLLOW: u32 = 1 << 0;
}

/// `oflags`.
pub(crate) mod oflags {
    pub(crate) const CREAT: u32 = 1 << 0;
    pub(crate) const DIRECTORY: u32 = 1 << 1;
    pub(crate) const EXCL: u32 = 1 << 2;
    pub(crate) const TRUNC: u32 = 1 << 3;
    pub(crate) const ALL: u32 = (1 << 4) - 1;
}

/// `rights`. Only `FD_READ` and `FD_WRITE` decide anything here; the rest are what libraries want to see in a
/// descriptor. As in wasmtime, the right to truncate by path is never reported: it invites programs to give it up,
/// which cannot be done.
pub(crate) mod rights {
    pub(crate) const FD_DATASYNC: u64 = 1 << 0;
    pub(crate) const FD_READ: u64 = 1 << 1;
    pub(crate) const FD_SEEK: u64 = 1 << 2;
    pub(crate) const FD_FDSTAT_SET_FLAGS: u64 = 1 << 3;
    pub(crate) const FD_SYNC: u64 = 1 << 4;
    pub(crate) const FD_TELL: u64 = 1 << 5;
    pub(crate) const FD_WRITE: u64 = 1 << 6;
    pub(crate) const FD_ADVISE: u64 = 1 << 7;
    pub(crate) const FD_ALLOCATE: u64 = 1 << 8;
    pub(crate) const PATH_CREATE_DIRECTORY: u64 = 1 << 9;
    pub(crate) const PATH_CREATE_FILE: u64 = 1 << 10;
    pub(crate) const PATH_LINK_SOURCE: u64 = 1 << 11;
    pub(crate) const PATH_LINK_TARGET: u64 = 1 << 12;
    pub(crate) const PATH_OPEN: u64 = 1 << 13;
    pub(crate) const FD_READDIR: u64 = 1 << 14;
    pub(crate) const PATH_READLINK: u64 = 1 << 15;
    pub(crate) const PATH_RENAME_SOURCE: u64 = 1 << 16;
    pub(crate) const PATH_RENAME_TARGET: u64 = 1 << 17;
    pub(crate) const PATH_FILESTAT_GET: u64 = 1 << 18;
    pub(crate) const PATH_FILESTAT_SET_TIMES: u64 = 1 << 20;
    pub(crate) const FD_FILESTAT_GET: u64 = 1 << 21;
    pub(crate) const FD_FILESTAT_SET_SIZE: u64 = 1 << 22;
    pub(crate) const FD_FILESTAT_SET_TIMES: u64 = 1 << 23;
    pub(crate) const PATH_SYMLINK: u64 = 1 << 24;
    pub(crate) const PATH_REMOVE_DIRECTORY: u64 = 1 << 25;
    pub(crate) const PATH_UNLINK_FILE: u64 = 1 << 26;
    pub(crate) const POLL_FD_READWRITE: u64 = 1 << 27;

    /// A stream, without its direction.
    pub(crate) const STREAM: u64 = FD_FDSTAT_SET_FLAGS | FD_FILESTAT_GET | POLL_FD_READWRITE;
    /// A file, without what its access mode allows.
    pub(crate) const FILE: u64 = STREAM | FD_SEEK | FD_TELL | FD_SYNC | FD_ADVISE | FD_FILESTAT_SET_TIMES;
    /// What writing adds to it.
    pub(crate) const FILE_WRITE: u64 = FD_WRITE | FD_DATASYNC | FD_ALLOCATE | FD_FILESTAT_SET_SIZE;
    /// A directory. No `FD_SEEK`: it has no position.
    pub(crate) const DIRECTORY: u64 = PATH_CREATE_DIRECTORY
        | PATH_CREATE_FILE
        | PATH_LINK_SOURCE
        | PATH_LINK_TARGET
        | PATH_OPEN
        | FD_READDIR
        | PATH_READLINK
        | PATH_RENAME_SOURCE
        | PATH_RENAME_TARGET
        | PATH_FILESTAT_GET
        | PATH_FILESTAT_SET_TIMES
        | FD_FILESTAT_GET
        | FD_FILESTAT_SET_TIMES
        | FD_SYNC
        | PATH_SYMLINK
        | PATH_REMOVE_DIRECTORY
        | PATH_UNLINK_FILE;
    /// What a file opened below a directory can have. wasi-libc asks for no more than this says.
    pub(crate) const INHERITING: u64 = DIRECTORY | FILE | FILE_WRITE | FD_READ;
}

/// `whence`.
pub(crate) mod whence {
    pub(crate) const SET: u32 = 0;
    pub(crate) const CUR: u32 = 1;
    pub(crate) const END: u32 = 2;
}

/// `filetype`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FileType {
    Unknown = 0,
    CharacterDevice = 2,
    Directory = 3,
    RegularFile = 4,
    SymbolicLink = 7,
}

/// `filestat`, 64 bytes. Everything is on one device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileStat {
    pub(crate) number: u64,
    pub(crate) file_type: FileType,
    pub(crate) links: u64,
    pub(crate) size: u64,
    pub(crate) accessed: u64,
    pub(crate) modified: u64,
    pub(crate) changed: u64,
}

impl FileStat {
    pub(crate) fn encode(&self) -> [u8; 64] {
        const DEVICE: u64 = 1;
        encode([
            DEVICE,
            self.number,
            u64::from(self.file_type as u8),
            self.links,
            self.size,
            self.accessed,
            self.modified,
            self.changed,
        ])
    }
}

/// `fdstat`, 24 bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FdStat {
    pub(crate) file_type: FileType,
    pub(crate) flags: u32,
    pub(crate) base: u64,
    pub(crate) inheriting: u64,
}

impl FdStat {
    pub(crate) fn encode(&self) -> [u8; 24] {
        encode([
            u64::from(self.file_type as u8) | u64::from(self.flags & fdflags::ALL) << 16,
            self.base,
            self.inheriting,
        ])
    }
}

/// `dirent`, 24 bytes, which the name follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dirent {
    pub(crate) next: u64,
    pub(crate) number: u64,
    pub(crate) name_length: u32,
    pub(crate) file_type: FileType,
}

impl Dirent {
    pub(crate) fn encode(&self) -> [u8; 24] {
        encode([self.next, self.number, u64::from(self.name_length) | u64::from(self.file_type as u8) << 32])
    }
}

/// `prestat`, 8 bytes: a tag (0 is a directory) and the length of its name.
pub(crate) fn encode_prestat(name_length: u32) -> [u8; 8] {
    encode([u64::from(name_length) << 32])
}

/// All of WASI's structures are whole words of 8 bytes, little-endian; fields that share a word are shifted into it.
pub(crate) fn encode<const WORDS: usize, const BYTES: usize>(words: [u64; WORDS]) -> [u8; BYTES] {
    const { assert!(BYTES == WORDS * 8, "a structure is as long as its words") };
    let mut bytes = [0; BYTES];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}
