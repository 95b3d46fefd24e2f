//! Writes a disk, and what guests have open on it, as bytes, and reads them back. The bytes may come from anywhere:
//! nothing in them is believed, and what they describe is made as a guest would make it.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read, Write};

use crate::descriptors::{Descriptor, Descriptors, MAX_DESCRIPTORS, OpenDirectory, OpenFile, Origin, What};
use crate::fs::{Access, Contents, Device, Disk, File, InodeId, Inodes, Kind, New, Node, Parent, Quota, Times};
use crate::image::Entry;
use crate::path::is_name;
use crate::{Context, Errno, Host, MAX_PATH, OutputStream};

/// Writes numbers and texts.
pub struct SaveWriter<'a>(pub &'a mut dyn Write);

/// Reads what a [`SaveWriter`] wrote.
pub struct SaveReader<'a>(pub &'a mut dyn Read);

impl fmt::Debug for SaveWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SaveWriter")
    }
}

impl fmt::Debug for SaveReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SaveReader")
    }
}

/// Why bytes are no saved disk.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// They end too soon, or cannot be read.
    #[error("it cannot be read: {0}")]
    Read(#[from] io::Error),
    /// They say something that cannot be.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    /// What they describe does not fit.
    #[error("its files do not fit: {0}")]
    Files(#[from] Errno),
}

impl SaveWriter<'_> {
    /// A byte.
    pub fn byte(&mut self, value: u8) -> io::Result<()> {
        self.0.write_all(&[value])
    }

    /// A number.
    pub fn word(&mut self, value: u32) -> io::Result<()> {
        self.0.write_all(&value.to_le_bytes())
    }

    /// A larger number.
    pub fn long(&mut self, value: u64) -> io::Result<()> {
        self.0.write_all(&value.to_le_bytes())
    }

    /// How many there are of something that is in memory.
    pub fn count(&mut self, value: usize) -> io::Result<()> {
        self.long(value as u64)
    }

    /// Bytes, and how many they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.count(bytes.len())?;
        self.0.write_all(bytes)
    }
}

impl SaveReader<'_> {
    /// Bytes of which it is known how many they are.
    pub fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// A byte.
    pub fn byte(&mut self) -> io::Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    /// A number.
    pub fn word(&mut self) -> io::Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A larger number.
    pub fn long(&mut self) -> io::Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// How many there are of something, if they are not too many.
    pub fn count(&mut self, most: u64) -> Result<u64, RestoreError> {
        let count = self.long()?;
        if count > most { Err(RestoreError::Damaged("there is too much of something")) } else { Ok(count) }
    }

    /// Bytes, if they are not too many.
    pub fn bytes(&mut self, most: u64) -> Result<Vec<u8>, RestoreError> {
        let count = self.count(most)?;
        let mut bytes = Vec::new();
        // Memory is allocated as bytes come: a large number alone allocates none.
        if (&mut *self.0).take(count).read_to_end(&mut bytes)? as u64 != count {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(bytes)
    }

    /// A text, if it is not too long.
    pub fn text(&mut self, most: usize) -> Result<String, RestoreError> {
        String::from_utf8(self.bytes(most as u64)?).map_err(|_| RestoreError::Damaged("a text is none"))
    }
}

const FILE: u8 = 0;
const DIRECTORY: u8 = 1;
const LINK: u8 = 2;

impl Disk {
    /// Writes everything that is on it.
    pub fn save(&self, out: &mut SaveWriter<'_>) -> io::Result<()> {
        let inodes: Vec<_> = self.inodes().iter().collect();
        out.count(inodes.len())?;
        for (id, inode) in inodes {
            out.word(id.number())?;
            for time in [inode.times.accessed, inode.times.modified, inode.times.changed] {
                out.long(time)?;
            }
            match &inode.kind {
                Kind::File(file) => {
                    out.byte(FILE)?;
                    save_file(file, out)?;
                }
                Kind::Directory(directory) => {
                    out.byte(DIRECTORY)?;
                    out.count(directory.iter().count())?;
                    for (name, child) in directory.iter() {
                        out.bytes(name.as_bytes())?;
                        out.word(child.number())?;
                    }
                }
                Kind::Link(target) => {
                    out.byte(LINK)?;
                    out.bytes(target.as_bytes())?;
                }
            }
        }
        Ok(())
    }
}

