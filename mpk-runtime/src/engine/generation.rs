//! Token after token.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Engine, Error};
use crate::step::{Command, Sampled};

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
    /// What has to be fed before the next token: the prompt, or the last token. Empty while the executor goes on by itself.
    pending: Vec<u32>,
    /// The position of the first of them, else of the last token.
    position: usize,
    last: u32,
    left: usize,
    end: End,
    cancel: Cancel,
}

impl<'e> Generation<'e> {
    pub(super) fn new(engine: &'e mut Engine, ids: &[u32], params: Params) -> Self {
        let left = params.max_new_tokens;
        Generation { engine, pending: ids.to_vec(), position: 0, last: 0, left, end: params.end, cancel: Cancel::default() }
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

    /// Feeds what is pending and lets the executor go on from there, for as many tokens as are wanted and fit. `None` where the
    /// context is full or the generation was cancelled: a long prompt is many steps.
    fn begin(&mut self) -> Result<Option<()>, Error> {
        let last = self.position + self.pending.len() - 1;
        let Some(room) = self.engine.context.checked_sub(last).filter(|room| *room > 0) else { return Ok(None) };
        let steps = self.left.min(room).min(self.engine.executor.most_steps());
        let stops = if self.end == End::Stop { self.engine.end_ids.clone() } else { Vec::new() };
        let mut chunks = self.engine.steps_of(&self.pending, self.position);
        let Some(sampling) = chunks.pop() else { return Ok(None) };
        for rows in &chunks {
            if self.cancel.is_set() {
                return Ok(None);
            }
            self.engine.executor.step(rows)?;
        }
        self.engine.executor.start(Command { rows: sampling, steps, stops })?;
        self.pending.clear();
        Ok(Some(()))
    }

    fn token(&mut self) -> Result<Option<Token>, Error> {
        loop {
            if !self.pending.is_empty() && self.begin()?.is_none() {
                return Ok(None);
            }
            if let Some(sampled) = self.engine.executor.receive()? {
                // One sequence: the step gave one token.
                let Some(Sampled { position, token: id, .. }) = sampled.first().copied() else { return Ok(None) };
                let end = self.engine.end_ids.contains(&id);
                self.position = position;
                self.left = if end && self.end == End::Stop { 0 } else { self.left - 1 };
                self.last = id;
                return Ok(Some(Token { id, end }));
            }
            // The command was shorter than the generation.
            self.pending.push(self.last);
        }
    }
}

impl Iterator for Generation<'_> {
    type Item = Result<Token, Error>;

    /// The next token; `None` after the last one, after an end token, or where the context is full.
    fn next(&mut self) -> Option<Self::Item> {
        if self.cancel.is_set() {
            self.left = 0;
        }
        if self.left == 0 {
            return self.engine.executor.abandon().err().map(Err);
        }
        let token = self.token().transpose();
        if !matches!(token, Some(Ok(_))) {
            self.left = 0;
        }
        token
    }
}

impl Drop for Generation<'_> {
    /// The executor does not go on for nobody. An error shows in the next request.
    fn drop(&mut self) {
        let _ = self.engine.executor.abandon();
    }
}
