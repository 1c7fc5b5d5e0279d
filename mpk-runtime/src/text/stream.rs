//! Turns ids into text as they come, never a part of a character.

use super::tokenizer::Tokenizer;

/// Ids before the new ones that are decoded along: decoders may treat the first token of a text in their own way.
const CONTEXT: usize = 5;

/// Text of a growing list of ids.
///
/// What is new is the difference of two decodings: of a window of recent ids, and of that window with the new id.
/// While the longer one ends in the replacement character, a character is not complete and nothing is given out.
#[derive(Debug)]
pub struct TextStream<'a> {
    tokenizer: &'a Tokenizer,
    skip_special: bool,
    /// The window: ids whose text was given out, then ids whose text was not.
    ids: Vec<u32>,
    /// How many ids of the window were given out.
    given: usize,
}

impl<'a> TextStream<'a> {
    pub(super) fn new(tokenizer: &'a Tokenizer, prompt: &[u32], skip_special: bool) -> Self {
        let ids = prompt[prompt.len().saturating_sub(CONTEXT)..].to_vec();
        Self { tokenizer, skip_special, given: ids.len(), ids }
    }

    /// Takes the next id. Returns the text that it completes, if any.
    pub fn push(&mut self, id: u32) -> Option<String> {
        self.ids.push(id);
        let new = self.new_text()?;
        if new.is_empty() || new.ends_with(char::REPLACEMENT_CHARACTER) {
            return None;
        }
        self.ids.drain(..self.given);
        self.given = self.ids.len();
        Some(new)
    }

    /// Ends the text. Returns what was held back: the replacement characters of an incomplete character.
    pub fn finish(self) -> Option<String> {
        self.new_text().filter(|text| !text.is_empty())
    }

    /// The text of the ids that were not given out. A decoder that fails gives none, now or later.
    fn new_text(&self) -> Option<String> {
        let decode = |ids: &[u32]| self.tokenizer.decode(ids, self.skip_special).ok();
        let before = decode(&self.ids[..self.given])?;
        let text = decode(&self.ids)?;
        text.get(before.len()..).map(str::to_owned)
    }
}
