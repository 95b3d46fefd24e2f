//! Packages in the worker: trees that come with a job, over its runtime's own files.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use belljar_wasi::{Image, Tree};
use memmap2::MmapOptions;
use wasmtime::Result;

use crate::protocol::LayerEntry;
use crate::runtime::{self, Runtime};

/// How many images are kept. Making one takes a look at its index, which for a thousand files is a good part of a short run.
const KEPT: usize = 16;

/// Images that were made, the most recent last. Its caller decides what the layers are; no guest can.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    made: Mutex<Vec<Made>>,
}

#[derive(Debug)]
struct Made {
    runtime: u32,
    layer: String,
    tree: Tree,
    image: Image,
}

impl Layers {
    /// A layer's files by themselves, and with the runtime's in one image. The runtime's own win where both have one.
    pub(crate) fn image(
        &self,
        index: u32,
        runtime: &Runtime,
        entry: &LayerEntry,
        pack: Option<&OwnedFd>,
    ) -> Result<(Tree, Image)> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = made.iter().position(|made| made.runtime == index && made.layer == entry.id) {
            let found = made.remove(place);
            let files = (found.tree.clone(), found.image.clone());
            made.push(found);
            return Ok(files);
        }
        let pack = pack.ok_or_else(|| wasmtime::Error::msg("the packages did not come with the job"))?;
        let tree = map(pack, entry.length)?;
        let image = runtime::image(runtime.tree.iter().cloned().chain([tree.clone()]))?;
        if made.len() >= KEPT {
            made.remove(0);
        }
        let layer = entry.id.clone();
        made.push(Made { runtime: index, layer, tree: tree.clone(), image: image.clone() });
        Ok((tree, image))
    }
}

#[expect(unsafe_code, reason = "packages are mapped, so that all runs share them")]
fn map(pack: &OwnedFd, length: u64) -> Result<Tree> {
    // SAFETY: as for a runtime's files, the server opened it after checking that it is ours and that nobody else can write to it. Files
    // of a layer are never changed: another layer has another name.
    let bytes = unsafe { MmapOptions::new().len(usize::try_from(length)?).map(pack) }?;
    Ok(Tree::open(Arc::new(bytes))?)
}