fn save_file(file: &File, out: &mut SaveWriter<'_>) -> io::Result<()> {
    out.long(file.size())?;
    let mut part = vec![0; 64 << 10];
    let mut offset = 0;
    while offset < file.size() {
        let count = file.read(offset, &mut part);
        out.0.write_all(part.get(..count).unwrap_or_default())?;
        offset += count as u64;
    }
    Ok(())
}

/// A disk that was read, in which contexts find what their guests had open.
#[derive(Debug)]
pub struct RestoredDisk {
    inodes: Inodes,
    /// Where things are that have a name, by where they were.
    places: HashMap<u32, InodeId>,
    /// What had no name any more.
    nameless: HashMap<u32, Record>,
}

#[derive(Debug)]
struct Record {
    times: Times,
    what: Recorded,
}

#[derive(Debug)]
enum Recorded {
    File(File),
    Directory(Vec<(String, u32)>),
    Link(String),
}

impl RestoredDisk {
    /// Reads what [`Disk::save`] wrote, onto a new disk of this quota.
    pub fn read(from: &mut SaveReader<'_>, quota: Quota, now: u64) -> Result<Self, RestoreError> {
        let mut records = read_records(from, quota)?;
        let mut inodes = Inodes::new(quota, now);
        let mut places = HashMap::new();
        let mut times = Vec::new();
        let mut pending = Vec::new();
        for id in [InodeId::WORKSPACE, InodeId::TEMPORARY] {
            let record = records.remove(&id.number()).ok_or(RestoreError::Damaged("a folder is missing"))?;
            let Recorded::Directory(entries) = record.what else {
                return Err(RestoreError::Damaged("a folder is none"));
            };
            places.insert(id.number(), id);
            times.push((id, record.times));
            pending.push((id, entries));
        }
        while let Some((parent, entries)) = pending.pop() {
            for (name, old) in entries {
                if !is_name(&name) || inodes.directory(parent)?.get(&name).is_some() {
                    return Err(RestoreError::Damaged("a name is none, or there twice"));
                }
                let Some(record) = records.remove(&old) else {
                    let known = places.get(&old).ok_or(RestoreError::Damaged("a name stands for nothing"))?;
                    if inodes.directory(*known).is_ok() {
                        return Err(RestoreError::Damaged("a folder has two names"));
                    }
                    inodes.link(parent, &name, *known, now)?;
                    continue;
                };
                let id = match record.what {
                    Recorded::File(file) => inodes.create(parent, &name, New::File(file), now)?,
                    Recorded::Link(target) => inodes.create(parent, &name, New::Link(&target), now)?,
                    Recorded::Directory(entries) => {
                        let id = inodes.create(parent, &name, New::Directory, now)?;
                        pending.push((id, entries));
                        id
                    }
                };
                places.insert(old, id);
                times.push((id, record.times));
            }
        }
        for (id, saved) in times {
            inodes.set_times(id, |times| *times = saved, saved.changed)?;
        }
        Ok(Self { inodes, places, nameless: records })
    }

    /// The disk, when all contexts have found theirs.
    pub fn into_disk(self) -> Disk {
        Disk::of(self.inodes)
    }

