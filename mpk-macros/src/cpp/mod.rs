//! CUDA C++ inside Rust: its text, where it stands, and what is wrong with it.

mod checker;
mod flow;
mod lexer;
mod macros;
mod place;
mod rebuild;
mod scan;
mod state;
mod structure;
mod words;

pub use checker::{Subject, check, located};
pub use place::Place;
pub use rebuild::Text;

/// The names in `text` that stand before `.pages(`.
pub fn streams(text: &str) -> Vec<String> {
    let lexed = lexer::lex(text);
    let tokens = macros::expand(&lexed);
    let pages = tokens.windows(4).filter(|w| w[1].is(".") && w[2].is("pages") && w[3].is("("));
    pages.map(|w| w[0].text.to_string()).collect()
}

/// Whether `text` names one of `words`, in code or in assembly.
pub fn mentions(text: &str, words: &[&str]) -> bool {
    let lexed = lexer::lex(text);
    let macros = lexed.macros.iter().flat_map(|m| &m.body);
    lexed.tokens.iter().chain(macros).any(|token| words.iter().any(|word| token.text.contains(word)))
}
