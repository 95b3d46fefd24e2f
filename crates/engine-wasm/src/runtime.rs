//! A runtime that is loaded: a compiled snapshot, ready to be instantiated.

use std::fs::File;
use std::sync::{Arc, OnceLock};

use belljar_wasi::{Image, Tree};
use memmap2::Mmap;
use sha2::{Digest as _, Sha256};
use wasmtime::{Engine, Linker, Module, Result};

use crate::artifact;
use crate::driver::{Driver, PROGRAM, Start, driver_for};
use crate::guest::{self, Guest};
use crate::halt::Grounds;
use crate::instances::Instances;
use crate::machine;
use crate::memory::{FirstPage, Memories};
use crate::run::Manner;

/// One runtime.
pub(crate) struct Runtime {
    pub(crate) name: String,
    pub(crate) memories: Arc<Memories>,
    pub(crate) driver: Box<dyn Driver>,
    pub(crate) instances: Instances,
    pub(crate) grounds: Grounds,
    /// Its files, and as they are without packages.
    pub(crate) tree: Option<Tree>,
    pub(crate) image: Image,
    /// Bytes of memory that an instance starts with, and that are not its run's to pay for.
    pub(crate) base_memory: u64,
    /// Whether an instance can run one program after another, and how each is ended.
    pub(crate) cells: Option<Manner>,
    identity: OnceLock<[u8; 32]>,
}

impl Runtime {
    /// Maps a compiled module and its files.
    pub(crate) fn load(name: &str, file: File, tree: Option<File>) -> Result<Self> {
        let driver =
            driver_for(name).ok_or_else(|| wasmtime::Error::msg(format!("there is no driver for `{name}`")))?;
        let (place, mutable) = artifact::find_image(&file)?;
        let first_page = if name == PROGRAM { FirstPage::Forbidden } else { FirstPage::Plain };
        let memories = Arc::new(Memories::new(file.try_clone()?, place, first_page)?);
        let engine = machine::running(Arc::clone(&memories))?;
        let module = map_module(&engine, file)?;
        let pre = linker(&engine, &*driver, &module)?.instantiate_pre(&module)?;
        let base_memory = match driver.start() {
            Start::Once => base_memory(&module)?,
            // Its first memory is what the program itself asks for.
            Start::EachTime => 0,
        };
        let (grounds, cells) = (Grounds::of(&module)?, driver.cells(&module));
        let tree = tree.map(|file| map_tree(&file)).transpose()?;
        let image = image(tree.clone())?;
        let instances = Instances::new(engine, pre, Arc::clone(&memories), mutable);
        let (name, identity) = (name.to_owned(), OnceLock::new());
        Ok(Self { name, memories, driver, instances, grounds, tree, image, base_memory, cells, identity })
    }

    /// What tells this build of it from every other: the memory that its instances start with, and its code.
    pub(crate) fn identity(&self) -> [u8; 32] {
        *self.identity.get_or_init(|| {
            let code = self.instances.module().text();
            Sha256::new().chain_update(self.memories.image()).chain_update(code).finalize().into()
        })
    }

    /// Whether memory is reset page by page.
    pub(crate) fn scans(&self) -> bool {
        self.memories.scans()
    }
}

/// Files as guests see them: trees at the root, the first one's before the others'.
pub(crate) fn image(trees: impl IntoIterator<Item = Tree>) -> Result<Image> {
    Ok(Image::new(trees.into_iter().map(|tree| ("/", tree)))?)
}

/// All imports that a runtime can have. One that no driver knows traps when it is called, and never is.
pub(crate) fn linker(engine: &Engine, driver: &dyn Driver, module: &Module) -> Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    guest::link_wasi(&mut linker)?;
    guest::link_look_up(&mut linker)?;
    driver.link(&mut linker)?;
    linker.define_unknown_imports_as_traps(module)?;
    Ok(linker)
}

/// The memory that an instance starts with.
pub(crate) fn base_memory(module: &Module) -> Result<u64> {
    let memory = module.get_export("memory").and_then(|export| export.memory().map(wasmtime::MemoryType::minimum));
    let pages = memory.ok_or_else(|| wasmtime::Error::msg("the module has no memory"))?;
    Ok(pages << 16)
}

#[expect(unsafe_code, reason = "a compiled module is mapped and run as it is")]
pub(crate) fn map_module(engine: &Engine, file: File) -> Result<Module> {
    // SAFETY: the file has to be what wasmtime made, as it made it, and to stay so; wasmtime itself refuses one of
    // another version or configuration. There are two kinds. A runtime's is a file that the server opened after
    // checking that it is ours and that nobody else can write to it, and only `belljar setup` makes those, by
    // compiling. A compiled program's is a memfd that is sealed against writing, with what a workshop answered: a
    // process that compiles one program and ends, and in which a stranger's code ran only as WebAssembly (the compiler,
    // on that caller's text). A caller who has taken a workshop over can put any machine code here. It runs in this
    // process, which is that caller's alone, holds no other caller's data, and is about to give up every system call
    // that it does not need, behind the same wall as the workshop.
    unsafe { Module::deserialize_open_file(engine, file) }
}

#[expect(unsafe_code, reason = "a runtime's files are mapped, so that all workers share them")]
fn map_tree(file: &File) -> Result<Tree> {
    // SAFETY: as for the module, nobody but this user can change the file. Setting up never changes one: it makes another and renames it.
    let bytes = unsafe { Mmap::map(file) }?;
    Ok(Tree::open(Arc::new(bytes))?)
}
