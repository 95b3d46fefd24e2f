//! The memory of instances: a private mapping of the snapshot's image, reused once every page that a run wrote is
//! restored.
//!
//! wasmtime's own pool does the same, with one difference that costs most of a run: its reset restores the first 32
//! dirty regions and unmaps the rest. An interpreter writes to some two hundred scattered pages, and each of those
//! would be a page fault or two in the next run. Here all of them are copied back, and the next run finds them mapped.
//!
//! Most of the crate's `unsafe` is here; the rest is in [`halt`](crate::halt) and where files are mapped.
#![expect(
    unsafe_code,
    reason = "wasmtime takes memory as a pointer, and resetting it means writing where a guest has written"
)]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, PoisonError};

use memmap2::Mmap;
use rustix::ioctl::{self, Updater, opcode};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use crate::artifact::ImagePlace;

/// Memory that a run wrote and that stays with its slot, for the next run to find. A run that wrote more gives it all back.
const KEEP_RESIDENT: usize = 4 << 20;

/// How many free slots are kept while there are runs: nearly always as many as there can be at one time.
pub(crate) const KEEP_SLOTS: usize = 64;

/// Unmapped space in front of a memory, as wasmtime has it for its own: the first thing that a bug in bounds checks
/// would hit.
const FRONT_GUARD: usize = 1 << 20;

/// Where the memory of a runtime's instances comes from.
#[derive(Debug)]
pub(crate) struct Memories {
    file: File,
    place: ImagePlace,
    /// The image, read-only. A multiple of the page size long.
    image: Mmap,
    first_page: FirstPage,
    pagemap: Option<File>,
    free: Mutex<Vec<Slot>>,
}

/// What the first bytes of a memory are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstPage {
    /// Memory like all of it.
    Plain,
    /// No correct program uses it: null pointers point there, and a stack that overflows runs into it. Using it traps.
    Forbidden,
}

/// The size of the forbidden page: the smallest page that machines have.
const FORBIDDEN: u32 = 4096;

/// A reserved part of the address space: guard, memory, guard.
#[derive(Debug)]
struct Slot {
    start: NonNull<c_void>,
    length: usize,
    /// How much of the memory can be accessed.
    accessible: usize,
}

// SAFETY: a slot is the only owner of its reservation, and nothing about a mapping depends on the thread.
unsafe impl Send for Slot {}
// SAFETY: nothing is done to a slot through a shared reference but reading these fields.
unsafe impl Sync for Slot {}

/// The memory of one instance.
struct InstanceMemory {
    /// Taken when this is dropped.
    slot: Option<Slot>,
    base: *mut u8,
    size: usize,
    minimum: usize,
    capacity: usize,
    memories: Arc<Memories>,
}

// SAFETY: the pointer is into the slot, which this owns.
unsafe impl Send for InstanceMemory {}
// SAFETY: as above; wasmtime orders accesses to the memory itself.
unsafe impl Sync for InstanceMemory {}

/// What [`MemoryCreator`] is implemented for.
#[derive(Debug)]
pub(crate) struct Creator(pub(crate) Arc<Memories>);

impl Memories {
    /// Instances start with the image that is at `place` in `file`.
    pub(crate) fn new(file: File, place: ImagePlace, first_page: FirstPage) -> io::Result<Self> {
        // SAFETY: nobody but this user can change the file (see `runtime::map_module`), and setting up never changes one that is there.
        let image = unsafe { memmap2::MmapOptions::new().offset(place.offset).len(place.length).map(&file)? };
        // Missing on hosts that mask /proc, and of no use before Linux 6.7; then everything is mapped anew for every
        // run.
        let works = |file: &File| scan(file, 0..0, &mut [Region::default()]).is_ok();
        let pagemap = File::open("/proc/self/pagemap").ok().filter(works);
        Ok(Self { file, place, image, first_page, pagemap, free: Mutex::default() })
    }

