use super::guest::{CREATE, DATA, EPOCH, Guest, READ, RESULT, WRITE};
use crate::{End, Errno, MAX_SUBSCRIPTIONS};

const EVENTS: u32 = 0x10_0000;

#[derive(Clone, Copy)]
enum Wait {
    Clock { id: u32, timeout: u64, flags: u16 },
    Read(u32),
    Write(u32),
}

#[derive(Debug, PartialEq, Eq)]
struct Event {
    userdata: u64,
    error: u16,
    tag: u8,
    bytes: u64,
    flags: u64,
}

fn event(userdata: u64, tag: u8, bytes: u64) -> Event {
    Event { userdata, error: 0, tag, bytes, flags: 0 }
}

fn relative(id: u32, timeout: u64) -> Wait {
    Wait::Clock { id, timeout, flags: 0 }
}

fn absolute(id: u32, timeout: u64) -> Wait {
    Wait::Clock { id, timeout, flags: 1 }
}

fn lay_out(guest: &mut Guest, waits: &[Wait]) -> u32 {
    for (at, (userdata, wait)) in (DATA..).step_by(48).zip((1u64..).zip(waits)) {
        guest.put(at, &[0; 48]);
        guest.put(at, &userdata.to_le_bytes());
        match wait {
            Wait::Clock { id, timeout, flags } => {
                guest.put(at + 16, &id.to_le_bytes());
                guest.put(at + 24, &timeout.to_le_bytes());
                guest.put(at + 40, &flags.to_le_bytes());
            }
            Wait::Read(fd) => {
                guest.put(at + 8, &[1]);
                guest.put(at + 16, &fd.to_le_bytes());
            }
            Wait::Write(fd) => {
                guest.put(at + 8, &[2]);
                guest.put(at + 16, &fd.to_le_bytes());
            }
        }
    }
    u32::try_from(waits.len()).unwrap()
}

fn poll(guest: &mut Guest, waits: &[Wait]) -> Result<Vec<Event>, Errno> {
    let count = lay_out(guest, waits);
    guest.call(|context, memory| context.poll_oneoff(memory, DATA, EVENTS, count, RESULT))?;
    let events = (EVENTS..).step_by(32).take(guest.get_u32(RESULT) as usize);
    Ok(events
        .map(|at| Event {
            userdata: guest.get_u64(at),
            error: u16::from_le_bytes(guest.get(at + 8, 2).try_into().unwrap()),
            tag: guest.get(at + 10, 1)[0],
            bytes: guest.get_u64(at + 16),
            flags: guest.get_u64(at + 24),
        })
        .collect())
}

#[test]
fn sleeping() {
    let mut guest = Guest::new();
    assert_eq!(poll(&mut guest, &[relative(0, 500)]).unwrap(), [event(1, 0, 0)]);
    assert_eq!(guest.context.host().elapsed, 500);
    assert_eq!(poll(&mut guest, &[absolute(1, 800)]).unwrap(), [event(1, 0, 0)]);
    assert_eq!(guest.context.host().elapsed, 800);
    assert_eq!(poll(&mut guest, &[absolute(0, EPOCH + 1_000)]).unwrap(), [event(1, 0, 0)]);
    assert_eq!(guest.context.host().elapsed, 1_000);
    // A time that has passed.
    assert_eq!(poll(&mut guest, &[absolute(0, EPOCH)]).unwrap(), [event(1, 0, 0)]);
    assert_eq!(guest.context.host().elapsed, 1_000);
}

#[test]
fn the_earliest_clock_decides() {
    let mut guest = Guest::new();
    let waits = [relative(1, 700), relative(0, 300), absolute(1, 300), relative(1, u64::MAX)];
    assert_eq!(poll(&mut guest, &waits).unwrap(), [event(2, 0, 0), event(3, 0, 0)]);
    assert_eq!(guest.context.host().elapsed, 300);
}

