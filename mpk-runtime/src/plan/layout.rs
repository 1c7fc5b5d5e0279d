//! The map of a worker's shared memory: ring, barriers, staged activations, and the scratch of the tasks.

use super::{Packed, Plan, PlanError, Ring, Shared};
use crate::graph::{Graph, NodeArg};
use crate::task::TaskDef;

/// Bytes of a page: 16 rows × 512 inputs of bf16, a size at which bulk copies reach the memory's bandwidth.
const PAGE_BYTES: usize = 16 * 1024;
/// Bytes of a unit of a packed weight: 16 rows × 16 inputs.
const UNIT_BYTES: usize = 512;
/// Most pages of a ring: more do not help while so few are in flight.
const MOST_STAGES: usize = 12;
/// Fewest pages of a ring: one to compute on, one to fill.
const LEAST_STAGES: usize = 2;
/// Pages in flight at once: near the knee of the bandwidth, so that workers finish together and polls do not queue.
const IN_FLIGHT: usize = 5;
/// Room for the barriers of the ring and of the roles, and for words that the roles of a worker share.
const BARRIER_BYTES: usize = 2048;
/// Bytes of the barriers of a stage: full and empty.
const STAGE_BARRIERS: usize = 16;
/// Most bytes of activations staged by a consumer; it goes through wider slices piece by piece.
const MOST_STAGED: usize = 48 * 1024;
/// Largest alignment of a region: nothing on the device asks for more.
const MOST_ALIGN: usize = 1024;

/// Lays out `available` bytes for `tasks` (each once) on `rows` rows; `inputs` are those of the widest streamed weight.
pub(super) fn lay_out(
    tasks: &[&TaskDef],
    rows: usize,
    inputs: usize,
    available: usize,
) -> Result<(Ring, Vec<Shared>), PlanError> {
    let staged = staged(tasks, rows, inputs);
    for task in tasks {
        if let Some(region) = task.scratch.iter().find(|r| !r.align.is_power_of_two() || r.align > MOST_ALIGN) {
            return Err(PlanError::Align {
                task: task.name.to_string(),
                region: region.name.to_string(),
                align: region.align,
                most: MOST_ALIGN,
            });
        }
    }
    // As many pages as leave room for everything else.
    let fits =
        |stages: usize| tasks.iter().all(|task| scratch_end(task, base(stages, staged)).is_some_and(|end| end <= available));
    let Some(stages) = (LEAST_STAGES..=MOST_STAGES).rev().find(|stages| base(*stages, staged) <= available && fits(*stages))
    else {
        return Err(too_full(tasks, staged, available));
    };
    let ring = Ring { page_bytes: PAGE_BYTES, stages, in_flight: IN_FLIGHT.min(stages) };

    let mut map = regions(tasks, staged, &ring);
    let (mut end, mut at, mut of) = (0, 0, None);
    for region in &mut map {
        if region.task.is_none() {
            // Sizes are multiples of the alignment that follows, so nothing is lost between regions.
            region.offset = end;
            end += region.bytes;
            continue;
        }
        // The scratch of every task begins at the same place: only one of them runs at a time.
        if of != region.task {
            (at, of) = (end, region.task.clone());
        }
        region.offset = at.next_multiple_of(region.align);
        at = region.offset + region.bytes;
    }
    Ok((ring, map))
}

/// What the executors address in shared memory, each at offset 0: what is always there, then the scratch of the tasks.
fn regions(tasks: &[&TaskDef], staged: usize, ring: &Ring) -> Vec<Shared> {
    let always = |name: &str, bytes: usize, align: usize| Shared { name: name.to_string(), offset: 0, bytes, align, task: None };
    let mut all = vec![
        always("ring", ring.stages.saturating_mul(ring.page_bytes), 1024),
        always("barriers", BARRIER_BYTES.max(ring.stages.saturating_mul(STAGE_BARRIERS)), 1024),
    ];
    if staged > 0 {
        all.push(always("activations", staged, 128));
    }
    let scratch = tasks.iter().flat_map(|task| task.scratch.iter().map(move |region| (task.name, region)));
    all.extend(scratch.map(|(task, region)| Shared {
        name: format!("{task}.{}", region.name),
        offset: 0,
        bytes: region.len.saturating_mul(region.elem.size()),
        align: region.align,
        task: Some(task.to_string()),
    }));
    all
}

