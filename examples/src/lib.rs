//! What the programs share: the checkpoint that ships with them, and how they end.

mod interrupt;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub use interrupt::{INTERRUPTED, Interrupt};
use mpk_runtime::engine::{Backend, Options};

/// The examples of the reference are compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/reference.md")]
struct Reference;

/// The folder of the tiny Qwen3 that ships with the programs: beside the program if it was bundled, else in the source tree.
pub fn tiny_model() -> PathBuf {
    let bundled = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join("tiny-qwen3")));
    match bundled {
        Some(dir) if dir.is_dir() => dir,
        _ => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tiny-qwen3")),
    }
}

/// Options of every program that runs a model.
#[derive(Clone, Debug, clap::Args)]
pub struct RunArgs {
    /// Where to run
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: BackendArg,
    /// Ranks to shard the model over, all in this process
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub ranks: usize,
    /// Threads of the host executor (all cores); they never change the result
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Run the unfused chain of the model's ops
    #[arg(long)]
    pub chain: bool,
}

/// `--backend`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum BackendArg {
    /// A GPU if one can run the model, else the host
    Auto,
    /// The CPU
    Host,
    /// A GPU
    Cuda,
}

impl RunArgs {
    /// The library's options, for all families of `models`.
    pub fn options(&self) -> Options {
        Options {
            backend: match self.backend {
                BackendArg::Auto => Backend::Auto,
                BackendArg::Host => Backend::Host,
                BackendArg::Cuda => Backend::Cuda,
            },
            ranks: self.ranks,
            threads: self.threads,
            chain: self.chain,
            ..Options::new(models::FAMILIES)
        }
    }
}

/// Ends a program: bad input is one error on stderr and exit code 2.
pub fn finish(result: Result<ExitCode, Box<dyn std::error::Error>>) -> ExitCode {
    result.unwrap_or_else(|error| {
        let closed = error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe);
        if closed {
            // The reader has what it wanted, as in `generate | head -1`.
            return ExitCode::SUCCESS;
        }
        // Nobody is left to tell if stderr is closed too.
        let _ = writeln!(io::stderr(), "error: {error}");
        ExitCode::from(2)
    })
}

/// Prints a text and a line end. A reader that leaves early has what it wanted.
///
/// # Errors
/// Stdout can't be written.
pub fn print(text: String) -> io::Result<()> {
    match writeln!(io::stdout(), "{text}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a file whole or not at all; the error names it.
///
/// # Errors
/// The folder can't be written, or the disk is full.
pub fn write_file(path: &Path, text: &str) -> Result<(), String> {
    let failed = |error: io::Error| {
        format!("cannot write {}: {error}\nhelp: check the folder, its permissions and the room on the disk", path.display())
    };
    // A device or pipe can't be renamed onto.
    if path.exists() && !path.is_file() {
        return std::fs::write(path, text).map_err(failed);
    }
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path)).map_err(|error| {
        let _ = std::fs::remove_file(&part);
        failed(error)
    })
}

/// A range as `A..B`.
pub fn range(text: &str) -> Result<std::ops::Range<usize>, String> {
    let ends = text.split_once("..").and_then(|(a, b)| Some(a.trim().parse().ok()?..b.trim().parse().ok()?));
    match ends {
        Some(range) if !range.is_empty() => Ok(range),
        Some(range) => {
            Err(format!("`{text}` is empty: write `{0}..{1}` for {0} alone", range.start, range.start.saturating_add(1)))
        }
        None => Err(format!("`{text}` is not a range: write `0..4` for the first four")),
    }
}
