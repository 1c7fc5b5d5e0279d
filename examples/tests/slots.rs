//! The same request gives the same bits whatever its neighbours (MPK-R0402): three slots that step together, and each alone.

// A test: it fails where it can't go on.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use models::FAMILIES;
use mpk_runtime::bf16;
use mpk_runtime::engine::{HOST_WORKERS, PlanOptions, Proven};
use mpk_runtime::host::{Executor, Tensors};
use mpk_runtime::load::{Checkpoint, Config};
use mpk_runtime::plan::Plan;
use mpk_runtime::step::{PAGE_POSITIONS, Row, StepRows};

struct Weights(Checkpoint);

impl Tensors for Weights {
    fn bf16(&self, names: &[String]) -> Option<&[bf16]> {
        let id = names.iter().find_map(|name| self.0.find(name))?;
        self.0.tensor(id).bf16().ok()
    }
}

const SLOTS: usize = 3;
const CONTEXT: usize = 3 * PAGE_POSITIONS;
/// Tokens of a prompt in a step: three of them fill most of its rows.
const CHUNK: usize = 5;
/// Tokens after each prompt.
const NEW: usize = 6;

fn tiny() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tiny-qwen3")
}

fn plan() -> Arc<Plan> {
    let options = PlanOptions {
        families: FAMILIES,
        workers: HOST_WORKERS,
        rows: 16,
        slots: SLOTS,
        ranks: 1,
        context: Some(CONTEXT),
        layers: None,
        chain: false,
    };
    Arc::new(Proven::new(&Config::read(&tiny()).unwrap(), options).unwrap().plan)
}

/// The logits after each prompt and after each token that follows, for requests `(slot, prompt)` that step together.
fn run(plan: &Arc<Plan>, requests: &[(usize, &[u32])]) -> Vec<Vec<Vec<f32>>> {
    let weights = Weights(Checkpoint::open(&tiny()).unwrap());
    let mut executor = Executor::new(plan.clone(), Arc::new(weights), 2).unwrap();
    let (logits, output) = (plan.graph.logits().unwrap(), plan.graph.output);
    let per_slot = CONTEXT / PAGE_POSITIONS;
    let pages: Vec<Vec<usize>> = (0..SLOTS).map(|slot| (slot * per_slot..(slot + 1) * per_slot).collect()).collect();
    let mut ids: Vec<Vec<u32>> = requests.iter().map(|(_, prompt)| prompt.to_vec()).collect();
    let mut position = vec![0; requests.len()];
    let mut all = vec![Vec::new(); requests.len()];
    while all.iter().any(|given| given.len() < NEW) {
        let (mut rows, mut samples) = (Vec::new(), Vec::new());
        for (i, (slot, _)) in requests.iter().enumerate().filter(|(i, _)| all[*i].len() < NEW) {
            let end = ids[i].len().min(position[i] + CHUNK);
            for at in position[i]..end {
                let sample = at + 1 == ids[i].len();
                samples.extend(sample.then_some((i, rows.len())));
                rows.push(Row { slot: *slot, position: at, token: ids[i][at], sample });
            }
            position[i] = end;
        }
        executor.step(&StepRows::new(rows, pages.clone())).unwrap();
        for (i, row) in samples {
            all[i].push(executor.row(logits, row));
            ids[i].push(executor.row(output, row)[0] as u32);
        }
    }
    all
}

#[test]
fn three_slots_together_give_what_each_gives_alone() {
    let plan = plan();
    // One crosses a page while another ends; each begins to generate in another step.
    let prompts: Vec<Vec<u32>> =
        [63, 3, 22].iter().enumerate().map(|(i, len)| (0..*len).map(|n| (n * 37 + i as u32 * 101) % 2290).collect()).collect();
    let requests: Vec<(usize, &[u32])> = prompts.iter().enumerate().map(|(slot, prompt)| (slot, &prompt[..])).collect();
    let together = run(&plan, &requests);
    for (slot, prompt) in &requests {
        // In another slot too, and so in other pages.
        for elsewhere in [*slot, (slot + 1) % SLOTS] {
            let alone = run(&plan, &[(elsewhere, prompt)]);
            assert!(alone[0] == together[*slot], "the request of slot {slot}, alone in slot {elsewhere}");
        }
    }
    assert!(together[0] != together[1]);
}