    /// What a descriptor holds from now on.
    fn open(&mut self, old: u32) -> Result<InodeId, RestoreError> {
        if let Some(record) = self.nameless.remove(&old) {
            let kind = match record.what {
                Recorded::File(file) => Kind::File(file),
                Recorded::Directory(entries) if entries.is_empty() => {
                    Kind::Directory(crate::fs::Directory::new(Parent::Removed, 0))
                }
                Recorded::Directory(_) | Recorded::Link(_) => {
                    return Err(RestoreError::Damaged("something without a name is open that cannot be"));
                }
            };
            let id = self.inodes.add_nameless(kind, record.times)?;
            self.places.insert(old, id);
        }
        let id = *self.places.get(&old).ok_or(RestoreError::Damaged("nothing is open"))?;
        self.inodes.acquire(id);
        Ok(id)
    }
}

fn read_records(from: &mut SaveReader<'_>, quota: Quota) -> Result<HashMap<u32, Record>, RestoreError> {
    // What has a name, the two roots, and what is only open, for each of a few guests.
    let most = u64::from(quota.entries) + 2 + 16 * MAX_DESCRIPTORS as u64;
    let mut records = HashMap::new();
    let (mut bytes, mut names) = (0_u64, 0_u64);
    for _ in 0..from.count(most)? {
        let id = from.word()?;
        let times = Times { accessed: from.long()?, modified: from.long()?, changed: from.long()? };
        let what = match from.byte()? {
            FILE => {
                let contents = from.bytes(quota.bytes.saturating_sub(bytes))?;
                bytes += contents.len() as u64;
                Recorded::File(File::written(Contents::Owned(contents)))
            }
            DIRECTORY => {
                let count = from.count(u64::from(quota.entries).saturating_sub(names))?;
                names += count;
                let entry = |from: &mut SaveReader<'_>| Ok((from.text(crate::MAX_NAME)?, from.word()?));
                Recorded::Directory((0..count).map(|_| entry(from)).collect::<Result<_, RestoreError>>()?)
            }
            LINK => Recorded::Link(from.text(MAX_PATH)?),
            _ => return Err(RestoreError::Damaged("something is neither file nor folder nor link")),
        };
        if records.insert(id, Record { times, what }).is_some() {
            return Err(RestoreError::Damaged("something is there twice"));
        }
    }
    Ok(records)
}

impl<H: Host> Context<H> {
    /// Writes what the guest has open. What those descriptors refer to is saved with the disk.
    pub fn save_descriptors(&self, out: &mut SaveWriter<'_>) -> io::Result<()> {
        let slots = self.descriptors.slots();
        out.count(slots.len())?;
        slots.iter().try_for_each(|slot| save_descriptor(slot.as_ref(), out))
    }

    /// Opens what the guest had open when it was saved, in place of everything that it has open now.
    pub fn restore_descriptors(
        &mut self,
        from: &mut SaveReader<'_>,
        disk: &mut RestoredDisk,
    ) -> Result<(), RestoreError> {
        let count = from.count(MAX_DESCRIPTORS as u64)?;
        let slots = (0..count).map(|_| read_descriptor(from, disk)).collect::<Result<_, _>>()?;
        self.descriptors = Descriptors::of(slots);
        Ok(())
    }
}

const NOTHING: u8 = 0;
const STDIN: u8 = 1;
const STDOUT: u8 = 2;
const STDERR: u8 = 3;
const DEVICE: u8 = 4;
const OPEN_FILE: u8 = 5;
const OPEN_DIRECTORY: u8 = 6;

fn save_descriptor(slot: Option<&Descriptor>, out: &mut SaveWriter<'_>) -> io::Result<()> {
    let Some(descriptor) = slot else { return out.byte(NOTHING) };
    match &descriptor.what {
        What::Stdin => out.byte(STDIN)?,
        What::Output(OutputStream::Stdout) => out.byte(STDOUT)?,
        What::Output(OutputStream::Stderr) => out.byte(STDERR)?,
        What::Device(device, access) => {
            out.byte(DEVICE)?;
            out.long(device.number())?;
            out.byte(access_number(*access))?;
        }
        What::File(file) => {
            out.byte(OPEN_FILE)?;
            save_node(file.node, out)?;
            out.byte(access_number(file.access))?;
            out.long(file.position)?;
        }
        What::Directory(directory) => {
            out.byte(OPEN_DIRECTORY)?;
            save_node(directory.node, out)?;
            out.long(directory.listing_end)?;
            out.byte(u8::from(directory.origin == Origin::Preopened))?;
        }
    }
    out.word(descriptor.flags)
}

