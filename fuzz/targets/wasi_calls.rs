#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzing::wasi_calls(input));
