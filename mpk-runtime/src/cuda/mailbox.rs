//! The words between host and kernel, in memory that both see. Each has one writer; while a kernel runs the host makes no call to
//! the driver for them.

use std::sync::atomic::{Ordering, fence};

use super::abi;
use super::driver::{DeviceError, Mapped};

/// Commands to the kernel, and what its steps gave.
pub struct Mailbox {
    inbox: Mapped<abi::Inbox>,
    outbox: Mapped<abi::Outbox>,
    outputs: Mapped<abi::Output>,
    /// Commands posted, and outputs read so far.
    posted: u32,
    read: u32,
    /// Launches so far.
    launches: u32,
}

impl Mailbox {
    /// With room for `outputs` outputs that the host has not read.
    ///
    /// # Errors
    /// The driver has no pinned memory left.
    pub fn new(outputs: usize) -> Result<Mailbox, DeviceError> {
        Ok(Mailbox {
            inbox: Mapped::new(1)?,
            outbox: Mapped::new(1)?,
            outputs: Mapped::new(outputs)?,
            posted: 0,
            read: 0,
            launches: 0,
        })
    }

    /// The steps of a command, at most: more outputs than there is room for would be overwritten before they are read.
    pub fn most_steps(&self) -> usize {
        self.outputs.capacity()
    }

    /// Where the mailbox lies, and where the next kernel goes on. To be called for every launch.
    pub fn begin(&mut self, params: &mut abi::Params) {
        self.launches = self.launches.wrapping_add(1);
        let outbox = self.outbox.place(0);
        params.inbox = self.inbox.device();
        params.outbox = self.outbox.device();
        params.outputs = self.outputs.device();
        params.outputs_len = self.outputs.capacity() as u32;
        params.launch = self.launches;
        // SAFETY: the outbox is live and no kernel runs, so nobody writes it.
        unsafe {
            params.epoch = (&raw const (*outbox).epoch).read_volatile();
            params.completed = (&raw const (*outbox).completed).read_volatile();
            params.written = (&raw const (*outbox).written).read_volatile();
        }
    }

    /// Makes a command known to the kernel. The one before is complete or abandoned.
    pub fn post(&mut self, command: &abi::Command) {
        let slot = self.posted as usize % abi::COMMANDS;
        let inbox = self.inbox.place(0);
        // SAFETY: the inbox is live; the kernel does not read this slot before `posted` says so.
        unsafe { (&raw mut (*inbox).commands[slot]).write_volatile(*command) };
        // Release: the command is in memory before the count that makes it known.
        fence(Ordering::Release);
        self.posted = self.posted.wrapping_add(1);
        // SAFETY: as above; the host is the only writer of the word.
        unsafe { (&raw mut (*inbox).posted).write_volatile(self.posted) };
    }

    /// The next output, if the kernel has written it.
    pub fn take(&mut self) -> Option<abi::Output> {
        let outbox = self.outbox.place(0);
        // SAFETY: the outbox is live; the kernel is the only writer of the word.
        let written = unsafe { (&raw const (*outbox).written).read_volatile() };
        // Acquire: the outputs that the count stands for are visible after it.
        fence(Ordering::Acquire);
        if written == self.read {
            return None;
        }
        let output = self.outputs.place(self.read as usize % self.outputs.capacity());
        self.read = self.read.wrapping_add(1);
        // SAFETY: the kernel has written this entry, and writes it again only after `most_steps` further steps, for a command that
        // the host has not posted yet.
        Some(unsafe { output.read_volatile() })
    }

    /// Whether the last launch has said that it ends.
    pub fn has_ended(&self) -> bool {
        let outbox = self.outbox.place(0);
        // SAFETY: the outbox is live; the kernel is the only writer of the word.
        let ended = unsafe { (&raw const (*outbox).ended).read_volatile() };
        fence(Ordering::Acquire);
        ended == self.launches
    }

    /// Asks the kernel to end after its step, or takes that back.
    pub fn set_stop(&self, stop: bool) {
        let inbox = self.inbox.place(0);
        // SAFETY: the inbox is live; the host is the only writer of the word.
        unsafe { (&raw mut (*inbox).stop).write_volatile(u32::from(stop)) };
    }

    /// Gives up what was posted and not completed, and outputs that were not read. No kernel runs.
    pub fn abandon(&mut self) {
        let outbox = self.outbox.place(0);
        // SAFETY: the outbox is live and no kernel runs, so that the host may write it.
        unsafe {
            (&raw mut (*outbox).completed).write_volatile(self.posted);
            self.read = (&raw const (*outbox).written).read_volatile();
        }
    }

    /// Lets the next launch count steps from the beginning. No kernel runs.
    pub fn reset_epoch(&mut self) {
        let outbox = self.outbox.place(0);
        // SAFETY: as in `abandon`.
        unsafe { (&raw mut (*outbox).epoch).write_volatile(0) };
    }
}
