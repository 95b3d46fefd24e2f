//! What a file of the writable part holds.

use std::sync::Arc;

use crate::Errno;

/// The contents of a file, on the way in or out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// Only this run's.
    Owned(Vec<u8>),
    /// Others have it too; it is copied when the guest first writes.
    Shared(Arc<[u8]>),
}

impl Contents {
    /// As a vector: copied if it was shared.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Shared(bytes) => bytes.to_vec(),
        }
    }
}

impl AsRef<[u8]> for Contents {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

impl Default for Contents {
    fn default() -> Self {
        Self::Owned(Vec::new())
    }
}

impl From<Vec<u8>> for Contents {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Owned(bytes)
    }
}

impl From<&[u8]> for Contents {
    fn from(bytes: &[u8]) -> Self {
        Self::Owned(bytes.to_vec())
    }
}

impl From<Arc<[u8]>> for Contents {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self::Shared(bytes)
    }
}

/// Up to this size a file is one piece of memory, which is copied when it grows. So this is the most that a call copies
/// besides what it transfers.
const MAX_PIECE: usize = 1 << 20;
/// Growing it reserves an eighth more than asked, so that appending byte by byte copies each byte a bounded number of times.
const GROWTH: usize = 8;
/// And at least this much from the second write on. A file that is written at once, as most are, has no slack.
const MIN_GROWTH: usize = 4_096;
/// What is past [`MAX_PIECE`] is in blocks of this size.
const BLOCK: usize = 64 << 10;

/// A file.
///
/// Its size is what counts against the quota. What was never written reads as zeros and takes no memory, whole blocks at a time. No call
/// touches more than it transfers, a few blocks, and [`MAX_PIECE`]: a guest's own pattern of writes cannot make one take long.
///
/// A byte is in its block, if there is one; else in the base, as far as that reaches; else it is zero.
#[derive(Debug, Clone, Default)]
pub(crate) struct File {
    /// What the file was given with, or as much as it started with. Written in place where it is owned; where it is shared, the blocks
    /// that are written to are copied.
    base: Contents,
    /// How much of the base still counts: less than all of it after a shared one was truncated.
    base_length: usize,
    blocks: Vec<Option<Box<[u8]>>>,
    /// Never below `base_length`, nor below the start of a block.
    size: u64,
    state: State,
}

/// Whether anything was written to a file since it was put there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum State {
    #[default]
    Written,
    Untouched,
}

impl File {
    /// A file that the embedder puts there.
    pub(crate) fn given(contents: Contents) -> Self {
        let length = contents.as_ref().len();
        let (blocks, state) = (Vec::new(), State::Untouched);
        Self { base: contents, base_length: length, blocks, size: length as u64, state }
    }

    /// A file that the embedder writes on the guest's behalf.
    pub(crate) fn written(contents: Contents) -> Self {
        Self { state: State::Written, ..Self::given(contents) }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// Bytes of memory it takes.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> u64 {
        let base = match &self.base {
            Contents::Owned(bytes) => bytes.capacity(),
            Contents::Shared(_) => 0,
        };
        (base + self.blocks.iter().flatten().map(|block| block.len()).sum::<usize>()) as u64
    }

    /// Copies what is at `offset`; less than the target's length only at the end of the file.
    pub(crate) fn read(&self, offset: u64, target: &mut [u8]) -> usize {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = left.min(target.len());
        // Where there is nothing left, the offset does not matter.
        let mut position = usize::try_from(offset).unwrap_or(usize::MAX);
        let (mut target, _) = target.split_at_mut(count);
        while !target.is_empty() {
            let run = if self.blocks.is_empty() { target.len() } else { target.len().min(BLOCK - position % BLOCK) };
            let (part, rest) = target.split_at_mut(run);
            match self.blocks.get(position / BLOCK).and_then(Option::as_ref) {
                Some(block) => fill(part, block.get(position % BLOCK..).unwrap_or_default()),
                None => fill(part, self.base().get(position..).unwrap_or_default()),
            }
            position += run;
            target = rest;
        }
        count
    }

