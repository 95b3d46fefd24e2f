//! Packages as a single file, for workers, which cannot open any.

use std::path::Path;
use std::time::Duration;

use sandbox::{EngineError, Principal};

use crate::error::WasmError;
use crate::protocol::{Collecting, Dialect, End, Job, JobFile, JobLimits, Work};
use crate::snapshot::pack_files;
use crate::{WORKSPACE, WasmEngine, has_extension};

/// Where Python looks for packages, and Node.
const SITE: &str = "lib/site-packages";
const MODULES: &str = "node_modules";

/// Sources that are compiled in one go.
const BATCH: usize = 4 << 20;
/// How long that may take.
const COMPILING: Duration = Duration::from_mins(2);

/// Compiles what it reads and writes the results: names and bytes, each preceded by its length. Nothing is executed. A
/// source that does not compile stays as it is: nobody can import it anyway.
const COMPILE: &str = "\
import importlib.util, marshal, struct
from importlib._bootstrap_external import _code_to_hash_pyc
source = open('/box/sources', 'rb')
compiled = open('/box/compiled', 'wb')
def take():
    head = source.read(4)
    return source.read(struct.unpack('<I', head)[0]) if head else None
def put(part):
    compiled.write(struct.pack('<I', len(part)) + part)
while (name := take()) is not None:
    text = take()
    path = '/lib/site-packages/' + name.decode()
    try:
        code = compile(text, path, 'exec', dont_inherit=True)
    except Exception:
        continue
    pyc = _code_to_hash_pyc(code, importlib.util.source_hash(text), False)
    put(importlib.util.cache_from_source(name.decode()).encode())
    put(bytes(pyc))
compiled.close()
";

/// Many packages import `ctypes` to ask for the size of a number.
const CTYPES: &str = include_str!("ctypes.py");

/// A folder of JavaScript packages.
pub fn pack_modules(folder: &Path) -> Result<Vec<u8>, WasmError> {
    let files = files_of(folder, MODULES, |_| true)?;
    pack_files(&files)
}

impl WasmEngine {
    /// The version of Python that it has.
    pub fn python_version(&self) -> Option<String> {
        let index = self.shared.pool.index_of("python")?;
        Some(self.shared.pool.version_of(index).to_owned())
    }

    /// Whether NumPy is part of it.
    pub fn has_numpy(&self) -> bool {
        self.shared.pool.index_of("numpy").is_some()
    }

    /// The version of NumPy that is part of it, if one is. Asked once.
    pub async fn numpy_version(&self) -> Result<Option<String>, EngineError> {
        let Some(index) = self.shared.pool.index_of("numpy") else { return Ok(None) };
        let version = self.numpy_version.get_or_try_init(|| async {
            let code = "import numpy\nopen('/box/version', 'w').write(numpy.__version__)";
            let version = self.run_own(index, code, "version", Vec::new()).await?;
            Ok::<_, WasmError>(String::from_utf8_lossy(&version).into_owned())
        });
        version.await.cloned().map(Some).map_err(EngineError::new)
    }

    /// Packs a folder of Python packages, compiled for the Python of this engine, without machine code for the host.
    pub async fn pack_python(&self, folder: &Path) -> Result<Vec<u8>, EngineError> {
        self.compile_and_pack(folder).await.map_err(EngineError::new)
    }