    /// Gives up all but `keep` of the free slots: nobody has wanted them for a while.
    pub(crate) fn rest(&self, keep: usize) {
        let given_up = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = free.len().min(keep);
            free.split_off(kept)
        };
        drop(given_up);
    }

    /// The lowest address that can be used.
    pub(crate) fn lowest_address(&self) -> u32 {
        match self.first_page {
            FirstPage::Plain => 0,
            FirstPage::Forbidden => FORBIDDEN,
        }
    }

    /// Whether pages that were written to can be found.
    pub(crate) fn scans(&self) -> bool {
        self.pagemap.is_some()
    }

    /// The parts of an instance's memory, which starts at `base` and is `size` long, that may differ from a new one's.
    /// Whole pages, in order.
    pub(crate) fn written(&self, base: *const u8, size: usize) -> io::Result<Vec<Range<usize>>> {
        let Some(pagemap) = &self.pagemap else {
            let whole = 0..size;
            return Ok(vec![whole]);
        };
        let mut regions = [Region::default(); 128];
        let (base, end) = (base.addr() as u64, (base.addr() + size) as u64);
        let (mut from, mut written) = (base, Vec::<Range<usize>>::new());
        while from < end {
            let (found, next) = scan(pagemap, from..end, &mut regions)?;
            for region in regions.get(..found).unwrap_or_default() {
                let place = |address: u64| usize::try_from(address.clamp(base, end) - base).unwrap_or(usize::MAX);
                let (start, end) = (place(region.start), place(region.end));
                match written.last_mut() {
                    Some(last) if last.end == start => last.end = end,
                    _ => written.push(start..end),
                }
            }
            from = next;
        }
        Ok(written)
    }

    /// Restores an instance's memory to what it was when new, at the same size. An error if so much was written that
    /// the memory is better given back.
    pub(crate) fn put_back(&self, memory: &mut [u8]) -> io::Result<()> {
        let written = self.written(memory.as_ptr(), memory.len())?;
        if written.iter().map(Range::len).sum::<usize>() > KEEP_RESIDENT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        for range in written {
            self.restore(range.start, memory.get_mut(range).unwrap_or_default());
        }
        Ok(())
    }

    /// Restores the part of a memory that starts at `offset`.
    fn restore(&self, offset: usize, part: &mut [u8]) {
        let (before, rest) = part.split_at_mut(self.place.address.saturating_sub(offset).min(part.len()));
        let source = self.image.get(offset.saturating_sub(self.place.address)..).unwrap_or_default();
        let (in_image, behind) = rest.split_at_mut(source.len().min(rest.len()));
        before.fill(0);
        in_image.copy_from_slice(source.get(..in_image.len()).unwrap_or_default());
        behind.fill(0);
    }

    /// The image, for whoever has to know which one it is.
    pub(crate) fn image(&self) -> &[u8] {
        &self.image
    }

    /// What a new memory of this size is to hold. Besides a module's own, which has room for the image, wasmtime makes one for what
    /// exceptions carry, which starts empty.
    fn contents(&self, minimum: usize) -> Contents {
        if minimum >= self.place.address + self.image.len() { Contents::Image } else { Contents::Zeros }
    }

    fn slot(&self, length: usize, minimum: usize) -> io::Result<Slot> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(slot) = free.filter(|slot| slot.length == length && slot.accessible == minimum) {
            return Ok(slot);
        }
        let mut slot = Slot::reserve(length)?;
        slot.map_fresh(self, minimum)?;
        Ok(slot)
    }

    /// Resets a slot to what a new one is and keeps it, or gives it up.
    fn take_back(&self, mut slot: Slot, minimum: usize) {
        if self.contents(minimum) == Contents::Zeros {
            return;
        }
        let reset = match &self.pagemap {
            Some(pagemap) => slot.reset(self, pagemap, minimum),
            None => slot.map_fresh(self, minimum),
        };
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if reset.is_ok() && free.len() < KEEP_SLOTS {
            free.push(slot);
        }
    }
}

/// Gives back to the system what this process has freed: a session's files were in many pieces, each too small to be
/// given back by itself.
pub(crate) fn give_back() {
    // SAFETY: it takes no pointer, and changes nothing that is in use.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0)
    };
}

/// What a memory starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contents {
    Image,
    Zeros,
}

