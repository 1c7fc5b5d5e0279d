//! `tokenizer.json` through the tokenizers library, and the chat template beside it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Deserialize;

use super::chat::{ChatTemplate, Message};
use super::error::TextError;
use super::stream::TextStream;

/// The longest `tokenizer.json` that is read, in bytes; the largest known are a tenth of it.
const LONGEST: u64 = 300_000_000;

/// The tokenizer of a checkpoint.
#[derive(Debug)]
pub struct Tokenizer {
    dir: PathBuf,
    inner: tokenizers::Tokenizer,
    /// Opened when it is first needed: plain text needs none.
    chat: OnceLock<ChatTemplate>,
}

impl Tokenizer {
    /// Opens `tokenizer.json` in the folder `dir`.
    ///
    /// # Errors
    /// [`TextError::NoTokenizer`], [`TextError::File`] or [`TextError::Tokenizer`].
    pub fn open(dir: &Path) -> Result<Self, TextError> {
        let path = dir.join("tokenizer.json");
        if !path.is_file() {
            return Err(TextError::NoTokenizer { dir: dir.to_owned() });
        }
        let text = crate::load::read_text(&path, LONGEST)?;
        let inner = read(&text).map_err(|reason| TextError::Tokenizer { path, reason })?;
        Ok(Self { dir: dir.to_owned(), inner, chat: OnceLock::new() })
    }

    /// The number of ids, special tokens included. A model's vocabulary may be padded beyond it.
    pub fn vocab_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }

    /// The ids of `text`. `add_special` adds what the tokenizer puts around a text of its own, such as a begin token:
    /// right for plain text, wrong for a rendered chat, which writes them itself.
    ///
    /// # Errors
    /// [`TextError::Failed`].
    pub fn encode(&self, text: &str, add_special: bool) -> Result<Vec<u32>, TextError> {
        let encoding = self.inner.encode_fast(text, add_special).map_err(failed)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The text of `ids`. `skip_special` leaves out special tokens such as the end of a turn.
    ///
    /// Ids that the tokenizer does not know give no text: padded rows of a vocabulary are such ids.
    ///
    /// # Errors
    /// [`TextError::Failed`].
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String, TextError> {
        self.inner.decode(ids, skip_special).map_err(failed)
    }

    /// Renders a conversation as the model was trained to see it, up to where its answer begins,
    /// with the template in `chat_template.jinja` or else in `chat_template` of
    /// `tokenizer_config.json`.
    ///
    /// # Errors
    /// [`TextError::NoTemplate`], [`TextError::File`], or [`TextError::Template`] where the
    /// template refuses the messages.
    pub fn chat(&self, messages: &[Message]) -> Result<String, TextError> {
        let template = match self.chat.get() {
            Some(template) => template,
            None => {
                let opened = ChatTemplate::open(&self.dir)?;
                self.chat.get_or_init(|| opened)
            }
        };
        template.render(messages)
    }

    /// The ids of a rendered conversation, see [`Tokenizer::chat`].
    ///
    /// # Errors
    /// As [`Tokenizer::chat`] and [`Tokenizer::encode`].
    pub fn encode_chat(&self, messages: &[Message]) -> Result<Vec<u32>, TextError> {
        self.encode(&self.chat(messages)?, false)
    }

    /// Starts to stream the text of ids that follow `prompt`, which may be empty.
    pub fn stream(&self, prompt: &[u32], skip_special: bool) -> TextStream<'_> {
        TextStream::new(self, prompt, skip_special)
    }
}

/// The library panics on a decoder that is no JSON, so the text is checked before it sees it.
fn read(text: &str) -> Result<tokenizers::Tokenizer, String> {
    #[derive(Deserialize)]
    struct Checked {
        #[serde(rename = "decoder")]
        _decoder: Option<serde_json::Value>,
    }
    serde_json::from_str::<Checked>(text).map_err(|error| error.to_string())?;
    let mut tokenizer: tokenizers::Tokenizer = text.parse().map_err(|error: tokenizers::Error| error.to_string())?;
    // Left over from training: a prompt is neither cut nor filled up.
    tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}

fn failed(error: tokenizers::Error) -> TextError {
    TextError::Failed { reason: error.to_string() }
}
