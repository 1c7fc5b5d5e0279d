//! CUDA C++ inside Rust: its text, where it stands, and what is wrong with it.

mod place;
mod rebuild;

pub use place::Place;
pub use rebuild::Text;
