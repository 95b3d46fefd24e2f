//! What WASI calls commands: programs that every run starts anew, with arguments, and that are over when they return.
//! These are the compiler, the linker, and what they make.

use wasmtime::{Instance, Linker, Result, Store};

use crate::driver::{Driver, Start};
use crate::guest::Guest;
use crate::protocol::Job;

/// A command. All of its arguments are the job's, its own name first.
#[derive(Debug)]
pub(crate) struct Command;

impl Driver for Command {
    fn link(&self, _: &mut Linker<Guest>) -> Result<()> {
        Ok(())
    }

    fn start(&self) -> Start {
        Start::EachTime
    }

    fn initialize(&self, _: &mut Store<Guest>, _: &Instance) -> Result<()> {
        Ok(())
    }

    fn run(&self, store: &mut Store<Guest>, instance: &Instance, job: &Job) -> Result<i32> {
        let wasi = store.data_mut().wasi()?;
        wasi.set_arguments(&job.args)?;
        wasi.set_environment(job.env.iter().map(|(name, value)| (name, value)))?;
        instance.get_typed_func::<(), ()>(&mut *store, "_start")?.call(store, ())?;
        Ok(0)
    }
}
