use super::guest::{DATA, EPOCH, Guest, RESULT};
use crate::{Context, End, Errno, NulError};

#[test]
fn arguments_and_environment() {
    let mut guest = Guest::new();
    guest.context.set_arguments(["python", "", "ü"]).unwrap();
    guest.context.set_environment([("HOME", "/box"), ("EMPTY", "")]).unwrap();

    guest.call(|context, memory| context.args_sizes_get(memory, RESULT, RESULT + 4)).unwrap();
    assert_eq!((guest.get_u32(RESULT), guest.get_u32(RESULT + 4)), (3, 7 + 1 + 3));
    guest.call(|context, memory| context.args_get(memory, RESULT, DATA)).unwrap();
    assert_eq!(guest.get(DATA, 11), "python\0\0ü\0".as_bytes());
    let pointers = [0, 4, 8].map(|at| guest.get_u32(RESULT + at));
    assert_eq!(pointers, [DATA, DATA + 7, DATA + 8]);

    guest.call(|context, memory| context.environ_sizes_get(memory, RESULT, RESULT + 4)).unwrap();
    assert_eq!((guest.get_u32(RESULT), guest.get_u32(RESULT + 4)), (2, 17));
    guest.call(|context, memory| context.environ_get(memory, RESULT, DATA)).unwrap();
    assert_eq!(guest.get(DATA, 17), b"HOME=/box\0EMPTY=\0");
    assert_eq!(guest.get_u32(RESULT + 4), DATA + 10);
}

#[test]
fn nothing_is_nothing_and_nul_is_refused() {
    let mut guest = Guest::new();
    guest.call(|context, memory| context.args_sizes_get(memory, RESULT, RESULT + 4)).unwrap();
    assert_eq!((guest.get_u32(RESULT), guest.get_u32(RESULT + 4)), (0, 0));
    // With no arguments, no pointer is looked at.
    guest.call(|context, memory| context.args_get(memory, u32::MAX, u32::MAX)).unwrap();
    assert_eq!(guest.context.set_arguments(["a\0b"]), Err(NulError));
    guest.context.set_arguments(["a"]).unwrap();
    assert_eq!(guest.call(|context, memory| context.args_get(memory, RESULT, u32::MAX)), Err(Errno::Fault));
    assert_eq!(guest.call(|context, memory| context.args_get(memory, u32::MAX, DATA)), Err(Errno::Fault));
}

#[test]
fn clocks() {
    let mut guest = Guest::new();
    guest.context.host_mut().elapsed = 10;
    for (id, time) in [(0, EPOCH + 10), (1, 10), (2, 5), (3, 5)] {
        guest.call(|context, memory| context.clock_time_get(memory, id, 0, RESULT)).unwrap();
        assert_eq!(guest.get_u64(RESULT), time, "clock {id}");
        guest.call(|context, memory| context.clock_res_get(memory, id, RESULT)).unwrap();
        assert_eq!(guest.get_u64(RESULT), 1);
    }
    assert_eq!(guest.call(|context, memory| context.clock_time_get(memory, 4, 0, RESULT)), Err(Errno::Inval));
    assert_eq!(guest.call(|context, memory| context.clock_res_get(memory, 4, RESULT)), Err(Errno::Inval));
}

#[test]
fn random_comes_in_pieces_and_can_be_interrupted() {
    let mut guest = Guest::new();
    guest.memory.resize(8 << 20, 0);
    guest.call(|context, memory| context.random_get(memory, 1, (5 << 19) + 1)).unwrap();
    assert_eq!(guest.context.host().randoms, 3);
    assert_eq!(guest.memory[0], 0);
    assert!(guest.memory[1..(5 << 19) + 2].iter().all(|byte| *byte == 0xa5));
    assert_eq!(guest.memory[(5 << 19) + 2], 0);
    assert_eq!(guest.call(|context, memory| context.random_get(memory, 1, u32::MAX)), Err(Errno::Fault));

    guest.context.host_mut().deadline = Some(0);
    assert_eq!(guest.context.random_get(&mut guest.memory, 0, 2 << 20), Err(End::Interrupted));
}

#[test]
fn process() {
    let mut guest = Guest::new();
    assert_eq!(guest.context.proc_exit(&mut guest.memory, 300), Err(End::Exit(300)));
    assert_eq!(guest.call(|context, memory| context.proc_raise(memory, 9)), Err(Errno::Nosys));
    assert_eq!(guest.call(Context::sched_yield), Ok(()));
}

#[test]
fn there_are_no_sockets() {
    let mut guest = Guest::new();
    assert_eq!(guest.call(|context, memory| context.sock_accept(memory, 3, 0, RESULT)), Err(Errno::Notsock));
    assert_eq!(guest.call(|context, memory| context.sock_shutdown(memory, 0, 0)), Err(Errno::Notsock));
    assert_eq!(guest.call(|context, memory| context.sock_send(memory, 1, 0, 0, 0, RESULT)), Err(Errno::Notsock));
    assert_eq!(guest.call(|context, memory| context.sock_recv(memory, 0, 0, 0, 0, RESULT, 0)), Err(Errno::Notsock));
    assert_eq!(guest.call(|context, memory| context.sock_accept(memory, 9, 0, RESULT)), Err(Errno::Badf));
}
