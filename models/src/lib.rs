//! Language models written in `model!`: one file a family.

mod config;
mod llama;
mod qwen2;
mod qwen3;

use mpk_runtime::engine::Family;

pub use config::DenseConfig;
pub use llama::Llama;
pub use qwen2::Qwen2;
pub use qwen3::Qwen3;

/// Every family, for `Engine::load`.
pub static FAMILIES: &[Family] = &[
    Family::of::<Llama>(&["LlamaForCausalLM"], mpk_tasks::TASKS),
    Family::of::<Qwen2>(&["Qwen2ForCausalLM"], mpk_tasks::TASKS),
    Family::of::<Qwen3>(&["Qwen3ForCausalLM"], mpk_tasks::TASKS),
];
