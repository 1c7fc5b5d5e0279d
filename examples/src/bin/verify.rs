//! Compares a model with reference outputs, or every task with its definition.

use std::error::Error;
use std::fmt::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use examples::RunArgs;
use mpk_runtime::check;
use mpk_runtime::engine::Engine;
use mpk_runtime::goldens::{CaseResult, Comparison, Goldens};

/// Compare a model with reference outputs, or every task with its definition.
///
/// A line for each case of the goldens. `differing` counts the steps whose likeliest token is not the reference's, fed the
/// reference's tokens; `wrong` those of them that bf16 arithmetic does not explain, each of which is a failure. `rms` are errors
/// of logits. `free running` says how many tokens the model gives by itself as the reference does, before the first other one: it
/// must give all those before the first step that differs. The exit code is 1 if a bound does not hold.
#[derive(Parser)]
#[command(name = "verify", version)]
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
        examples::print(table(&goldens, &comparison)?)?;
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

fn table(goldens: &Goldens, c: &Comparison) -> Result<String, fmt::Error> {
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
            free_running(case)
        )?;
    }
    writeln!(out, "{:<18} {}, at most {}", "steps that differ", c.differing.value, c.differing.most)?;
    for (name, figure) in [("rms top 5", Some(c.rms_top5)), ("rms prompt", c.rms_prompt)] {
        match figure {
            Some(figure) => writeln!(out, "{name:<18} {:.4}, at most {:.4}", figure.value, figure.most)?,
            None => writeln!(out, "{name:<18} not compared: no logits.safetensors beside the goldens")?,
        }
    }
    write!(out, "{}: {} over {} steps", goldens.model, if c.pass { "pass" } else { "FAIL" }, c.steps)?;
    if let (false, Some(sha)) = (c.pass, &goldens.safetensors_sha256) {
        // Weights of another model of this shape run all the same.
        write!(
            out,
            "\nhelp: the goldens are of weights with this SHA-256; see that `sha256sum` gives it for those of --model\n  {sha}"
        )?;
    }
    Ok(out)
}

/// How far free running is like the reference.
fn free_running(case: &CaseResult) -> String {
    match case {
        CaseResult { tokens, free_tokens, .. } if free_tokens == tokens => "equal".into(),
        CaseResult { tokens, free_tokens, free_running: true, .. } => format!("equal for {free_tokens} of {tokens}"),
        CaseResult { tokens, free_tokens, .. } => format!("DIFFERS after {free_tokens} of {tokens}"),
    }
}
