//! What the host writes for the kernel: the mirror of `prelude/abi.cuh`, whose `static_assert`s hold the same sizes.

use bytemuck::{Pod, Zeroable};
use static_assertions::const_assert_eq;

/// Most rows of a step.
pub const MAX_ROWS: usize = 16;
/// Commands in the inbox.
pub const COMMANDS: usize = 8;
/// The row wants the next token.
pub const SAMPLE: u32 = 1;
/// Kinds of [`Fault`].
pub const HANG: u32 = 1;
/// A counter is further than the step allows.
pub const OVERRUN: u32 = 2;

/// What a [`Fault`] waited for: a counter; a page that the loader fills; the other workers.
pub const COUNTER: u32 = 0;
/// See [`COUNTER`].
pub const PAGE: u32 = 1;
/// See [`COUNTER`].
pub const GRID: u32 = 2;
/// Roles that report: consumer, controller.
pub const FAULT_ROLES: usize = 2;
/// The controller.
pub const NO_OP: u32 = u32::MAX;
/// Stop tokens of a [`Command`].
pub const MAX_STOPS: usize = 12;

/// Declares the mirrors with their sizes.
macro_rules! mirror {
    ($($(#[$doc:meta])* $name:ident($size:literal) { $($(#[$field_doc:meta])* $field:ident: $ty:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug, Pod, Zeroable)]
            pub struct $name {
                $($(#[$field_doc])* pub $field: $ty,)*
            }
            const_assert_eq!(size_of::<$name>(), $size);
        )*
    };
}

mirror! {
    /// One row of a step.
    Row(16) {
        /// Its slot.
        slot: u32,
        /// Its position.
        position: u32,
        /// Its token.
        token: u32,
        /// [`SAMPLE`] or 0.
        flags: u32,
    }
    /// A wait for `epoch * arrivals` on a counter.
    Wait(16) {
        /// Its address.
        counter: u64,
        /// Arrivals of a step.
        arrivals: u32,
        /// The `In` ports that it is for, by bit.
        ports: u16,
        /// 0 for the workers of a GPU, 1 for those of all.
        scope: u16,
    }
    /// An arrival.
    Trigger(16) {
        /// The address of the counter.
        counter: u64,
        /// As in [`Wait`].
        scope: u32,
        /// Zero.
        unused: u32,
    }
    /// Strips of a packed weight.
    Segment(16) {
        /// Address of the first.
        source: u64,
        /// How many.
        strips: u32,
        /// Bytes of one.
        strip_bytes: u32,
    }
    /// What the plan says of an activation port beyond its address.
    Route(16) {
        /// Bytes to add in odd steps.
        parity: u32,
        /// Bytes from one source rank's copy to the next.
        source: u32,
        /// The index of feature 0 in the unsharded value.
        first: u32,
        /// Ranks stored to or read by a collective.
        ranks: u32,
    }
    /// The header of a packet.
    Packet(32) {
        /// The body.
        variant: u32,
        /// First tile.
        first_tile: u32,
        /// Tiles.
        tiles: u32,
        /// The op, for reports.
        op: u32,
        /// Offset of the waits.
        waits: u16,
        /// How many.
        wait_count: u16,
        /// Offset of the triggers.
        triggers: u16,
        /// How many.
        trigger_count: u16,
        /// Offset of the segments.
        segments: u16,
        /// Offset of the block.
        block: u16,
        /// Offset of the routes.
        routes: u16,
        /// Zero.
        unused: u16,
    }
    /// The queue of a worker.
    Queue(32) {
        /// Address of its packets.
        packets: u64,
        /// Address of its segments.
        segments: u64,
        /// Packets.
        packet_count: u32,
        /// Segments.
        segment_count: u32,
        /// Zero.
        unused: [u32; 2],
    }
    /// The first wait that a role of a worker gave up.
    Fault(32) {
        /// [`HANG`], [`OVERRUN`] or 0.
        kind: u32,
        /// The worker that waited.
        worker: u32,
        /// The op that waited, or [`NO_OP`].
        op: u32,
        /// [`COUNTER`], [`PAGE`] or [`GRID`].
        what: u32,
        /// Which of its waits, or which stage of the ring.
        index: u32,
        /// Wanted count.
        wanted: u32,
        /// Seen count.
        seen: u32,
        /// The step.
        epoch: u32,
    }
    /// The rows of a step.
    Record(272) {
        /// Live rows.
        count: u32,
        /// Zero.
        unused: [u32; 3],
        /// The rows.
        rows: [Row; MAX_ROWS],
    }
    /// What the host asks for.
    Command(320) {
        /// Rows of the first step.
        count: u32,
        /// Steps at most.
        steps: u32,
        /// Tokens in `stops`.
        stop_count: u32,
        /// Zero.
        unused: u32,
        /// Tokens that end a sequence.
        stops: [u32; MAX_STOPS],
        /// The rows.
        rows: [Row; MAX_ROWS],
    }
    /// Written by the host.
    Inbox(2816) {
        /// Commands posted so far.
        posted: u32,
        /// Keeps the words on lines of their own.
        unused0: [u32; 31],
        /// Not zero: end after the current step.
        stop: u32,
        /// As above.
        unused1: [u32; 31],
        /// By count of commands, modulo [`COMMANDS`].
        commands: [Command; COMMANDS],
    }
    /// Written by the kernel.
    Outbox(256) {
        /// Outputs written so far.
        written: u32,
        /// Keeps the words on lines of their own.
        unused0: [u32; 31],
        /// The number of the launch that has ended.
        ended: u32,
        /// Commands completed when it did.
        completed: u32,
        /// The last epoch that was run.
        epoch: u32,
        /// As above.
        unused1: [u32; 29],
    }
    /// A sampled token.
    Sampled(16) {
        /// Its slot.
        slot: u32,
        /// Its position.
        position: u32,
        /// The token.
        token: u32,
        /// Zero.
        unused: u32,
    }
    /// What one step gave.
    Output(272) {
        /// Tokens.
        count: u32,
        /// Not zero if its command is complete with it.
        last: u32,
        /// The step.
        epoch: u32,
        /// Zero.
        unused: u32,
        /// The tokens.
        tokens: [Sampled; MAX_ROWS],
    }
    /// The argument of the kernel.
    Params(208) {
        /// [`Queue`]s of the workers.
        queues: u64,
        /// The word that begins a step.
        head: u64,
        /// Two [`Record`]s.
        records: u64,
        /// [`Wait`]s that end a step.
        boundary: u64,
        /// The tokens of the rows, or 0.
        sampled: u64,
        /// The counter of grid-wide tasks.
        grid_barrier: u64,
        /// [`FAULT_ROLES`] [`Fault`]s for each worker.
        faults: u64,
        /// Not zero once there is one.
        aborted: u64,
        /// The [`Inbox`].
        inbox: u64,
        /// The [`Outbox`].
        outbox: u64,
        /// [`Output`]s.
        outputs: u64,
        /// Longest wait in a step.
        watchdog_ns: u64,
        /// Longest wait for a command.
        idle_ns: u64,
        /// From an address of this rank's activations to that of another rank.
        peers: [i64; 8],
        /// Waits in `boundary`.
        boundary_count: u32,
        /// Bytes to add to `sampled` in odd steps.
        sampled_parity: u32,
        /// Entries of `outputs`.
        outputs_len: u32,
        /// The last epoch of the launch before.
        epoch: u32,
        /// Commands completed before.
        completed: u32,
        /// Outputs written before.
        written: u32,
        /// The number of this launch.
        launch: u32,
        /// This rank.
        rank: u32,
        /// Ranks.
        ranks: u32,
        /// Zero.
        unused: u32,
    }
}