impl Slot {
    /// Address space, none of it accessible.
    fn reserve(length: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping, at a place that the kernel chooses.
        let start = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), length, ProtFlags::empty(), flags)? };
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length, accessible: 0 })
    }

    fn base(&self) -> *mut u8 {
        self.start.as_ptr().cast::<u8>().wrapping_add(FRONT_GUARD)
    }

    /// The image where it belongs and nothing behind it, whatever was there before.
    fn map_fresh(&mut self, memories: &Memories, minimum: usize) -> io::Result<()> {
        let (address, length) = (memories.place.address, memories.image.len());
        self.forbid(0)?;
        self.allow(address)?;
        if length > 0 {
            // SAFETY: within this slot's own reservation, which nothing else has a pointer into: its instance is gone, or not there yet.
            unsafe {
                let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
                let protection = ProtFlags::READ | ProtFlags::WRITE;
                let place = self.base().wrapping_add(address).cast();
                rustix::mm::mmap(place, length, protection, flags, &memories.file, memories.place.offset)
            }?;
            self.accessible = address + length;
        }
        self.allow(minimum)?;
        self.forbid_first_page(memories, minimum)
    }

    /// Replaces the first page by an empty one that nobody can touch. Merely making it inaccessible would keep what a
    /// run has written there (see `halt::fault`): a scan would find that, and restoring it would fault in the host.
    fn forbid_first_page(&mut self, memories: &Memories, minimum: usize) -> io::Result<()> {
        let lowest = memories.lowest_address() as usize;
        if lowest > 0 && minimum >= lowest {
            let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
            // SAFETY: within this slot's own reservation. The host's calls, which have this memory as a slice, touch
            // nothing below the lowest address (see `Guest::new`); wasmtime's own functions that fill and copy do,
            // which `halt` handles.
            unsafe { rustix::mm::mmap_anonymous(self.base().cast(), lowest, ProtFlags::empty(), flags) }?;
        }
        Ok(())
    }

    /// Makes everything beyond `size` inaccessible, and discards what was in it.
    fn forbid(&mut self, size: usize) -> io::Result<()> {
        if self.accessible > size {
            // SAFETY: within this slot's own reservation, which nothing else has a pointer into.
            unsafe {
                let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
                let beyond = self.base().wrapping_add(size).cast();
                rustix::mm::mmap_anonymous(beyond, self.accessible - size, ProtFlags::empty(), flags)
            }?;
            self.accessible = size;
        }
        Ok(())
    }

    /// Makes memory accessible up to `size`. What is new is zero.
    fn allow(&mut self, size: usize) -> io::Result<()> {
        if size > self.accessible {
            let new = self.base().wrapping_add(self.accessible);
            // SAFETY: within this slot's own reservation, up to the capacity that it was made for.
            unsafe {
                let flags = MprotectFlags::READ | MprotectFlags::WRITE;
                rustix::mm::mprotect(new.cast(), size - self.accessible, flags)
            }?;
            self.accessible = size;
        }
        Ok(())
    }

    /// Copies back every page that was written to.
    fn reset(&mut self, memories: &Memories, pagemap: &File, minimum: usize) -> io::Result<()> {
        self.forbid(minimum)?;
        let mut regions = [Region::default(); 128];
        let (base, end) = (self.base().addr() as u64, self.base().addr() as u64 + minimum as u64);
        let (mut from, mut written) = (base, 0);
        while from < end {
            let (found, next) = scan(pagemap, from..end, &mut regions)?;
            for region in regions.get(..found).unwrap_or_default() {
                written += usize::try_from(region.end - region.start).unwrap_or(usize::MAX);
                if written > KEEP_RESIDENT {
                    return self.map_fresh(memories, minimum);
                }
                self.restore(
                    memories,
                    usize::try_from(region.start - base).unwrap_or(usize::MAX),
                    region.end - region.start,
                );
            }
            from = next;
        }
        self.forbid_first_page(memories, minimum)
    }

    fn restore(&mut self, memories: &Memories, offset: usize, length: u64) {
        let length = usize::try_from(length).unwrap_or(0).min(self.accessible.saturating_sub(offset));
        // SAFETY: within the accessible part of this slot, which nothing else has a pointer into.
        let part = unsafe { std::slice::from_raw_parts_mut(self.base().wrapping_add(offset), length) };
        memories.restore(offset, part);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // SAFETY: this slot's own reservation, which nothing has a pointer into any more.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr(), self.length) };
        debug_assert!(unmapped.is_ok(), "a reservation of our own");
    }
}

