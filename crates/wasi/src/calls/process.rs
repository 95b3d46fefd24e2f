//! The guest itself, and what it has not got: signals, threads, sockets.

use super::Call;
use crate::{End, Errno, Host};

#[expect(
    clippy::too_many_arguments,
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "the signatures are WASI's"
)]
impl<H: Host> Call<'_, H> {
    pub(super) fn proc_exit(&mut self, code: u32) -> End {
        End::Exit(code)
    }

    pub(super) fn proc_raise(&mut self, _signal: u32) -> Result<(), Errno> {
        Err(Errno::Nosys)
    }

    /// A guest has one thread, and the engine interrupts it when it likes.
    pub(super) fn sched_yield(&mut self) -> Result<(), Errno> {
        Ok(())
    }

    pub(super) fn sock_accept(&mut self, fd: u32, _flags: u32, _opened: u32) -> Result<(), Errno> {
        self.no_socket(fd)
    }

    pub(super) fn sock_recv(
        &mut self,
        fd: u32,
        _ri_data: u32,
        _ri_data_len: u32,
        _ri_flags: u32,
        _datalen: u32,
        _ro_flags: u32,
    ) -> Result<(), Errno> {
        self.no_socket(fd)
    }

    pub(super) fn sock_send(
        &mut self,
        fd: u32,
        _si_data: u32,
        _si_data_len: u32,
        _si_flags: u32,
        _datalen: u32,
    ) -> Result<(), Errno> {
        self.no_socket(fd)
    }

    pub(super) fn sock_shutdown(&mut self, fd: u32, _how: u32) -> Result<(), Errno> {
        self.no_socket(fd)
    }

    /// Whatever is open, it is no socket.
    fn no_socket(&self, fd: u32) -> Result<(), Errno> {
        self.context.descriptors.get(fd)?;
        Err(Errno::Notsock)
    }
}
