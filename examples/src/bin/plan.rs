//! Plans a model from its config alone, proves the plan and shows it.

use std::error::Error;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use mpk_runtime::cuda::codegen;
use mpk_runtime::engine::{PlanOptions, Proven};
use mpk_runtime::load::Config;

/// Plan a model from its config, prove the plan and show it.
///
/// Prints a report: the ops with their tiles and bytes, the balance of the workers, the memory. `--svg` and `--source` write a
/// file beside it; `--json` prints the plan instead of it. One of the three at a time.
#[derive(Parser)]
#[command(name = "plan", version)]
struct Args {
    /// A config.json, or the folder that holds it
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Sequences that are decoded together, 1 to 16
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    slots: u8,
    /// Workers of a rank: the SMs of its GPU
    #[arg(long, default_value_t = 132, value_name = "N")]
    workers: usize,
    /// Ranks to shard the model over
    #[arg(long, default_value_t = 1, value_name = "N")]
    ranks: usize,
    /// Plan these layers only, `0..4` for the first four, with the head and the tail of the model
    #[arg(long, value_name = "A..B", value_parser = examples::range)]
    layers: Option<Range<usize>>,
    /// Positions that a sequence may have [default: what the config says, at most 8192]
    #[arg(long, value_name = "N")]
    context: Option<usize>,
    /// Plan the unfused chain of the model's ops
    #[arg(long)]
    chain: bool,
    /// Print the whole plan as one JSON object: queues, streams, waits, buffers, memory
    #[arg(long, group = "output")]
    json: bool,
    /// Draw the plan: a step on all workers, and a worker's shared memory
    #[arg(long, value_name = "FILE", group = "output")]
    svg: Option<PathBuf>,
    /// Write the CUDA source of its kernel, prelude included
    #[arg(long, value_name = "FILE", group = "output")]
    source: Option<PathBuf>,
}

fn main() -> ExitCode {
    examples::finish(run(Args::parse()))
}

fn run(args: Args) -> Result<ExitCode, Box<dyn Error>> {
    let options = PlanOptions {
        families: models::FAMILIES,
        workers: args.workers,
        rows: args.slots.into(),
        slots: args.slots.into(),
        ranks: args.ranks,
        context: args.context,
        layers: args.layers,
        chain: args.chain,
    };
    let Proven { plan, proof, planning, proving, .. } = Proven::new(&Config::read(&args.config)?, options)?;
    if args.json {
        examples::print(plan.to_json()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(path) = &args.svg {
        examples::write_file(path, &plan.svg())?;
    }
    if let Some(path) = &args.source {
        examples::write_file(path, &codegen::generate(&plan)?.flat())?;
    }
    let [planning, proving] = [planning, proving].map(|time| time.as_secs_f64() * 1e3);
    examples::print(format!("{}planned in {planning:.0} ms\nproven in {proving:.0} ms: {proof}", plan.report()))?;
    Ok(ExitCode::SUCCESS)
}
