use std::io::Write as _;

use super::*;

const WASM_PAGE: usize = 64 << 10;
const RESERVED: usize = 64 << 20;

/// An image of three pages; instances start with four.
fn creator() -> Creator {
    creator_with(FirstPage::Plain)
}

fn creator_with(first_page: FirstPage) -> Creator {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(&vec![1; WASM_PAGE]).expect("write");
    let image: Vec<u8> = (0..3 * WASM_PAGE).map(|index| u8::try_from(index % 251).expect("small")).collect();
    file.write_all(&image).expect("write");
    let place = ImagePlace { offset: WASM_PAGE as u64, length: 3 * WASM_PAGE, address: 0 };
    Creator(Arc::new(Memories::new(file, place, first_page).expect("mapped")))
}

fn new_memory(creator: &Creator) -> Box<dyn LinearMemory> {
    let kind = MemoryType::new(4, None);
    creator.new_memory(kind, 4 * WASM_PAGE, None, Some(RESERVED), WASM_PAGE).expect("a memory")
}

fn bytes(memory: &mut dyn LinearMemory) -> &mut [u8] {
    // SAFETY: that much is accessible, and nobody else has a pointer to it in these tests.
    unsafe { std::slice::from_raw_parts_mut(memory.as_ptr(), memory.byte_size()) }
}

fn assert_pristine(memory: &mut dyn LinearMemory) {
    assert_eq!(memory.byte_size(), 4 * WASM_PAGE);
    for (index, byte) in bytes(memory).iter().enumerate() {
        let expected = if index < 3 * WASM_PAGE { u8::try_from(index % 251).expect("small") } else { 0 };
        assert_eq!(*byte, expected, "at {index}");
    }
}

#[test]
fn every_memory_starts_with_the_image() {
    let creator = creator();
    let mut last = ptr::null_mut();
    let mut reused = 0;
    for round in 0..20 {
        let mut memory = new_memory(&creator);
        reused += usize::from(memory.as_ptr() == last);
        last = memory.as_ptr();
        assert_pristine(&mut *memory);
        for place in (round..4 * WASM_PAGE).step_by(4097) {
            bytes(&mut *memory)[place] ^= 0xff;
        }
    }
    assert!(reused > 15, "{reused}");
}

#[test]
fn growth_is_zero_and_goes() {
    let creator = creator();
    for _ in 0..3 {
        let mut memory = new_memory(&creator);
        assert_pristine(&mut *memory);
        memory.grow_to(200 * WASM_PAGE).expect("room");
        let bytes = bytes(&mut *memory);
        assert!(bytes[4 * WASM_PAGE..].iter().all(|byte| *byte == 0));
        bytes.fill(7);
    }
    let mut memory = new_memory(&creator);
    assert_pristine(&mut *memory);
    assert!(memory.grow_to(RESERVED + WASM_PAGE).is_err());
}

#[test]
fn two_at_a_time_have_nothing_in_common() {
    let creator = creator();
    let (mut one, mut other) = (new_memory(&creator), new_memory(&creator));
    bytes(&mut *one).fill(9);
    assert_pristine(&mut *other);
    drop(one);
    bytes(&mut *other).fill(8);
    assert_pristine(&mut *new_memory(&creator));
}

#[test]
fn a_first_page_that_was_written_all_the_same_is_forbidden_again() {
    let creator = creator_with(FirstPage::Forbidden);
    let mut slots = Vec::new();
    for round in 0..4 {
        let memory = new_memory(&creator);
        let start = memory.as_ptr();
        slots.push(start);
        // Such memory can be given to the kernel to read from, which says so where a program would fault.
        let (reader, writer) = io::pipe().expect("a pipe");
        // SAFETY: the kernel looks at the pointer, and nobody else does.
        let written = unsafe { libc::write(std::os::fd::AsRawFd::as_raw_fd(&writer), start.cast(), 1) };
        assert_eq!(written, -1, "round {round}");
        drop(reader);
        if round == 1 {
            // As the handler of faults does it for a run that has to end.
            let flags = MprotectFlags::READ | MprotectFlags::WRITE;
            // SAFETY: this memory's own first page, which nobody has a reference to.
            unsafe { rustix::mm::mprotect(start.cast(), FORBIDDEN as usize, flags) }.expect("a page");
            // SAFETY: the same page, accessible now, and nobody else has a pointer to it.
            unsafe { std::slice::from_raw_parts_mut(start, FORBIDDEN as usize) }.fill(1);
        }
        // SAFETY: that much is accessible behind it, and nobody else has a pointer to it.
        let part = unsafe { std::slice::from_raw_parts_mut(start.wrapping_add(WASM_PAGE), WASM_PAGE) };
        part.fill(2);
    }
    assert!(slots.iter().all(|slot| *slot == slots[0]), "the same memory each time");
}

#[test]
fn without_a_pagemap_everything_is_mapped_anew() {
    let mut creator = creator();
    Arc::get_mut(&mut creator.0).expect("ours alone").pagemap = None;
    for _ in 0..3 {
        let mut memory = new_memory(&creator);
        assert_pristine(&mut *memory);
        bytes(&mut *memory).fill(5);
    }
}