#[test]
fn the_end_of_the_run_ends_the_wait() {
    let mut guest = Guest::new();
    guest.context.host_mut().deadline = Some(200);
    let count = lay_out(&mut guest, &[relative(1, u64::MAX)]);
    assert_eq!(guest.context.poll_oneoff(&mut guest.memory, DATA, EVENTS, count, RESULT), Err(End::Interrupted));
    assert_eq!(guest.context.host().elapsed, 200);
    // And of a guest that never waits.
    let count = lay_out(&mut guest, &[relative(1, 0)]);
    assert_eq!(guest.context.poll_oneoff(&mut guest.memory, DATA, EVENTS, count, RESULT), Err(End::Interrupted));
}

#[test]
fn streams_and_files_are_ready_at_once() {
    let mut guest = Guest::new();
    guest.context.set_stdin(b"abc".to_vec());
    guest.save("box/a", b"12345").unwrap();
    let file = guest.open("box/a", CREATE, READ | WRITE).unwrap();
    guest.read(file, 2).unwrap();
    let waits = [Wait::Read(0), Wait::Write(1), Wait::Read(file), Wait::Write(file), relative(1, 10), relative(1, 0)];
    assert_eq!(
        poll(&mut guest, &waits).unwrap(),
        [event(1, 1, 3), event(2, 2, 1), event(3, 1, 3), event(4, 2, 1), event(6, 0, 0)]
    );
    assert_eq!(guest.context.host().elapsed, 0);
    guest.read(0, 10).unwrap();
    assert_eq!(poll(&mut guest, &[Wait::Read(0)]).unwrap(), [Event { flags: 1, ..event(1, 1, 0) }]);
}

#[test]
fn errors_are_events() {
    let mut guest = Guest::new();
    let failed = |userdata, tag, errno: Errno| Event { error: errno.into(), ..event(userdata, tag, 0) };
    let waits = [
        relative(1, 10),
        Wait::Read(99),
        Wait::Write(0),
        Wait::Read(1),
        Wait::Read(3),
        relative(2, 0),
        relative(7, 0),
        Wait::Clock { id: 0, timeout: 0, flags: 2 },
    ];
    assert_eq!(
        poll(&mut guest, &waits).unwrap(),
        [
            failed(2, 1, Errno::Badf),
            failed(3, 2, Errno::Badf),
            failed(4, 1, Errno::Badf),
            failed(5, 1, Errno::Badf),
            failed(6, 0, Errno::Notsup),
            failed(7, 0, Errno::Inval),
            failed(8, 0, Errno::Inval),
        ]
    );
    assert_eq!(guest.context.host().elapsed, 0);
}

#[test]
fn counts_and_pointers() {
    let mut guest = Guest::new();
    assert_eq!(poll(&mut guest, &[]), Err(Errno::Inval));
    let many = vec![relative(1, 5); MAX_SUBSCRIPTIONS as usize];
    assert_eq!(poll(&mut guest, &many).unwrap().len(), many.len());
    let too_many = vec![relative(1, 5); MAX_SUBSCRIPTIONS as usize + 1];
    assert_eq!(poll(&mut guest, &too_many), Err(Errno::Inval));
    let end = u32::try_from(guest.memory.len()).unwrap();
    lay_out(&mut guest, &[relative(1, 5)]);
    for (subscriptions, events, result) in [(end - 47, EVENTS, RESULT), (DATA, end - 31, RESULT), (DATA, EVENTS, end)] {
        assert_eq!(
            guest.call(|context, memory| context.poll_oneoff(memory, subscriptions, events, 1, result)),
            Err(Errno::Fault)
        );
    }
    assert_eq!(guest.context.host().elapsed, 5);
    guest.put(DATA + 8, &[3]);
    assert_eq!(guest.call(|context, memory| context.poll_oneoff(memory, DATA, EVENTS, 1, RESULT)), Err(Errno::Inval));
    // Events over subscriptions.
    lay_out(&mut guest, &[relative(1, 5), relative(1, 5), relative(1, 5)]);
    guest.context.poll_oneoff(&mut guest.memory, DATA, DATA, 3, RESULT).unwrap();
}
