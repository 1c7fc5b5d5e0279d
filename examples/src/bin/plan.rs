//! Plans a model from its config alone, proves the plan and shows it.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use mpk_runtime::engine::{PlanOptions, Proven};
use mpk_runtime::load::Config;

/// Plan a model from its config, prove the plan and show it.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// A config.json, or the folder that holds it
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Sequences that are decoded together, 1 to 16
    #[arg(long, default_value_t = 1, value_name = "N")]
    slots: usize,
    /// Workers of a rank: the SMs of its GPU
    #[arg(long, default_value_t = 132, value_name = "N")]
    workers: usize,
    /// Ranks to shard the model over
    #[arg(long, default_value_t = 1, value_name = "N")]
    ranks: usize,
    /// Plan these layers only, with the head and the tail of the model
    #[arg(long, value_name = "A..B", value_parser = examples::range)]
    layers: Option<std::ops::Range<usize>>,
    /// Positions that a sequence may have
    #[arg(long, value_name = "N")]
    context: Option<usize>,
    /// Plan the unfused chain of the model's ops
    #[arg(long)]
    chain: bool,
}

fn main() -> ExitCode {
    examples::finish(run(Args::parse()))
}

fn run(args: Args) -> Result<ExitCode, Box<dyn Error>> {
    let options = PlanOptions {
        families: models::FAMILIES,
        workers: args.workers,
        rows: args.slots,
        slots: args.slots,
        ranks: args.ranks,
        context: args.context,
        layers: args.layers,
        chain: args.chain,
    };
    let proven = Proven::new(&Config::read(&args.config)?, options)?;
    println!("{:?} {:?} {:?}", proven.planning, proven.proving, proven.proof);
    Ok(ExitCode::SUCCESS)
}
