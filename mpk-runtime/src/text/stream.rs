//! Turns ids into text as they come, never a part of a character.

use super::tokenizer::Tokenizer;

/// Ids before the new ones that are decoded along: decoders may treat the first token of a text in their own way.
const CONTEXT: usize = 5;
/// Most ids that are held back for a character to be complete: none has more bytes.
const MOST_HELD: usize = 4;

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
        // The prompt may begin and end inside of a character: the window begins at one, and what is no whole one is held back.
        let whole = |held: usize, more: usize| {
            let end = prompt.len().checked_sub(held)?;
            let begin = prompt.len().saturating_sub(CONTEXT + more).min(end);
            let text = tokenizer.decode(&prompt[begin..end], skip_special).ok()?;
            let cut = text.starts_with(char::REPLACEMENT_CHARACTER) || text.ends_with(char::REPLACEMENT_CHARACTER);
            (!cut).then_some((begin, end - begin))
        };
        let window = (0..=MOST_HELD).find_map(|held| (0..=MOST_HELD).find_map(|more| whole(held, more)));
        let (begin, given) = window.unwrap_or_else(|| {
            let begin = prompt.len().saturating_sub(CONTEXT);
            (begin, prompt.len() - begin)
        });
        Self { tokenizer, skip_special, ids: prompt[begin..].to_vec(), given }
    }

    /// Takes the next id. Returns the text that it completes, if any.
    pub fn push(&mut self, id: u32) -> Option<String> {
        self.ids.push(id);
        let whole = self.text(self.ids.len()).filter(|t| !t.is_empty() && !t.ends_with(char::REPLACEMENT_CHARACTER));
        let (text, end) = match whole {
            Some(text) => (text, self.ids.len()),
            None if self.ids.len() - self.given <= MOST_HELD => return None,
            // No character waits for so many ids: the oldest of them has no other text than this.
            None => (self.text(self.given + 1).unwrap_or_default(), self.given + 1),
        };
        self.ids.drain(..self.given);
        self.given = end - self.given;
        Some(text).filter(|text| !text.is_empty())
    }

    /// Ends the text. Returns what was held back: the replacement characters of an incomplete character.
    pub fn finish(self) -> Option<String> {
        self.text(self.ids.len()).filter(|text| !text.is_empty())
    }

    /// The text of the ids of the window up to `end` that were not given out; none if the decoder fails.
    fn text(&self, end: usize) -> Option<String> {
        let decode = |ids: &[u32]| self.tokenizer.decode(ids, self.skip_special).ok();
        let before = decode(&self.ids[..self.given])?;
        let text = decode(&self.ids[..end])?;
        text.get(before.len()..).map(str::to_owned)
    }
}
