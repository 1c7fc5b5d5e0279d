//! Generates text: by default with the tiny Qwen3 that ships with the repository.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use examples::RunArgs;
use mpk_runtime::engine::{End, Engine, Params};
use mpk_runtime::text::Message;

/// Generate text with a model.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Folder of a Hugging Face checkpoint [default: the tiny Qwen3 that ships with the repository]
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Continue this text
    #[arg(long, value_name = "TEXT", group = "input")]
    prompt: Option<String>,
    /// Continue these token ids
    #[arg(long, value_name = "1,2,3", value_delimiter = ',', group = "input")]
    prompt_ids: Option<Vec<u32>>,
    /// Answer this message, through the model's chat template
    #[arg(long, value_name = "TEXT", group = "input")]
    chat: Option<String>,
    /// Most tokens to generate
    #[arg(long, default_value_t = 64, value_name = "N")]
    max_new_tokens: usize,
    /// Positions that prompt and text may have together
    #[arg(long, value_name = "N")]
    max_context: Option<usize>,
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
    let dir = args.model.clone().unwrap_or_else(examples::tiny_model);
    let options = mpk_runtime::engine::Options { max_context: args.max_context, ..args.run.options() };
    let mut engine = Engine::load(&dir, options)?;
    for notice in engine.notices() {
        eprintln!("{notice}");
    }

    let tokenizer = engine.tokenizer();
    let ids = match (&args.prompt_ids, &args.chat) {
        (Some(ids), _) => ids.clone(),
        (_, Some(text)) => tokenizer.as_ref().map_err(|e| e.to_string())?.encode_chat(&[Message::new("user", text)])?,
        _ => tokenizer.as_ref().map_err(|e| e.to_string())?.encode(args.prompt.as_deref().unwrap_or("In the beginning"), true)?,
    };

    let params = Params { max_new_tokens: args.max_new_tokens, end: End::Stop };
    let backend = engine.backend();
    let mut generation = engine.generate(&ids, params)?;
    let cancel = generation.canceller();
    ctrlc::set_handler(move || cancel.cancel())?;

    // Ids can be generated without a tokenizer; their text can't.
    let mut stream = tokenizer.as_ref().ok().map(|t| t.stream(&ids, true));
    let (mut out, mut text) = (Vec::new(), String::new());
    if !args.json {
        print!(
            "{}",
            args.prompt.as_deref().unwrap_or(if args.chat.is_none() && args.prompt_ids.is_none() {
                "In the beginning"
            } else {
                ""
            })
        );
    }
    let start = Instant::now();
    for token in &mut generation {
        let token = token?;
        out.push(token.id);
        let piece = match &mut stream {
            Some(stream) => stream.push(token.id).unwrap_or_default(),
            None => format!("{} ", token.id),
        };
        if !args.json {
            print!("{piece}");
            std::io::stdout().flush()?;
        }
        text.push_str(&piece);
    }
    let seconds = start.elapsed().as_secs_f64();
    let rest = stream.and_then(|s| s.finish()).unwrap_or_default();
    text.push_str(&rest);
    let tokens_per_s = out.len() as f64 / seconds;
    if args.json {
        println!(
            "{}",
            serde_json::json!({"prompt_ids": ids, "ids": out, "text": text, "backend": backend, "tokens_per_s": tokens_per_s})
        );
    } else {
        println!("{rest}\n\n{} tokens, {tokens_per_s:.1} tokens/s, backend {backend}", out.len());
    }
    Ok(ExitCode::SUCCESS)
}