fn read_descriptor(from: &mut SaveReader<'_>, disk: &mut RestoredDisk) -> Result<Option<Descriptor>, RestoreError> {
    let what = match from.byte()? {
        NOTHING => return Ok(None),
        STDIN => What::Stdin,
        STDOUT => What::Output(OutputStream::Stdout),
        STDERR => What::Output(OutputStream::Stderr),
        DEVICE => {
            let device = read_device(from.long()?)?;
            What::Device(device, read_access(from.byte()?)?)
        }
        OPEN_FILE => {
            let node = read_node(from, disk)?;
            if let Node::Memory(id) = node {
                disk.inodes.file(id)?;
            }
            What::File(OpenFile { node, access: read_access(from.byte()?)?, position: from.long()? })
        }
        OPEN_DIRECTORY => {
            let node = read_node(from, disk)?;
            if let Node::Memory(id) = node {
                disk.inodes.directory(id)?;
            }
            let listing_end = from.long()?;
            let origin = if from.byte()? == 0 { Origin::Opened } else { Origin::Preopened };
            What::Directory(OpenDirectory { node, listing_end, origin })
        }
        _ => return Err(RestoreError::Damaged("something is open that is nothing")),
    };
    Ok(Some(Descriptor { what, flags: from.word()? }))
}

fn save_node(node: Node, out: &mut SaveWriter<'_>) -> io::Result<()> {
    let (kind, first, second) = match node {
        Node::Image(Entry::Tree { tree, index }) => (0, u32::from(tree), index),
        Node::Image(Entry::Merged(number)) => (1, number, 0),
        Node::Memory(id) => (2, id.number(), 0),
        Node::Device(device) => (3, u32::try_from(device.number()).unwrap_or(0), 0),
        Node::Image(Entry::Gone) => (4, 0, 0),
    };
    out.byte(kind)?;
    out.word(first)?;
    out.word(second)
}

fn read_node(from: &mut SaveReader<'_>, disk: &mut RestoredDisk) -> Result<Node, RestoreError> {
    let (kind, first, second) = (from.byte()?, from.word()?, from.word()?);
    Ok(match kind {
        // An entry that is not there is like an empty one.
        0 => {
            let tree = u16::try_from(first).map_err(|_| RestoreError::Damaged("there are not so many trees"))?;
            Node::Image(Entry::Tree { tree, index: second })
        }
        1 => Node::Image(Entry::Merged(first)),
        2 => Node::Memory(disk.open(first)?),
        3 => Node::Device(read_device(first.into())?),
        4 => Node::Image(Entry::Gone),
        _ => return Err(RestoreError::Damaged("something is open that is nothing")),
    })
}

fn read_device(number: u64) -> Result<Device, RestoreError> {
    let devices = [Device::Stdin, Device::Stdout, Device::Stderr, Device::Null, Device::Zero, Device::Random];
    let device = devices.into_iter().find(|device| device.number() == number);
    device.ok_or(RestoreError::Damaged("there is no such device"))
}

fn access_number(access: Access) -> u8 {
    match access {
        Access::Path => 0,
        Access::Read => 1,
        Access::Write => 2,
        Access::ReadWrite => 3,
    }
}

fn read_access(number: u8) -> Result<Access, RestoreError> {
    match number {
        0 => Ok(Access::Path),
        1 => Ok(Access::Read),
        2 => Ok(Access::Write),
        3 => Ok(Access::ReadWrite),
        _ => Err(RestoreError::Damaged("something is open in no known way")),
    }
}
