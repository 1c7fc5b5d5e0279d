//! The plans of real models at full size are proven, on one rank and on several.

// A test: it fails where it can't go on.
#![allow(clippy::unwrap_used)]

use models::{DenseConfig, Llama, Qwen3};
use mpk_runtime::graph::{Builder, Graph, Model};
use mpk_runtime::plan::{Options, Plan};
use mpk_runtime::verify::{slice_keeps_head_and_tail, verify};

const QWEN3_8B: &str = r#"{ "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 40960, "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0 }"#;

const LLAMA_1B: &str = r#"{ "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 128256, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0, "tie_word_embeddings": true }"#;

fn graph<M: Model<Config = DenseConfig>>(config: &str, ranks: usize, layers: Option<std::ops::Range<usize>>) -> Graph {
    let config: DenseConfig = serde_json::from_str(config).unwrap();
    let mut builder = Builder::new(M::NAME, ranks, layers, config.tie_word_embeddings);
    let output = M::build(&config, &mut builder).unwrap();
    builder.finish(output)
}

#[test]
fn plans_of_real_models_are_proven() {
    for (graph, rows) in [
        (graph::<Qwen3>(QWEN3_8B, 1, None), 1),
        (graph::<Qwen3>(QWEN3_8B, 1, None), 16),
        (graph::<Qwen3>(QWEN3_8B, 2, Some(0..4)), 1),
        (graph::<Llama>(LLAMA_1B, 1, None), 1),
        (graph::<Llama>(LLAMA_1B, 8, Some(0..2)), 16),
    ] {
        let options = Options { workers: 132, rows, slots: rows, context: 4096, shared_memory: 227 * 1024 };
        let plan = Plan::new(graph, options).unwrap();
        let start = std::time::Instant::now();
        let proof = verify(&plan).unwrap_or_else(|violations| panic!("{}", violations[0]));
        println!("{}proven in {:?}: {proof:?}\n", plan.report(), start.elapsed());
    }
}

#[test]
fn slices_keep_head_and_tail() {
    let full = graph::<Qwen3>(QWEN3_8B, 1, None);
    slice_keeps_head_and_tail(&full, &graph::<Qwen3>(QWEN3_8B, 1, Some(3..5))).unwrap();
}
