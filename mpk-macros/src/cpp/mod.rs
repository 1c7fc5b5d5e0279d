//! CUDA C++ inside Rust: its text, where it stands, and what is wrong with it.

mod assembly;
mod checker;
mod diverge;
mod flow;
mod lexer;
mod macros;
mod pages;
mod place;
mod rebuild;
mod scan;
mod structure;
mod team;
mod this;
mod words;

pub use checker::{Subject, check, located};
pub use place::Place;
pub use rebuild::Text;
pub use words::INSIDES;

/// A text as the compiler's parser sees it: macros expanded, and members without `this->`.
fn read(text: &str) -> lexer::Lexed<'_> {
    let mut lexed = lexer::lex(text);
    macros::expand(&mut lexed);
    lexed.tokens = this::without(&lexed.tokens);
    lexed
}

/// The names in `text` that stand before `.pages(`.
pub fn streams(text: &str) -> Vec<String> {
    let lexed = read(text);
    let pages = lexed.tokens.windows(4).filter(|w| w[1].is(".") && w[2].is("pages") && w[3].is("("));
    pages.map(|w| w[0].text.to_string()).collect()
}

/// Whether `text` names one of `words`, in code or in assembly.
pub fn mentions(text: &str, words: &[&str]) -> bool {
    read(text).tokens.iter().any(|token| words.iter().any(|word| token.text.contains(word)))
}

/// The names of the macros that `text` defines.
pub fn defines(text: &str) -> Vec<String> {
    lexer::lex(text).macros.iter().map(|m| m.name.to_string()).collect()
}
