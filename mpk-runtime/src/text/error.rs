//! What can go wrong between text and ids.

use std::fmt;
use std::path::PathBuf;

use crate::load::LoadError;

/// Why text could not be turned into ids, or ids into text.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The folder has no `tokenizer.json`.
    #[error(
        "no tokenizer.json in {}\n\
         help: put the checkpoint's tokenizer.json there, or give the prompt as token ids instead of text",
        dir.display()
    )]
    NoTokenizer {
        /// The folder.
        dir: PathBuf,
    },

    /// `tokenizer.json` could not be understood.
    #[error(
        "MPK-L0304: {}: not a tokenizer: {reason}\n\
         help: fetch the file again, or give the prompt as token ids instead of text",
        path.display()
    )]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// What the tokenizers library said.
        reason: String,
    },

    /// A file beside the tokenizer could not be read or has a wrong field.
    #[error(transparent)]
    File(#[from] LoadError),

    /// The tokenizer has no chat template.
    #[error(
        "no chat template in {}: neither chat_template.jinja nor chat_template of tokenizer_config.json{}\n\
         help: give the prompt as plain text, or use the instruction-tuned checkpoint",
        dir.display(), only(names)
    )]
    NoTemplate {
        /// The folder.
        dir: PathBuf,
        /// Names of the templates that are there, where none is the default.
        names: Vec<String>,
    },

    /// The chat template does not parse, does not render, or refuses the messages.
    #[error(
        "the chat template of {} failed: {reason}\n\
         help: check the order and roles of the messages; if they are right, give the prompt as plain text",
        dir.display()
    )]
    Template {
        /// The folder.
        dir: PathBuf,
        /// What the template engine or the template itself said.
        reason: String,
    },

    /// The tokenizer refused a text or ids.
    #[error("the tokenizer failed: {reason}\nhelp: give the prompt as token ids instead of text")]
    Failed {
        /// What the tokenizers library said.
        reason: String,
    },
}

/// What `fn main() -> Result<(), TextError>` prints: the text for people.
impl fmt::Debug for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn only(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(" (only the named {})", names.join(", ")) }
}
