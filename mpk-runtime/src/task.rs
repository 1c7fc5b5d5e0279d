//! What `#[mpk_task]` and `op!` emit: everything the planner, the executors and codegen know of a task.

use crate::reference::Call;
use crate::shape::{Elem, Signature};

/// An op of `model!`: a task, or a chain of tasks under one name.
///
/// Implemented by `#[mpk_task]` and `op!` for the unit struct they define; the name of the struct is the op's path.
#[diagnostic::on_unimplemented(
    message = "MPK-E0160: `{Self}` is not an op",
    label = "neither a task nor a composite of tasks",
    note = "an op is defined by `#[mpk_task] fn name(…)` or by `op! {{ pub name = a -> b }}`"
)]
pub trait Op {
    /// Its name and tasks.
    const DEF: OpDef;
}

/// An op that is one task: what `op!`, `task_table!` and peepholes are made of.
#[diagnostic::on_unimplemented(
    message = "MPK-E0160: `{Self}` is not a task",
    label = "not defined by `#[mpk_task]`",
    note = "composites are made of tasks: name the tasks themselves"
)]
pub trait Task: Op {
    /// All that is known of it.
    const TASK: TaskDef;
}

/// The tasks of an op, in the order of the chain.
#[derive(Clone, Copy, Debug)]
pub struct OpDef {
    /// Its name.
    pub name: &'static str,
    /// Its tasks; each one's first `In` takes the first `Out` of the one before.
    pub stages: &'static [&'static TaskDef],
}

/// A task as `#[mpk_task]` describes it.
#[derive(Clone, Copy, Debug)]
pub struct TaskDef {
    /// Its name; also the name of its C++ namespace.
    pub name: &'static str,
    /// Ports, tiles and behaviour over ranks.
    pub signature: Signature,
    /// The roles it has.
    pub roles: &'static [Role],
    /// Its scratch regions in shared memory.
    pub scratch: &'static [Region],
    /// Rows it can take in a step.
    pub tokens: usize,
    /// Set for a grid-wide task: one instance on each worker.
    pub grid: bool,
    /// Set for a task that runs at step 0 only: what it writes is memory that lives on, which `State` ports may take (MPK-E0121).
    pub once: bool,
    /// The chain of ops that this task replaces (a peephole); empty if none.
    pub fuses: &'static [OpDef],
    /// Its parameter block.
    pub block: Block,
    /// CUDA C++ bodies by role.
    pub bodies: &'static [Body],
    /// `Weight` ports read as a stream of pages (`w.pages()` in the consumer).
    pub streams: &'static [&'static str],
    /// The Rust reference. A grid-wide task is called once per phase.
    pub reference: fn(&mut Call<'_>),
    /// Phases of the reference, cut at the grid barrier; 1 for tasks that are not grid-wide.
    pub phases: usize,
    /// The file of the declaration, as `crate/relative/path`.
    pub file: &'static str,
}

impl TaskDef {
    /// Whether both are one task: of one name in one file. Another crate may have another task of this name, and the address of a
    /// constant says nothing.
    pub fn is(&self, other: &TaskDef) -> bool {
        (self.name, self.file) == (other.name, other.file)
    }
}

/// A role of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// Which.
    pub kind: RoleKind,
    /// Groups of 128 threads; 1 but for the consumer.
    pub groups: u32,
}

/// The roles of a worker. Loader, storer and controller share one warpgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleKind {
    /// Waits for dependencies, computes and stores.
    Consumer,
    /// Streams pages into the ring.
    Loader,
    /// Stores what consumers leave in shared memory.
    Storer,
    /// Reads the mailbox and publishes the step record.
    Controller,
}

impl RoleKind {
    /// The word in `roles(…)`.
    pub const fn name(self) -> &'static str {
        match self {
            RoleKind::Consumer => "consumer",
            RoleKind::Loader => "loader",
            RoleKind::Storer => "storer",
            RoleKind::Controller => "controller",
        }
    }
}

/// A scratch region in shared memory, private to a task while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// Its name in the bodies.
    pub name: &'static str,
    /// Element type.
    pub elem: Elem,
    /// Elements.
    pub len: usize,
    /// Alignment in bytes, a power of two.
    pub align: usize,
}

impl Region {
    /// Size in bytes.
    pub const fn bytes(&self) -> usize {
        self.len * self.elem.size()
    }
}

/// One CUDA C++ body.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// Its role.
    pub role: RoleKind,
    /// The text, comments blanked if it stood inline.
    pub text: &'static str,
    /// The file it stands in, as `crate/relative/path`, for `#line`.
    pub file: &'static str,
    /// The line of its first character, from 1.
    pub line: u32,
    /// The macros that it defines: they end with it.
    pub defines: &'static [&'static str],
}

/// The layout of a task's parameter block: the same for the `repr(C)` struct and the C++ struct.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Size in bytes, a multiple of 16.
    pub size: usize,
    /// Its fields, in order.
    pub fields: &'static [Field],
    /// `struct Block { … };` with its `static_assert`s, for the task's namespace.
    pub cpp: &'static str,
}

/// A field of a parameter block.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The port or symbol it belongs to.
    pub name: &'static str,
    /// What it holds.
    pub kind: FieldKind,
    /// Offset in bytes.
    pub offset: usize,
}

/// What a field of a parameter block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// `u64`: the device address of a port, 0 if it is left out.
    Address,
    /// `u32`: the value of a symbol on this rank.
    Dim,
    /// `f32`: a parameter.
    F32,
    /// `u32`: a parameter.
    U32,
}
