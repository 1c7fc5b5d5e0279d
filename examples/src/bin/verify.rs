//! Compares a model with reference outputs, or every task with its definition.

use std::error::Error;
use std::fmt::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use examples::RunArgs;
use mpk_runtime::check;
use mpk_runtime::engine::Engine;
use mpk_runtime::goldens::{Comparison, Goldens};

/// Compare a model with reference outputs, or every task with its definition.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Folder of a Hugging Face checkpoint [default: the tiny Qwen3 that ships with the repository]
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Reference outputs [default: goldens.json beside the model]; `logits.safetensors` beside them holds whole logits
    #[arg(long, value_name = "FILE")]
    goldens: Option<PathBuf>,
    /// Check every task against a computation of its definition instead
    #[arg(long, conflicts_with_all = ["model", "goldens", "ranks", "threads", "chain"])]
    tasks: bool,
    #[command(flatten)]
    run: RunArgs,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    examples::finish(run(&Args::parse()))
}

fn run(args: &Args) -> Result<ExitCode, Box<dyn Error>> {
    if args.tasks {
        return tasks(args);
    }
    let dir = args.model.clone().unwrap_or_else(examples::tiny_model);
    let file = args.goldens.clone().unwrap_or_else(|| dir.join("goldens.json"));
    let goldens = Goldens::open(&file)?;
    let mut engine = Engine::load(&dir, args.run.options())?;
    for notice in engine.notices() {
        eprintln!("{notice}");
    }
    let logits = file.with_file_name("logits.safetensors");
    let comparison = goldens.compare(&mut engine, logits.is_file().then_some(logits.as_path()))?;
    if args.json {
        examples::print(serde_json::to_string(&comparison)?)?;
    } else {
        examples::print(table(&goldens.model, &comparison)?)?;
    }
    Ok(if comparison.pass { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tasks(args: &Args) -> Result<ExitCode, Box<dyn Error>> {
    let report = check::run(mpk_tasks::CHECKS, check::start(args.run.options().backend)?);
    if args.json {
        examples::print(serde_json::to_string(&report)?)?;
    } else {
        examples::print(report.to_string())?;
    }
    Ok(if report.pass { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn table(model: &str, c: &Comparison) -> Result<String, fmt::Error> {
    let mut out = String::new();
    writeln!(out, "{:<12} {:>9} {:>6} {:>10} {:>12}  free running", "case", "differing", "wrong", "rms top 5", "rms prompt")?;
    for case in &c.cases {
        writeln!(
            out,
            "{:<12} {:>9} {:>6} {:>10.4} {:>12}  {}",
            case.id,
            case.differing.len(),
            case.wrong.len(),
            case.rms_top5,
            case.rms_prompt.map_or("-".into(), |v| format!("{v:.4}")),
            if case.free_running { "equal" } else { "DIFFERS" }
        )?;
    }
    for (name, figure) in
        [("steps that differ", Some(c.differing)), ("rms top 5", Some(c.rms_top5)), ("rms prompt", c.rms_prompt)]
    {
        match figure {
            Some(figure) => writeln!(out, "{name:<18} {:.4}, at most {:.4}", figure.value, figure.most)?,
            None => writeln!(out, "{name:<18} not compared: no logits.safetensors beside the goldens")?,
        }
    }
    write!(out, "{model}: {} over {} steps", if c.pass { "pass" } else { "FAIL" }, c.steps)?;
    Ok(out)
}
