//! A WASI preview 1 host of our own: what a WebAssembly guest can call, and everything that it can reach that way.
//!
//! One [`Context`] a run holds its descriptors, its files, its arguments. The file system is an [`Image`] of read-only [`Tree`]s, shared
//! by all runs, and the run's own files in memory, within a [`Quota`]. Clocks, randomness and output are the embedder's [`Host`]. No
//! file, socket or other object of the operating system is behind any of it: this crate has no `unsafe` code, does no I/O and knows no
//! wasm engine. The engine passes the guest's memory as a slice and links the functions through [`for_each_function!`].
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use belljar_wasi::{Context, End, Errno, FileOrigin, Host, Image, Interrupted, OutputStream, Quota, Tree};
//!
//! #[derive(Default)]
//! struct Run { output: Vec<u8> }
//! impl Host for Run {
//!     fn realtime(&self) -> u64 { 0 }
//!     fn monotonic(&self) -> u64 { 0 }
//!     fn cpu_time(&self) -> u64 { 0 }
//!     fn sleep(&mut self, _: Duration) -> Result<(), Interrupted> { Err(Interrupted) }
//!     fn random(&mut self, buffer: &mut [u8]) { buffer.fill(4) }
//!     fn output(&mut self, _: OutputStream, bytes: &[u8]) { self.output.extend_from_slice(bytes) }
//! }
//!
//! // Once: a tree, from a mapped file, and the image.
//! let packed = Tree::pack([("lib/python3.13/os.py", b"import abc".as_slice())])?;
//! let image = Image::new([("/", Tree::open(Arc::new(packed))?)])?;
//!
//! // For each run.
//! let mut context = Context::new(Run::default(), &image, Quota::DEFAULT);
//! context.set_arguments(["python"])?;
//! context.add_input("data/in.csv", b"1,2".to_vec())?;
//!
//! // The guest calls: fd_write(1, [{ pointer: 16, length: 5 }], 1, &count).
//! let mut memory = vec![0; 65_536];
//! memory[0..8].copy_from_slice(&[16, 0, 0, 0, 5, 0, 0, 0]);
//! memory[16..21].copy_from_slice(b"hello");
//! assert_eq!(context.fd_write(&mut memory, 1, 0, 1, 8), Ok(Errno::Success));
//! assert_eq!(context.proc_exit(&mut memory, 3), Err(End::Exit(3)));
//!
//! let (host, workspace) = context.into_workspace();
//! assert_eq!(host.output, b"hello");
//! assert_eq!(workspace.files[0].path, "data/in.csv");
//! assert_eq!(workspace.files[0].origin, FileOrigin::Unchanged);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where WASI leaves a choice
//!
//! | | here | why |
//! |---|---|---|
//! | a pointer out of bounds | `EFAULT` | wasmtime traps; an error is something that a program can report. Alignment is not asked for |
//! | standard streams | file type *unknown* | as wasmtime has it for pipes: neither a terminal to C, which would change buffering, nor a socket to Go |
//! | `..` | stays in `/`; `EPERM` where it leaves another directory that a path is relative to | POSIX for C programs, which resolve everything from `/`; WASI for the rest |
//! | symbolic links | in `/box` and `/tmp`, to anywhere; absolute ones are followed from `/` only | there is nothing outside to reach |
//! | rights | only reading and writing are enforced, and none can be given up | a promise that is not kept is worse than none |
//! | an array of buffers | all of it, not just the first buffer | `writev` without loops in the guest |
//! | one call | moves at most [`MAX_TRANSFER`] bytes | an engine cannot interrupt it |

mod abi;
mod calls;
mod context;
mod descriptors;
mod errno;
mod files;
mod fs;
mod guest;
mod host;
mod image;
mod path;
mod saved;
#[cfg(test)]
mod tests;
mod tree;
mod workspace;

pub use calls::{MAX_RANDOM, MAX_SUBSCRIPTIONS, MAX_TRANSFER};
pub use context::{Context, NulError};
pub use descriptors::MAX_DESCRIPTORS;
pub use errno::Errno;
pub use files::Files;
pub use fs::{Contents, Disk, DiskEntry, FileKind, FileVersion, Quota, Stat, Usage};
pub use host::{End, Host, Interrupted, OutputStream};
pub use image::{Image, MountError};
pub use path::{MAX_NAME, MAX_PATH};
pub use saved::{RestoreError, RestoredDisk, SaveReader, SaveWriter};
pub use tree::{PackError, SharedBytes, Tree, TreeError};
pub use workspace::{FileOrigin, Workspace, WorkspaceFile};
