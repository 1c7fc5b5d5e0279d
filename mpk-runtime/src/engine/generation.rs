//! Token after token.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Engine, Error};

/// What is asked of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Most tokens to generate.
    pub max_new_tokens: usize,
    /// What an end token does.
    pub end: End,
}

/// What an end token does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It is the last token.
    Stop,
    /// It is a token like any other.
    Ignore,
}

/// A generated token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its id.
    pub id: u32,
    /// Whether it is an end token of the model.
    pub end: bool,
}

/// Ends a generation from another thread or a signal handler, before its next token.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends the generation.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked for.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The tokens of one request. Dropping it ends the request.
pub struct Generation<'e> {
    engine: &'e mut Engine,
    /// What is fed next: the prompt, then the last token.
    pending: Vec<u32>,
    position: usize,
    left: usize,
    end: End,
    cancel: Cancel,
}

impl<'e> Generation<'e> {
    pub(super) fn new(engine: &'e mut Engine, ids: &[u32], params: Params) -> Self {
        let left = params.max_new_tokens;
        Generation { engine, pending: ids.to_vec(), position: 0, left, end: params.end, cancel: Cancel::default() }
    }

    /// Ends the generation before its next token.
    pub fn cancel(&mut self) {
        self.cancel.cancel();
    }

    /// A handle that ends the generation from elsewhere.
    pub fn canceller(&self) -> Cancel {
        self.cancel.clone()
    }

    /// The same tokens, ended by `cancel`: for a handle that is older than the generation, such as that of a signal handler.
    pub fn cancelled_by(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }
}

impl Iterator for Generation<'_> {
    type Item = Result<Token, Error>;

    /// The next token; `None` after the last one, after an end token, or where the context is full.
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 || self.cancel.is_set() || self.position + self.pending.len() > self.engine.context {
            return None;
        }
        let cancel = &self.cancel;
        let engine = &mut *self.engine;
        let row = engine.feed(&self.pending, self.position, || cancel.is_set());
        let id = match row.and_then(|row| row.map(|row| engine.sampled(row)).transpose()) {
            Ok(Some(id)) => id,
            Ok(None) => return None,
            Err(error) => {
                self.left = 0;
                return Some(Err(error));
            }
        };
        let end = self.engine.end_ids.contains(&id);
        self.position += self.pending.len();
        self.pending = vec![id];
        self.left = if end && self.end == End::Stop { 0 } else { self.left - 1 };
        Some(Ok(Token { id, end }))
    }
}
