//! WASI's error numbers, as far as this host gives them.

/// Why a call failed. The values are those of `wasi_snapshot_preview1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[repr(u16)]
pub enum Errno {
    /// It did not fail.
    #[error("success")]
    Success = 0,
    /// The descriptor is not open, or not open for this.
    #[error("bad file descriptor")]
    Badf = 8,
    /// The thing is in use: a root or a mount point.
    #[error("device or resource busy")]
    Busy = 10,
    /// Something of that name is there.
    #[error("file exists")]
    Exist = 20,
    /// A pointer outside the guest's memory.
    #[error("bad address")]
    Fault = 21,
    /// A path that is not UTF-8.
    #[error("illegal byte sequence")]
    Ilseq = 25,
    /// An argument that means nothing.
    #[error("invalid argument")]
    Inval = 28,
    /// It was open in an image that is not there any more; or the file system contradicts itself: a bug of ours, or a tree whose bytes
    /// changed after it was opened.
    #[error("input/output error")]
    Io = 29,
    /// A directory where a file was wanted.
    #[error("is a directory")]
    Isdir = 31,
    /// Too many symbolic links on the way, or one where none may be.
    #[error("too many levels of symbolic links")]
    Loop = 32,
    /// No descriptor is free.
    #[error("too many open files")]
    Mfile = 33,
    /// A path or a name over its limit.
    #[error("file name too long")]
    Nametoolong = 37,
    /// Nothing of that name.
    #[error("no such file or directory")]
    Noent = 44,
    /// The run's quota of bytes or of entries is used up.
    #[error("no space left on device")]
    Nospc = 51,
    /// There is no such function here.
    #[error("function not implemented")]
    Nosys = 52,
    /// A file where a directory was wanted.
    #[error("not a directory")]
    Notdir = 54,
    /// The directory has entries.
    #[error("directory not empty")]
    Notempty = 55,
    /// There are no sockets.
    #[error("not a socket")]
    Notsock = 57,
    /// Not done here.
    #[error("not supported")]
    Notsup = 58,
    /// A number that does not fit its type.
    #[error("value too large")]
    Overflow = 61,
    /// A path that leads out of the directory it is relative to, or a hard link to a directory.
    #[error("operation not permitted")]
    Perm = 63,
    /// Only `/box` and `/tmp` can be written.
    #[error("read-only file system")]
    Rofs = 69,
    /// A stream has no position.
    #[error("illegal seek")]
    Spipe = 70,
    /// A hard link from the read-only part into the writable one.
    #[error("cross-device link")]
    Xdev = 75,
}

impl Errno {
    /// The POSIX name, such as `ENOENT`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "ESUCCESS",
            Self::Badf => "EBADF",
            Self::Busy => "EBUSY",
            Self::Exist => "EEXIST",
            Self::Fault => "EFAULT",
            Self::Ilseq => "EILSEQ",
            Self::Inval => "EINVAL",
            Self::Io => "EIO",
            Self::Isdir => "EISDIR",
            Self::Loop => "ELOOP",
            Self::Mfile => "EMFILE",
            Self::Nametoolong => "ENAMETOOLONG",
            Self::Noent => "ENOENT",
            Self::Nospc => "ENOSPC",
            Self::Nosys => "ENOSYS",
            Self::Notdir => "ENOTDIR",
            Self::Notempty => "ENOTEMPTY",
            Self::Notsock => "ENOTSOCK",
            Self::Notsup => "ENOTSUP",
            Self::Overflow => "EOVERFLOW",
            Self::Perm => "EPERM",
            Self::Rofs => "EROFS",
            Self::Spipe => "ESPIPE",
            Self::Xdev => "EXDEV",
        }
    }
}

impl From<Errno> for u16 {
    fn from(errno: Errno) -> Self {
        errno as Self
    }
}

/// What a WASI function returns to the guest.
impl From<Errno> for u32 {
    fn from(errno: Errno) -> Self {
        Self::from(u16::from(errno))
    }
}