    /// Writes all of `bytes` at `offset`. The caller has checked that the file may reach that far; `reach` is how far it may grow at all,
    /// past which nothing is reserved. If memory runs out, some of it may have been written.
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8], reach: u64) -> Result<(), Errno> {
        let start = usize::try_from(offset).map_err(|_| Errno::Nospc)?;
        let end = start.checked_add(bytes.len()).ok_or(Errno::Nospc)?;
        self.state = State::Written;
        if end <= MAX_PIECE && self.blocks.is_empty() && self.base_length <= MAX_PIECE {
            let reach = usize::try_from(reach).unwrap_or(usize::MAX);
            write_piece(self.owned_base()?, start, bytes, reach)?;
            self.base_length = self.base_length.max(end);
        } else {
            let mut position = start;
            for part in split_at_blocks(start, bytes) {
                let place = self.place(position, part.len())?;
                place.copy_from_slice(part);
                position += part.len();
            }
        }
        self.size = self.size.max(end as u64);
        Ok(())
    }

    /// Where a part that lies in one block is written.
    fn place(&mut self, position: usize, length: usize) -> Result<&mut [u8], Errno> {
        let index = position / BLOCK;
        let is_in_base = position + length <= self.base_length;
        let has_block = self.blocks.get(index).is_some_and(Option::is_some);
        if !has_block && is_in_base && matches!(self.base, Contents::Owned(_)) {
            let Contents::Owned(base) = &mut self.base else { return Err(Errno::Io) };
            return base.get_mut(position..position + length).ok_or(Errno::Io);
        }
        if !has_block {
            let block = new_block(self.base().get(index * BLOCK..).unwrap_or_default())?;
            if self.blocks.len() <= index {
                self.blocks.try_reserve(index + 1 - self.blocks.len()).map_err(|_| Errno::Nospc)?;
                self.blocks.resize_with(index + 1, || None);
            }
            *self.blocks.get_mut(index).ok_or(Errno::Io)? = Some(block);
        }
        let block = self.blocks.get_mut(index).and_then(Option::as_mut).ok_or(Errno::Io)?;
        let start = position % BLOCK;
        block.get_mut(start..start + length).ok_or(Errno::Io)
    }

    /// Cuts the file, or lets it grow with zeros.
    pub(crate) fn set_size(&mut self, size: u64) -> Result<(), Errno> {
        if size == self.size {
            return Ok(());
        }
        match usize::try_from(size) {
            Ok(length) if size < self.size => self.truncate(length)?,
            Ok(_) | Err(_) => {}
        }
        self.size = size;
        self.state = State::Written;
        Ok(())
    }

    /// Memory follows the size down: a file that was large must not stay so behind the quota's back.
    fn truncate(&mut self, length: usize) -> Result<(), Errno> {
        if length <= MAX_PIECE && !self.blocks.is_empty() {
            let mut piece = Vec::new();
            piece.try_reserve_exact(length).map_err(|_| Errno::Nospc)?;
            piece.resize(length, 0);
            self.read(0, &mut piece);
            *self = Self::written(Contents::Owned(piece));
            return Ok(());
        }
        self.blocks.truncate(length.div_ceil(BLOCK));
        if let Some(Some(last)) = self.blocks.get_mut(length / BLOCK)
            && let Some(cut) = last.get_mut(length % BLOCK..)
        {
            cut.fill(0);
        }
        self.base_length = self.base_length.min(length);
        match &mut self.base {
            Contents::Owned(bytes) => {
                bytes.truncate(length);
                if bytes.capacity() - bytes.len() > slack(bytes.len()) {
                    bytes.shrink_to_fit();
                }
            }
            Contents::Shared(_) if length == 0 => self.base = Contents::default(),
            Contents::Shared(_) => {}
        }
        Ok(())
    }

    /// What it holds, in one piece. Not copied if it is one: if it was never larger than 1 MiB, or came from the embedder and was not
    /// made longer.
    pub(crate) fn into_contents(self) -> Contents {
        if self.is_base() { self.base } else { self.copy() }
    }

    /// The same for a file that somebody else has too.
    pub(crate) fn to_contents(&self) -> Contents {
        match &self.base {
            Contents::Shared(bytes) if self.is_base() => Contents::Shared(Arc::clone(bytes)),
            Contents::Shared(_) | Contents::Owned(_) => self.copy(),
        }
    }

    /// Whether it is the base and nothing else. Not every base that is as long: one that was cut and made longer again ends in zeros.
    fn is_base(&self) -> bool {
        self.blocks.is_empty() && self.base_length == self.base.as_ref().len() && self.base_length as u64 == self.size
    }

    fn copy(&self) -> Contents {
        let mut whole = vec![0; usize::try_from(self.size).unwrap_or(usize::MAX)];
        self.read(0, &mut whole);
        Contents::Owned(whole)
    }

    fn base(&self) -> &[u8] {
        self.base.as_ref().get(..self.base_length).unwrap_or_default()
    }

    /// The base to write to. One that is shared is copied; only used for those of one piece.
    fn owned_base(&mut self) -> Result<&mut Vec<u8>, Errno> {
        if matches!(self.base, Contents::Shared(_)) {
            let mut copy = Vec::new();
            copy.try_reserve_exact(self.base_length).map_err(|_| Errno::Nospc)?;
            copy.extend_from_slice(self.base());
            self.base = Contents::Owned(copy);
        }
        match &mut self.base {
            Contents::Owned(bytes) => Ok(bytes),
            Contents::Shared(_) => Err(Errno::Io),
        }
    }
}