// SAFETY: every memory is a slot of its own, with the reservation and the guard that wasmtime asks for behind it, unmapped but for what
// the memory's size allows. It is not zero: it is the image that belongs to the engine's only module, which has no data of its own.
unsafe impl MemoryCreator for Creator {
    fn new_memory(
        &self,
        _: MemoryType,
        minimum: usize,
        _: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let capacity = reserved.ok_or("a memory that may move")?;
        let length = FRONT_GUARD + capacity + guard;
        let slot = match self.0.contents(minimum) {
            Contents::Image => self.0.slot(length, minimum),
            Contents::Zeros => Slot::reserve(length).and_then(|mut slot| slot.allow(minimum).map(|()| slot)),
        };
        let slot = slot.map_err(|error| format!("no memory for an instance: {error}"))?;
        let memory = InstanceMemory {
            base: slot.base(),
            slot: Some(slot),
            size: minimum,
            minimum,
            capacity,
            memories: Arc::clone(&self.0),
        };
        Ok(Box::new(memory))
    }
}

// SAFETY: the base is page-aligned and never moves, sizes are multiples of wasm's pages, and guards are as the creator says.
unsafe impl LinearMemory for InstanceMemory {
    fn byte_size(&self) -> usize {
        self.size
    }

    fn byte_capacity(&self) -> usize {
        self.capacity
    }

    fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
        if new_size > self.capacity {
            return Err(wasmtime::Error::msg("beyond what 32 bits reach"));
        }
        if let Some(slot) = &mut self.slot {
            slot.allow(new_size)?;
        }
        self.size = new_size;
        Ok(())
    }

    fn as_ptr(&self) -> *mut u8 {
        self.base
    }
}

impl Drop for InstanceMemory {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.memories.take_back(slot, self.minimum);
        }
    }
}

/// What the kernel says of consecutive pages.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// The kernel's `pm_scan_arg`.
#[repr(C)]
#[derive(Debug)]
struct ScanArguments {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// Finds pages that are not the image's or the zero page: those that were written to, in memory or swapped out. Returns how many regions
/// there are, and from where to go on.
fn scan(pagemap: &File, range: Range<u64>, regions: &mut [Region]) -> io::Result<(usize, u64)> {
    const FILE: u64 = 1 << 2;
    const PRESENT: u64 = 1 << 3;
    const SWAPPED: u64 = 1 << 4;
    const PFNZERO: u64 = 1 << 5;
    const PAGEMAP_SCAN: ioctl::Opcode = opcode::read_write::<ScanArguments>(b'f', 16);
    let mut arguments = ScanArguments {
        size: size_of::<ScanArguments>() as u64,
        flags: 0,
        start: range.start,
        end: range.end,
        walk_end: 0,
        vec: regions.as_mut_ptr().addr() as u64,
        vec_len: regions.len() as u64,
        max_pages: 0,
        category_inverted: FILE | PFNZERO,
        category_mask: FILE | PFNZERO,
        category_anyof_mask: PRESENT | SWAPPED,
        return_mask: 0,
    };
    // SAFETY: the operation takes a pointer to such arguments.
    let update = unsafe { Updater::<PAGEMAP_SCAN, _>::new(&mut arguments) };
    // SAFETY: it writes to the arguments and to the regions that they point to, both alive here.
    let count = unsafe { ioctl::ioctl(pagemap, CountingUpdater(update)) }?;
    Ok((count.min(regions.len()), arguments.walk_end.max(range.start + 1)))
}

/// An update whose return value counts.
struct CountingUpdater<'a>(Updater<'a, { opcode::read_write::<ScanArguments>(b'f', 16) }, ScanArguments>);

// SAFETY: the same operation as the inner one's; the return value is a plain number.
unsafe impl ioctl::Ioctl for CountingUpdater<'_> {
    type Output = usize;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> ioctl::Opcode {
        self.0.opcode()
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.0.as_ptr()
    }

    unsafe fn output_from_ptr(out: ioctl::IoctlOutput, _: *mut c_void) -> rustix::io::Result<usize> {
        Ok(usize::try_from(out).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests;
