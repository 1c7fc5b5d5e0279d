//! Measures decode steps of a model with random weights on a GPU, beside the floor that the memory sets.

use std::error::Error;
use std::fmt::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use benches::ceiling::Ceiling;
use benches::decode::{Decoder, Timing};
use benches::random::{Generator, Roles, Weights};
use benches::traffic::Traffic;
use clap::Parser;
use mpk_runtime::cuda::driver::{Device, DeviceError};
use mpk_runtime::cuda::executor::Executor;
use mpk_runtime::engine::{self, PlanOptions, Proven};
use mpk_runtime::goldens::{Agreement, Continuation};
use mpk_runtime::load::Config;
use serde::Serialize;

/// Multiprocessors of an H200, for which bad input is found where there is no GPU.
const H200_WORKERS: usize = 132;
/// Fewer timed steps than this are no benchmark.
const LEAST_STEPS: u32 = 64;

/// Measure decode steps of a model with random weights on a GPU, beside the floor that its memory sets.
#[derive(Parser)]
#[command(name = "bench", version)]
struct Args {
    /// A config.json, or the folder that holds it
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Sequences that are decoded together, 1 to 16
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    batch: u8,
    /// Tokens in the cache of each sequence before the first timed step, beyond the limit of the config too
    #[arg(long, default_value_t = 512, value_name = "N")]
    context: u32,
    /// Timed steps of a repetition; fewer than 64 are no benchmark
    #[arg(long, default_value_t = LEAST_STEPS, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// Run these layers only, with the head and the tail of the model; the weights are those of a model of as many layers
    #[arg(long, value_name = "A..B", value_parser = examples::range)]
    layers: Option<Range<usize>>,
    /// Run the unfused chain of the model's ops
    #[arg(long)]
    chain: bool,
    /// Compare the model with reference outputs of its random weights first; FILE.safetensors beside them holds all logits
    #[arg(long, value_name = "FILE.json")]
    check: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// What is printed.
#[derive(Serialize)]
struct Report {
    config: String,
    model: String,
    layers: [usize; 2],
    chain: bool,
    batch: usize,
    context: u32,
    steps: u32,
    device: String,
    ceiling_gb_s: f64,
    ceiling: Ceiling,
    bytes: Traffic,
    floor_us: f64,
    step_us_best: f64,
    step_us_median: f64,
    /// The median step over the floor.
    ratio: f64,
    tokens_per_second: f64,
    same_tokens: bool,
    check: Option<Agreement>,
    notices: Vec<String>,
}

fn main() -> ExitCode {
    examples::finish(run(&Args::parse()))
}

fn run(args: &Args) -> Result<ExitCode, Box<dyn Error>> {
    let batch = usize::from(args.batch);
    let goldens = args.check.as_deref().map(Continuation::open).transpose()?;
    let mut config = Config::read(&args.config)?;
    let timed = args.context as usize + args.steps as usize;
    let positions = timed.max(goldens.as_ref().map_or(0, |goldens| goldens.tokens().len()));
    allow(&mut config, positions);

    // Without a GPU the plan is made all the same, so that bad input is told first.
    let device = Device::open();
    let options = PlanOptions {
        families: models::FAMILIES,
        workers: device.as_ref().map_or(H200_WORKERS, |device| device.multiprocessors),
        rows: batch,
        slots: batch,
        ranks: 1,
        context: Some(positions),
        layers: args.layers.clone(),
        chain: args.chain,
    };
    let Proven { plan, vocab, .. } = Proven::new(&config, options)?;
    let layers = plan.graph.layers.clone();
    let name = file_name(&args.config);
    if let Some(goldens) = &goldens {
        same_model(goldens, &name, &layers, vocab)?;
    }
    let roles = Roles::of(&config, layers.len())?;
    let logits = plan.graph.logits().ok_or(engine::Error::NoLogits)?;
    let device = device.map_err(no_gpu)?;

    let (device_name, model) = (device.name.clone(), plan.graph.model.clone());
    let bytes = Traffic::of(&plan, batch, args.context as usize);
    let generator = Generator::new(&device)?;
    let ceiling = Ceiling::measure(&device, &generator)?;
    let seed = goldens.as_ref().map_or(0, |goldens| goldens.seed);
    let executor = Executor::new(device, Arc::new(plan), &Weights { generator: &generator, roles, seed })?;
    let mut decoder = Decoder::new(executor, vocab, logits);
    let check = goldens.map(|goldens| decoder.compare(&goldens)).transpose()?.flatten();
    decoder.fill_cache(&generator)?;
    let timing = decoder.time(args.context as usize, args.steps as usize)?;

    let floor_us = bytes.total() as f64 / ceiling.gb_s() / 1e3;
    let [step_us_best, step_us_median] = [timing.best(), timing.median()].map(|time| time.as_secs_f64() * 1e6);
    let report = Report {
        config: name,
        model,
        layers: [layers.start, layers.end],
        chain: args.chain,
        batch,
        context: args.context,
        steps: args.steps,
        device: device_name,
        ceiling_gb_s: ceiling.gb_s(),
        bytes,
        floor_us,
        step_us_best,
        step_us_median,
        ratio: step_us_median / floor_us,
        tokens_per_second: batch as f64 * 1e6 / step_us_median,
        same_tokens: timing.same_tokens,
        notices: notices(args, &ceiling, &timing),
        ceiling,
        check,
    };
    let pass = report.same_tokens && report.check.as_ref().is_none_or(|check| check.pass);
    examples::print(if args.json { serde_json::to_string(&report)? } else { text(&report)? })?;
    Ok(if pass { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Raises the positions that a config allows: a benchmark measures what a step costs, also where the model makes no sense any more.
fn allow(config: &mut Config, positions: usize) {
    const FIELD: &str = "max_position_embeddings";
    if config.get(FIELD).and_then(serde_json::Value::as_u64).is_some_and(|most| most >= 1 && (most as usize) < positions) {
        config.set(FIELD, positions);
    }
}

/// Whether references are of what runs.
fn same_model(goldens: &Continuation, name: &str, layers: &Range<usize>, vocab: usize) -> Result<(), String> {
    if goldens.config != name {
        return Err(format!("--check: the references are of {}, what runs is {name}: choose those of {name}", goldens.config));
    }
    if *layers != (0..goldens.layers) {
        let most = goldens.layers;
        return Err(format!(
            "--check: the references are of layers 0..{most}, what runs are {layers:?}: run `--layers 0..{most}`"
        ));
    }
    if !goldens.has_vocab(vocab) {
        return Err(format!("--check: the references are of another vocabulary than the {vocab} ids of {name}"));
    }
    Ok(())
}

/// The driver's errors advise to run on the host, which is no choice here.
fn no_gpu(error: DeviceError) -> String {
    match error {
        DeviceError::NoDriver | DeviceError::NoDevice => {
            "this machine has no NVIDIA driver or no GPU: run it where there is a Hopper GPU".to_owned()
        }
        DeviceError::Architecture { name, major, minor } => {
            format!("{name} is of compute capability {major}.{minor}: run it on a GPU of 9.0 (Hopper)")
        }
        other => other.to_string(),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn notices(args: &Args, ceiling: &Ceiling, timing: &Timing) -> Vec<String> {
    let few = (args.steps < LEAST_STEPS).then(|| format!("{} steps are no benchmark: at least {LEAST_STEPS} are", args.steps));
    let tokens = (!timing.same_tokens).then(|| "MPK-R0402: the repetitions did not give the same tokens".to_owned());
    ceiling.notice().into_iter().chain(few).chain(tokens).collect()
}

fn text(r: &Report) -> Result<String, fmt::Error> {
    let mut out = String::new();
    let [first, end] = r.layers;
    let way = if r.chain { "chain" } else { "fused" };
    writeln!(out, "{}: {} layers {}..{}, {way}, batch {}, context {}", r.config, r.model, first, end, r.batch, r.context)?;
    let Ceiling { plain_gb_s, bulk_gb_s, .. } = r.ceiling;
    writeln!(
        out,
        "ceiling    {:.0} GB/s on {} (plain loads {plain_gb_s:.0}, bulk copies {bulk_gb_s:.0})",
        r.ceiling_gb_s, r.device
    )?;
    let [weights, cache] = [r.bytes.weights, r.bytes.cache].map(|bytes| bytes as f64 / 1e6);
    writeln!(
        out,
        "bytes      {} a step: {weights:.1} MB of weights, {cache:.1} MB of cache, {} bytes of embedding rows",
        r.bytes.total(),
        r.bytes.embedding
    )?;
    writeln!(out, "floor      {:.1} µs", r.floor_us)?;
    writeln!(
        out,
        "step       {:.1} µs at best, {:.1} µs in the median of runs of {} steps",
        r.step_us_best, r.step_us_median, r.steps
    )?;
    writeln!(out, "ratio      {:.3} times the floor", r.ratio)?;
    write!(out, "tokens/s   {:.0}", r.tokens_per_second)?;
    if let Some(check) = &r.check {
        let (over, rms) = check.rms_all.map_or(("the five best logits", check.rms_top5), |all| ("all logits", all));
        write!(
            out,
            "\ncheck      {}: rms {:.4} over {over}, at most {:.4}; {} of {} steps differ, at most {}, {} of them by more than rounding",
            if check.pass { "pass" } else { "FAIL" },
            rms.value,
            rms.most,
            check.differing.value,
            check.steps,
            check.differing.most,
            check.wrong.len()
        )?;
    }
    for notice in &r.notices {
        write!(out, "\nnotice     {notice}")?;
    }
    Ok(out)
}