/// Copies the source as far as it goes, and zeros after it.
fn fill(target: &mut [u8], source: &[u8]) {
    let (from_source, zeros) = target.split_at_mut(source.len().min(target.len()));
    let (source, _) = source.split_at(from_source.len());
    from_source.copy_from_slice(source);
    zeros.fill(0);
}

/// A block that starts as the source does.
fn new_block(source: &[u8]) -> Result<Box<[u8]>, Errno> {
    let mut block = Vec::new();
    block.try_reserve_exact(BLOCK).map_err(|_| Errno::Nospc)?;
    block.extend_from_slice(source.get(..BLOCK).unwrap_or(source));
    block.resize(BLOCK, 0);
    Ok(block.into_boxed_slice())
}

/// Parts of the bytes that each lie in one block when they are written at a position.
fn split_at_blocks(position: usize, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let first = bytes.len().min(BLOCK - position % BLOCK);
    let (first, rest) = bytes.split_at(first);
    std::iter::once(first).chain(rest.chunks(BLOCK))
}

/// Writes into one piece of memory, which grows.
fn write_piece(piece: &mut Vec<u8>, start: usize, bytes: &[u8], reach: usize) -> Result<(), Errno> {
    let end = start + bytes.len();
    if end > piece.capacity() {
        let slack = if piece.is_empty() { 0 } else { slack(end) };
        let target = (end + slack).min(MAX_PIECE).min(reach).max(end);
        piece.try_reserve_exact(target - piece.len()).map_err(|_| Errno::Nospc)?;
    }
    if piece.len() < start {
        piece.resize(start, 0);
    }
    // The part that replaces, then the part that is past the end.
    let replaced = piece.len().min(end) - start;
    let (replacing, appended) = bytes.split_at(replaced);
    if let Some(place) = piece.get_mut(start..start + replaced) {
        place.copy_from_slice(replacing);
    }
    piece.extend_from_slice(appended);
    Ok(())
}

