//! The runtimes of the wasm engine on this machine: where they are kept, and how the engine's part in making them is done.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use engine_native::ToolSearch;
use engine_wasm::{COMPILER, InstalledRuntime};
use setup::{CATALOGUE, Config, Finish, FinishError, PACK, REACTOR, Recipes, Runtime, SNAPSHOT, Setup, TREE};

use crate::Settings;

/// Provisioning below the user's cache folder.
pub fn setup(settings: &Settings) -> Setup {
    let config = Config {
        root: settings.cache.clone(),
        recipes: Recipes::embedded(),
        environment: settings.environment.clone(),
        scratch: settings.recipes,
    };
    Setup::new(config, Box::new(Finisher::default()))
}

/// What the wasm engine can load. What is not usable is left out: `serves` says how to get it, and `doctor` why it is not.
pub fn installed(settings: &Settings) -> Vec<InstalledRuntime> {
    let setup = setup(settings);
    let usable = CATALOGUE.iter().filter_map(|runtime| setup.installed(runtime).ok());
    usable
        .map(|installed| InstalledRuntime {
            name: installed.runtime.name.to_owned(),
            version: installed.version().to_owned(),
            module: installed.module.clone(),
            tree: installed.pack.clone(),
        })
        .collect()
}

/// Where tools are looked for: also where belljar keeps those that it gets itself, of which Deno runs programs.
pub fn with_own_tools(settings: &Settings) -> ToolSearch {
    let own = setup::tool("deno").and_then(|deno| setup(settings).tool_home(deno));
    ToolSearch { own: own.into_iter().collect(), ..settings.tools.clone() }
}

/// The engine's part.
#[derive(Debug, Default)]
struct Finisher {
    machine_key: OnceLock<String>,
    /// A snapshot that had to be compiled to make its own files, and what came of it.
    compiled: Mutex<Option<(Vec<u8>, Vec<u8>)>>,
}

/// Raised when snapshots that were made before are of no use any more: another pack format, another start by a driver.
const SNAPSHOT_FORMAT: &str = "2";

impl Finish for Finisher {
    fn snapshot_key(&self) -> String {
        SNAPSHOT_FORMAT.to_owned()
    }

    fn machine_key(&self) -> String {
        // A machine without one compiles for nobody: `compile` fails and says why.
        self.machine_key.get_or_init(|| engine_wasm::machine_key().unwrap_or_default()).clone()
    }

    fn snapshot(
        &self,
        runtime: &Runtime,
        built: &Path,
        into: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), FinishError> {
        let reactor = fs::read(built.join(REACTOR))?;
        let tree = built.join(TREE);
        let pack = if fs::symlink_metadata(&tree).is_ok() {
            progress("packing its files");
            let pack = engine_wasm::pack(&tree, Vec::new())?;
            fs::write(into.join(PACK), &pack)?;
            Some(pack)
        } else {
            None
        };
        progress("starting it and taking a snapshot");
        let snapshot = engine_wasm::snapshot(runtime.name, &reactor, pack)?;
        fs::write(into.join(SNAPSHOT), &snapshot)?;
        if runtime.name == COMPILER {
            progress("compiling it for this machine, and with it the headers of C++");
            let code = engine_wasm::compile(runtime.name, &snapshot)?;
            let module = into.join("module.cwasm");
            write_sparse(&module, &code)?;
            let more = engine_wasm::prepare(&module, &into.join(PACK))?;
            fs::write(into.join(PACK), engine_wasm::pack(&tree, more)?)?;
            *self.compiled.lock().unwrap_or_else(PoisonError::into_inner) = Some((snapshot, code));
        }
        Ok(())
    }

    fn compile(
        &self,
        runtime: &Runtime,
        snapshot: &Path,
        module: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), FinishError> {
        let snapshot = fs::read(snapshot)?;
        // It may have been needed already, for its own files.
        let compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner).take();
        let code = if let Some((_, code)) = compiled.filter(|(of, _)| *of == snapshot) {
            code
        } else {
            progress("compiling it for this machine");
            engine_wasm::compile(runtime.name, &snapshot)?
        };
        write_sparse(module, &code)?;
        Ok(())
    }
}

/// Writes a file with holes in it where it is zero: much of an image is.
fn write_sparse(path: &Path, bytes: &[u8]) -> io::Result<()> {
    const BLOCK: usize = 64 << 10;
    let file = File::create_new(path)?;
    file.set_len(bytes.len() as u64)?;
    for (block, offset) in bytes.chunks(BLOCK).zip((0_u64..).step_by(BLOCK)) {
        if block.iter().any(|byte| *byte != 0) {
            file.write_all_at(block, offset)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn zeros_take_no_room() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("module");
        let mut bytes = vec![0; 64 << 20];
        for place in [0, 5 << 20, bytes.len() - 1] {
            bytes[place] = 7;
        }
        bytes.push(1);
        write_sparse(&path, &bytes).expect("written");
        assert!(fs::read(&path).expect("read") == bytes);
        let blocks = fs::metadata(&path).expect("there").blocks();
        assert!(blocks * 512 < 1 << 20, "{blocks} blocks of 512 bytes");
    }
}
