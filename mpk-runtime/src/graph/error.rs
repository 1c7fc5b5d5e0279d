//! Why a graph can't be built.

use thiserror::Error;

/// A graph can't be built from this config.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GraphError {
    /// Two ops do not fit, for the numbers of this config.
    #[error("{op}: {message}")]
    Shape {
        /// The op.
        op: String,
        /// The message of the check, with its code.
        message: String,
    },
    /// A dimension does not divide by the ranks.
    #[error("{op}: {what} of {size} does not divide by {ranks} ranks\nhelp: choose a rank count that divides it")]
    Ranks {
        /// The op.
        op: String,
        /// What is split.
        what: String,
        /// Its extent.
        size: usize,
        /// The ranks.
        ranks: usize,
    },
    /// A number of the config makes no sense.
    #[error("{op}: {message}")]
    Config {
        /// The op.
        op: String,
        /// What is wrong with which value.
        message: String,
    },
}

pub(super) fn shape_error(op: &str, message: String) -> GraphError {
    GraphError::Shape { op: op.into(), message }
}

pub(super) fn config_error(op: &str, message: String) -> GraphError {
    GraphError::Config { op: op.into(), message }
}