/// How much more than its length a piece may keep.
fn slack(length: usize) -> usize {
    (length / GROWTH).max(MIN_GROWTH)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Operation {
        Write(usize, usize),
        SetSize(usize),
        Read(usize, usize),
    }

    /// Sizes and positions where something changes.
    fn place() -> impl Strategy<Value = usize> {
        let marks = vec![0, 100, BLOCK, 3 * BLOCK, MAX_PIECE - BLOCK, MAX_PIECE, MAX_PIECE + BLOCK, 2 * MAX_PIECE];
        (proptest::sample::select(marks), 0usize..5, any::<bool>())
            .prop_map(|(mark, distance, before)| if before { mark.saturating_sub(distance) } else { mark + distance })
    }

    fn operation() -> impl Strategy<Value = Operation> {
        let length = proptest::sample::select(vec![1, 2, 10, 5_000, BLOCK, BLOCK + 7, 3 * BLOCK]);
        prop_oneof![
            4 => (place(), length).prop_map(|(offset, length)| Operation::Write(offset, length)),
            2 => place().prop_map(Operation::SetSize),
            1 => (place(), place()).prop_map(|(offset, length)| Operation::Read(offset, length)),
        ]
    }

    fn whole(file: &File) -> Vec<u8> {
        let mut bytes = vec![0xee; usize::try_from(file.size()).unwrap() + 1];
        let count = file.read(0, &mut bytes);
        assert_eq!(bytes.pop(), Some(0xee));
        assert_eq!(count, bytes.len());
        bytes
    }

    fn contents(length: usize) -> Vec<u8> {
        (0u8..=250).cycle().take(length).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        #[test]
        fn as_a_vector(kind in 0..3, given in place(), operations in proptest::collection::vec(operation(), 1..15)) {
            let mut expected = if kind == 0 { Vec::new() } else { contents(given) };
            let shared: Arc<[u8]> = expected.clone().into();
            let mut file = match kind {
                0 => File::default(),
                1 => File::given(Contents::Owned(expected.clone())),
                _ => File::given(Contents::Shared(Arc::clone(&shared))),
            };
            for (value, operation) in (1u8..).zip(&operations) {
                match *operation {
                    Operation::Write(offset, length) => {
                        let bytes = vec![value; length];
                        file.write(offset as u64, &bytes, u64::MAX).unwrap();
                        expected.resize(expected.len().max(offset + length), 0);
                        expected[offset..offset + length].copy_from_slice(&bytes);
                    }
                    Operation::SetSize(size) => {
                        file.set_size(size as u64).unwrap();
                        expected.resize(size, 0);
                    }
                    Operation::Read(offset, length) => {
                        let mut bytes = vec![0xee; length];
                        let count = file.read(offset as u64, &mut bytes);
                        bytes.truncate(count);
                        let end = expected.len().min(offset + length);
                        prop_assert!(bytes == expected.get(offset..end).unwrap_or_default());
                    }
                }
                prop_assert!(whole(&file) == expected, "after {:?}", operation);
                let size = file.size();
                // For a file from the embedder, what it was given with may stay whole below its blocks.
                let bound = size + size / 8 + 4_096 + 2 * BLOCK as u64;
                prop_assert!(file.memory() <= bound, "{} bytes for {size}", file.memory());
            }
            prop_assert!(file.to_contents().as_ref() == expected);
            prop_assert!(file.into_contents().into_vec() == expected);
        }
    }

    #[test]
    fn small_writes_to_a_large_file_copy_little() {
        let shared: Arc<[u8]> = contents(100 << 20).into();
        let mut file = File::given(Contents::Shared(Arc::clone(&shared)));
        file.write(50 << 20, b"x", u64::MAX).unwrap();
        file.write(100 << 20, b"x", u64::MAX).unwrap();
        assert_eq!(file.memory(), 2 * BLOCK as u64);
        let mut file = File::default();
        file.write(200 << 20, b"x", u64::MAX).unwrap();
        assert_eq!(file.memory(), BLOCK as u64);
    }
}
