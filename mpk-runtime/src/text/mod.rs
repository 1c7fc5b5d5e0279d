//! Text to token ids and back: `tokenizer.json`, the chat template, and streaming of generated text.
//!
//! Nothing here is needed to run a model: prompts can be given as ids.

mod chat;
mod date;
mod error;
mod stream;
#[cfg(test)]
mod tests;
mod tokenizer;

pub use chat::Message;
pub use error::TextError;
pub use stream::TextStream;
pub use tokenizer::Tokenizer;