    async fn compile_and_pack(&self, folder: &Path) -> Result<Vec<u8>, WasmError> {
        let ctypes = format!("{SITE}/_ctypes.py");
        let is_wanted = |name: &str| !name.contains("__pycache__/") && !has_extension(name, "so") && name != ctypes;
        let mut files = files_of(folder, SITE, is_wanted)?;
        files.push((ctypes.clone(), CTYPES.as_bytes().to_vec()));
        let mut batches = Vec::new();
        let mut batch = Vec::new();
        for (path, text) in files.iter().filter(|(path, _)| has_extension(path, "py") && !is_test(path)) {
            let name = path.strip_prefix(SITE).and_then(|name| name.strip_prefix('/')).unwrap_or(path);
            for part in [name.as_bytes(), text] {
                batch.extend(u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
                batch.extend(part);
            }
            if batch.len() > BATCH {
                batches.push(std::mem::take(&mut batch));
            }
        }
        batches.push(batch);
        for pair in batches.chunks(2) {
            // Two at one time: as many as the smallest machine that makes sense has processors.
            let first = pair.first().map(|batch| self.compile(batch));
            let second = pair.get(1).map(|batch| self.compile(batch));
            let (first, second) = tokio::join!(maybe(first), maybe(second));
            for compiled in [first?, second?].into_iter().flatten() {
                for (name, bytes) in parts(&compiled) {
                    files.push((format!("{SITE}/{name}"), bytes.to_vec()));
                }
            }
        }
        pack_files(&files)
    }

    async fn compile(&self, sources: &[u8]) -> Result<Vec<u8>, WasmError> {
        let index = self.shared.pool.index_of("python").ok_or_else(|| WasmError::NoDriver("python".to_owned()))?;
        let files = vec![JobFile { path: "sources".to_owned(), contents: sources.to_vec() }];
        self.run_own(index, COMPILE, "compiled", files).await
    }

    /// Runs a program of ours in a worker that hosts nobody, and returns the file that it makes.
    async fn run_own(&self, index: usize, code: &str, makes: &str, files: Vec<JobFile>) -> Result<Vec<u8>, WasmError> {
        let worker = self.shared.pool.worker(&Principal::new("packages of belljar")).await?;
        let micros = u64::try_from(COMPILING.as_micros()).unwrap_or(u64::MAX);
        let job = Job {
            id: worker.number(),
            work: Work::Run,
            runtime: u32::try_from(index).unwrap_or(u32::MAX),
            dialect: Dialect::Plain,
            file: format!("{WORKSPACE}/compile.py"),
            code: code.as_bytes().to_vec(),
            stdin: Vec::new(),
            args: Vec::new(),
            env: Vec::new(),
            variables: Vec::new(),
            files,
            layer: None,
            limits: JobLimits { wall_micros: micros, cpu_micros: micros, memory: 1 << 30, disk: 1 << 28, files: 64 },
            collect: Collecting::Contents,
        };
        let finished = worker.run(job, None, &mut ()).await?;
        let made = finished.files.into_iter().find(|file| file.path == makes).and_then(|file| file.contents);
        match (finished.end, made) {
            (End::Exited(0), Some(made)) => Ok(made),
            (end, _) => Err(WasmError::Pack(format!("`{makes}` could not be made: {end:?}"))),
        }
    }
}

async fn maybe<T>(future: Option<impl Future<Output = Result<T, WasmError>>>) -> Result<Option<T>, WasmError> {
    match future {
        Some(future) => future.await.map(Some),
        None => Ok(None),
    }
}

/// Whether a source is one of a package's own tests, which nobody imports.
fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.contains("/test/")
}

/// Names and bytes, as [`COMPILE`] wrote them. They end at the first thing that is wrong.
fn parts(mut bytes: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    let mut take = move || -> Option<&[u8]> {
        let (head, rest) = bytes.split_at_checked(4)?;
        let length = usize::try_from(u32::from_le_bytes(head.try_into().ok()?)).ok()?;
        let (part, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        Some(part)
    };
    std::iter::from_fn(move || {
        let name = std::str::from_utf8(take()?).ok()?;
        Some((name, take()?))
    })
}

/// Every wanted file of a folder, by its path below `prefix`.
fn files_of(
    folder: &Path,
    prefix: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(String, Vec<u8>)>, WasmError> {
    let mut files = Vec::new();
    let mut pending = vec![(folder.to_owned(), prefix.to_owned())];
    while let Some((directory, prefix)) = pending.pop() {
        let failed = |source| WasmError::Io { path: directory.clone(), source };
        for entry in std::fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            // A name that is no text cannot be imported.
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{prefix}/{name}");
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                pending.push((entry.path(), path));
            } else if kind.is_file() && is_wanted(&path) {
                files.push((path, std::fs::read(entry.path()).map_err(failed)?));
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_where_they_make_no_sense() {
        let part = |bytes: &[u8]| [&u32::try_from(bytes.len()).expect("short").to_le_bytes(), bytes].concat();
        let whole = [part(b"a"), part(b"1"), part(b"b"), part(b"")].concat();
        assert_eq!(parts(&whole).collect::<Vec<_>>(), [("a", &b"1"[..]), ("b", b"")]);
        let cut = whole.get(..whole.len() - 1).expect("shorter");
        assert_eq!(parts(cut).count(), 1);
        assert_eq!(parts(&[0xff; 64]).count(), 0);
        assert_eq!(parts(&[part(b"\xff"), part(b"1")].concat()).count(), 0);
    }
}