impl Plan {
    /// The regions of shared memory that the executors address, with the least size and alignment of each, at offset 0.
    ///
    /// # Errors
    /// Two tasks have one name.
    pub(crate) fn regions(&self) -> Result<Vec<Shared>, PlanError> {
        let tasks = tasks(&self.graph)?;
        let staged = staged(&tasks, self.options.rows, widest(&self.graph, &self.weights));
        Ok(regions(&tasks, staged, &self.ring))
    }
}

/// The tasks of the graph, each once, in the order in which they first occur.
///
/// # Errors
/// Two tasks have one name: scratch regions, kernels and messages go by it.
pub(super) fn tasks(graph: &Graph) -> Result<Vec<&'static TaskDef>, PlanError> {
    let mut tasks: Vec<&TaskDef> = Vec::new();
    for node in &graph.ops {
        match tasks.iter().find(|task| task.name == node.task.name) {
            None => tasks.push(node.task),
            Some(task) if task.is(node.task) => {}
            Some(task) => return Err(PlanError::Names { task: task.name, files: [task.file, node.task.file] }),
        }
    }
    Ok(tasks)
}

/// Inputs of the widest weight that is streamed; 0 if none is.
pub(super) fn widest(graph: &Graph, weights: &[Packed]) -> usize {
    let streamed = |node: &'_ crate::graph::Node| {
        let ports = node.task.signature.ports.iter().zip(node.args.clone());
        let weights = ports.filter(|(port, _)| node.task.streams.contains(&port.name));
        weights.filter_map(|(_, arg)| if let NodeArg::Weight(w) = arg { Some(w) } else { None }).collect::<Vec<_>>()
    };
    graph.ops.iter().flat_map(streamed).filter_map(|w| weights.get(w)).map(|weight| weight.cols).max().unwrap_or(0)
}

/// Bytes of activations that a consumer stages, for weights of so many inputs.
fn staged(tasks: &[&TaskDef], rows: usize, inputs: usize) -> usize {
    inputs.div_ceil(PAGE_BYTES / UNIT_BYTES * 16).saturating_mul(staged_page(tasks, rows)).min(MOST_STAGED)
}

/// Bytes of the inputs of one page: every warp stages its own share of the units, each row padded against bank conflicts.
fn staged_page(tasks: &[&TaskDef], rows: usize) -> usize {
    let groups = tasks.iter().flat_map(|task| task.roles).map(|role| role.groups as usize).max().unwrap_or(1);
    let warps = groups * 4;
    let units = (PAGE_BYTES / UNIT_BYTES).div_ceil(warps);
    let padding = if rows > 1 { 16 } else { 0 };
    (warps * rows * (units * 32 + padding)).next_multiple_of(128)
}

/// Where the scratch of the tasks begins.
fn base(stages: usize, staged: usize) -> usize {
    stages * PAGE_BYTES + BARRIER_BYTES + staged
}

/// Where the scratch of a task ends if it begins at `base`; `None` if its regions are absurdly large.
fn scratch_end(task: &TaskDef, base: usize) -> Option<usize> {
    task.scratch.iter().try_fold(base, |at, region| {
        let bytes = region.len.checked_mul(region.elem.size())?;
        at.checked_next_multiple_of(region.align)?.checked_add(bytes)
    })
}

/// Names the task to blame: one that does not fit even without a ring, else the largest beside the smallest ring.
fn too_full(tasks: &[&TaskDef], staged: usize, available: usize) -> PlanError {
    let fixed = base(0, staged);
    let bytes = |task: &TaskDef| scratch_end(task, fixed).map_or(usize::MAX, |end| end - fixed);
    let (task, scratch) = tasks
        .iter()
        .map(|task| (task.name.to_string(), bytes(task)))
        .max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)))
        .unwrap_or_else(|| ("none".to_string(), 0));
    let room = available.saturating_sub(fixed);
    if scratch > room {
        return PlanError::Scratch { task, bytes: scratch, available: room };
    }
    PlanError::Ring { available: room - scratch, least: LEAST_STAGES, page_bytes: PAGE_BYTES, task, scratch }
}
