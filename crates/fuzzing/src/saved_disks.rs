use arbitrary::{Arbitrary, Unstructured};
use belljar_wasi::{Context, RestoredDisk, SaveReader, SaveWriter};

use crate::guest::{Call, Guest, QUOTA, image};
use crate::host::NoHost;

/// Any bytes as a saved session's disk and what was open on it: refused, or within its quota, and good for any call.
pub fn saved_disks(input: &[u8]) {
    let mut from = input;
    let mut reader = SaveReader(&mut from);
    let Ok(mut restored) = RestoredDisk::read(&mut reader, QUOTA, 0) else { return };
    let mut context = Context::new(NoHost, &image(), QUOTA);
    if context.restore_descriptors(&mut reader, &mut restored).is_err() {
        return;
    }
    let mut disk = restored.into_disk();
    let mut saved = Vec::new();
    disk.save(&mut SaveWriter(&mut saved)).unwrap();
    let mut again = saved.as_slice();
    RestoredDisk::read(&mut SaveReader(&mut again), QUOTA, 0).expect("what was saved");

    context.swap_disk(&mut disk);
    context.set_lowest_address(1);
    let mut guest = Guest { context, ..Guest::new() };
    guest.check();
    // What is left of the input are calls.
    let mut rest = Unstructured::new(from);
    while let Ok(call) = Call::arbitrary(&mut rest) {
        if rest.is_empty() || guest.call(&call).is_err() {
            break;
        }
    }
    guest.context.into_workspace();
}
