//! Generates text: by default with the tiny Qwen3 that ships with the repository.

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use examples::{INTERRUPTED, Interrupt, RunArgs};
use mpk_runtime::engine::{End, Engine, Options, Params, Token};
use mpk_runtime::text::Message;
use serde_json::json;

/// Generate text with a model, always the likeliest token.
///
/// The text is streamed to stdout; the last line of stdout is `N tokens, R tokens/s, backend B`. For other programs `--json` prints
/// one object instead: prompt_ids, ids, text (empty where the checkpoint has no tokenizer), backend and tokens_per_s. What else is
/// to be said goes to stderr. Ctrl-C ends the text: the last line is printed and the exit code is 130. Bad input is one error and
/// exit code 2.
#[derive(Parser)]
#[command(name = "generate", version)]
struct Args {
    /// Folder of a Hugging Face checkpoint [default: the tiny Qwen3 that ships with the repository]
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Continue this text
    #[arg(long, value_name = "TEXT", group = "input", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// Continue these token ids; where the checkpoint has no tokenizer, ids are printed too
    #[arg(long, value_name = "1,2,3", value_delimiter = ',', value_parser = token_id, group = "input")]
    prompt_ids: Option<Vec<u32>>,
    /// Answer this message, through the model's chat template
    #[arg(long, value_name = "TEXT", group = "input", allow_hyphen_values = true)]
    chat: Option<String>,
    /// Most tokens to generate
    #[arg(long, default_value_t = 64, value_name = "N")]
    max_new_tokens: usize,
    /// Positions that prompt and text may have together [default: what the config says, at most 8192]
    #[arg(long, value_name = "N")]
    max_context: Option<usize>,
    #[command(flatten)]
    run: RunArgs,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// One of `--prompt-ids`.
fn token_id(text: &str) -> Result<u32, String> {
    let id = text.trim();
    id.parse().map_err(|_| format!("`{id}` is no token id: give whole numbers from 0 to {}, with commas between them", u32::MAX))
}

fn main() -> ExitCode {
    examples::finish(run(&Args::parse()))
}

fn run(args: &Args) -> Result<ExitCode, Box<dyn Error>> {
    let interrupt = Interrupt::install()?;
    let dir = args.model.clone().unwrap_or_else(examples::tiny_model);
    let mut engine = Engine::load(&dir, Options { max_context: args.max_context, ..args.run.options() })?;
    let tokenizer = engine.tokenizer();
    // Nothing to continue is asked for: the tiny model knows how this goes on.
    let given = args.prompt_ids.is_some() || args.chat.is_some();
    let prompt = args.prompt.as_deref().unwrap_or(if given { "" } else { "In the beginning" });
    let ids = match (&args.prompt_ids, &args.chat, &tokenizer) {
        (Some(ids), ..) => ids.clone(),
        (_, _, Err(error)) => return Err(error.to_string().into()),
        (_, Some(text), Ok(tokenizer)) => tokenizer.encode_chat(&[Message::new("user", text)])?,
        (.., Ok(tokenizer)) => tokenizer.encode(prompt, true)?,
    };

    let (backend, context, notices) = (engine.backend(), engine.context(), engine.notices().to_vec());
    let params = Params { max_new_tokens: args.max_new_tokens, end: End::Stop };
    let generation = engine.generate(&ids, params)?.cancelled_by(interrupt.begin());
    notices.iter().for_each(|notice| eprintln!("{notice}"));
    // Ids can be continued without a tokenizer; then they are shown as they are.
    let mut stream = tokenizer.as_ref().ok().map(|t| t.stream(&ids, true));
    let mut stdout = io::stdout().lock();
    let mut show = |piece: &str| if args.json { Ok(()) } else { write!(stdout, "{piece}").and_then(|()| stdout.flush()) };
    show(prompt)?;
    let (mut out, mut text) = (Vec::new(), String::new());
    let mut ended = false;
    let start = Instant::now();
    for token in generation {
        let Token { id, end } = token?;
        out.push(id);
        ended = end;
        match &mut stream {
            Some(stream) => {
                let piece = stream.push(id).unwrap_or_default();
                show(&piece)?;
                text.push_str(&piece);
            }
            None => show(&format!("{id} "))?,
        }
    }
    let tokens_per_s = out.len() as f64 / start.elapsed().as_secs_f64();
    let rest = stream.and_then(|s| s.finish()).unwrap_or_default();
    text.push_str(&rest);
    let tokens = if out.len() == 1 { "token" } else { "tokens" };
    show(&format!("{rest}\n\n{} {tokens}, {tokens_per_s:.1} tokens/s, backend {backend}\n", out.len()))?;
    if out.len() < args.max_new_tokens && !ended && !interrupt.came() {
        eprintln!("ended: the context of {context} positions is full; see `--max-context`");
    }
    if args.json {
        let object = json!({"prompt_ids": ids, "ids": out, "text": text, "backend": backend, "tokens_per_s": tokens_per_s});
        writeln!(stdout, "{object}")?;
    }
    Ok(if interrupt.came() { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}
