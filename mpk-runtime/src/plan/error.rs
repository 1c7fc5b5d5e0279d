//! Why a plan can't be made.

use thiserror::Error;

/// A graph can't be planned for these options. Every variant names what is wrong, what it would have done on the GPU, and
/// what to change.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// An option is outside of what a plan can serve.
    #[error("the option `{option}` is {value}, a plan serves {least} to {most}\nhelp: {help}")]
    Option {
        /// The option: `workers`, `rows`, `slots`, `context`, `ranks` or `shared_memory`.
        option: &'static str,
        /// What it is.
        value: usize,
        /// Least value served.
        least: usize,
        /// Most value served.
        most: usize,
        /// What to do.
        help: &'static str,
    },
    /// A task computes fewer rows than a step has.
    #[error(
        "MPK-E0141: {op} takes {tokens} rows in a step, the plan is for {rows}\nthe rows beyond them would silently not be computed\nhelp: plan for {tokens} rows, or use a task that declares `tokens = {rows}`"
    )]
    Tokens {
        /// The op.
        op: String,
        /// Rows that its task declares.
        tokens: usize,
        /// Rows of the step.
        rows: usize,
    },
    /// The scratch regions of a task do not fit the shared memory of a worker.
    #[error(
        "MPK-E0132: the scratch of task {task} takes {bytes} bytes, {available} bytes of shared memory are left for it\nthe kernel could not be launched\nhelp: make its regions smaller, or plan for fewer rows"
    )]
    Scratch {
        /// The task.
        task: String,
        /// Bytes of its regions, aligned.
        bytes: usize,
        /// Bytes left beside everything that is always there.
        available: usize,
    },
    /// The alignment of a scratch region is no power of two, or too large.
    #[error(
        "MPK-E0131: region `{region}` of task {task} is aligned to {align} bytes, it must be a power of two up to {most}\nits address would be misaligned\nhelp: write `align = 16`, or 1024 for bulk tensor copies and wgmma"
    )]
    Align {
        /// The task.
        task: String,
        /// The region.
        region: String,
        /// The alignment asked for.
        align: usize,
        /// The largest one.
        most: usize,
    },
    /// The stage ring does not fit beside the scratch regions.
    #[error(
        "MPK-P0204: {available} bytes of shared memory are left for the stage ring, {least} pages of {page_bytes} bytes are the least\nthe loader could not run ahead of the consumer\nhelp: make the largest scratch region smaller: {task} takes {scratch} bytes"
    )]
    Ring {
        /// Bytes left.
        available: usize,
        /// Fewest pages of a ring.
        least: usize,
        /// Bytes of a page.
        page_bytes: usize,
        /// The task with the most scratch.
        task: String,
        /// Bytes of its scratch.
        scratch: usize,
    },
    /// Two tasks of one name.
    #[error(
        "MPK-P0204: two tasks are called `{task}`, of {} and {}\none would run with the memory and the body of the other\nhelp: rename one of them", files[0], files[1]
    )]
    Names {
        /// The name.
        task: &'static str,
        /// The files that they are declared in.
        files: [&'static str; 2],
    },
    /// A number can't be known or is too large.
    #[error("{op}: {what}: {why}\nhelp: {help}")]
    Size {
        /// The op, or what else the number belongs to.
        op: String,
        /// The number: `tiles`, `port w`, `the bytes of its output`.
        what: String,
        /// What is wrong with it.
        why: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// A streamed weight can't be cut where the tiles are cut.
    #[error(
        "{op}: its tiles cut the streamed weight `{port}` at {rows} rows, which is no multiple of 16\na page holds 16 whole rows: two tasks would need the same page\nhelp: make the tile width a multiple of 16 rows of the weight"
    )]
    Strips {
        /// The op.
        op: String,
        /// The port.
        port: &'static str,
        /// Rows of the weight in a tile.
        rows: usize,
    },
    /// The graph is not one that a builder gives.
    #[error(
        "MPK-P0201: {op}: {what}\nthe task would wait for ever, or read what nobody wrote\nhelp: build the graph with `Builder`, each op after the ops it reads from"
    )]
    Graph {
        /// The op.
        op: String,
        /// What is wrong with it.
        what: String,
    },
}
