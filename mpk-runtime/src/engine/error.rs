//! What can go wrong between a folder and a token.

use std::fmt;

use crate::graph::GraphError;
use crate::host::HostError;
use crate::load::LoadError;
use crate::plan::{PlanError, plural};
use crate::text::TextError;
use crate::verify::Violation;

/// Why a model can't be loaded or a token not be made.
#[derive(thiserror::Error)]
pub enum Error {
    /// The checkpoint or its config.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The tokenizer or the chat template.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The graph of this config.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A step.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The verifier refuses the plan: an error in the planner, found before it could hang anything.
    #[error("the plan is not proven and does not run:{}", list(.0))]
    Unproven(Vec<Violation>),
    /// A slice of the model is not what the model is.
    #[error("{0}")]
    Slice(Violation),
    /// The GPU.
    #[error(transparent)]
    Cuda(#[from] crate::cuda::error::CudaError),
    /// The model's value is not a choice among logits.
    #[error("the model does not end in an argmax over logits\nhelp: end it with `-> argmax`: only such models generate tokens")]
    NoLogits,
    /// No ranks to shard over.
    #[error("0 ranks are asked for\nhelp: ask for at least 1")]
    NoRanks,
    /// No threads to run on.
    #[error("0 threads are asked for\nhelp: ask for at least 1")]
    NoThreads,
    /// An empty prompt.
    #[error("the prompt has no tokens\nhelp: give at least one")]
    NoPrompt,
    /// Nothing to generate.
    #[error("0 new tokens are asked for\nhelp: ask for at least 1")]
    NoTokens,
    /// A token id that the model does not have.
    #[error(
        "token id {id} is outside of the vocabulary, which has {vocab} ids\nhelp: give ids below {vocab}; those of another tokenizer mean nothing to this model"
    )]
    Id {
        /// The id.
        id: u32,
        /// Ids are below this.
        vocab: usize,
    },
    /// A prompt that leaves no room.
    #[error(
        "the prompt has {}, and the context of {} has no room for one more\nhelp: shorten the prompt, or ask for a longer context: `max_context` of the options, `--max-context`",
        plural(*tokens, "token"), plural(*context, "position")
    )]
    Prompt {
        /// Tokens of the prompt.
        tokens: usize,
        /// Positions of the context.
        context: usize,
    },
    /// A context that the model was not made for.
    #[error("a context of {asked} positions is asked for\nhelp: ask for 1 to {most}, which the model was made for")]
    Context {
        /// Positions asked for.
        asked: usize,
        /// Positions of the model.
        most: usize,
    },
}

/// What `fn main() -> Result<(), Error>` prints: the text for people.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn list(violations: &[Violation]) -> String {
    violations.iter().map(|v| format!("\n  {v}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_main_returns_is_printed_for_people() {
        let error = Error::Prompt { tokens: 1, context: 1 };
        assert_eq!(format!("{error:?}"), error.to_string());
        assert!(error.to_string().starts_with("the prompt has 1 token, and the context of 1 position has no room"));
    }
}
