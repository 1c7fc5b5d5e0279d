//! A dense decoder: checked by symbol, built by value for several ranks.

#[path = "../../model_ops.rs"]
mod ops;

use mpk_runtime::graph::{Builder, Graph, GraphError, Model, ModelConfig};
use mpk_runtime::model;
use mpk_runtime::rope::{Rope, RopeScaling};
use ops::*;

#[derive(Clone, serde::Deserialize)]
pub struct Qwen3Config {
    hidden_size: usize,
    intermediate_size: usize,
    vocab_size: usize,
    head_dim: usize,
    num_attention_heads: u32,
    num_key_value_heads: usize,
    num_hidden_layers: usize,
    rms_norm_eps: f64,
    rope_theta: f64,
    attention_bias: bool,
    tie_word_embeddings: bool,
}

impl Qwen3Config {
    fn rope(&self) -> Rope {
        Rope { theta: self.rope_theta, head_dim: self.head_dim, scaling: RopeScaling::Default }
    }
}

impl ModelConfig for Qwen3Config {
    fn tie_word_embeddings(&self) -> bool {
        self.tie_word_embeddings
    }

    fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    fn max_positions(&self) -> usize {
        40960
    }
}

model! {
    /// Qwen3 dense decoder, 0.6B to 32B.
    pub model Qwen3(cfg: Qwen3Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, D = head_dim,
               Q = num_attention_heads * head_dim, KV = num_key_value_heads * head_dim }

        embedding(model.embed_tokens: [V, H]);

        layer model.layers[i in 0..cfg.num_hidden_layers] {
            residual {
                rmsnorm(input_layernorm: [H], eps = cfg.rms_norm_eps)
                -> linear_v3(self_attn.{q_proj: [Q, H], k_proj: [KV, H], v_proj: [KV, H]}, bias = cfg.attention_bias, shard = column)
                -> paged_attention(q_norm = self_attn.q_norm: [D], k_norm = self_attn.k_norm: [D],
                                   head_dim = cfg.head_dim, rope = cfg.rope(), eps = cfg.rms_norm_eps)
                -> linear_v3(self_attn.o_proj: [H, Q], shard = row, y = f32)
                -> all_reduce
            }
            residual {
                rmsnorm(post_attention_layernorm: [H], eps = cfg.rms_norm_eps)
                -> linear_v3(mlp.{gate_proj, up_proj}: [I, H], shard = column)
                -> silu_mul
                -> linear_v3(mlp.down_proj: [H, I], shard = row, y = f32)
                -> all_reduce
            }
            extra "self_attn.rotary_emb.inv_freq";
        }

        rmsnorm(model.norm: [H], eps = cfg.rms_norm_eps)
        -> linear_v3(tied(lm_head, model.embed_tokens): [V, H], shard = column, y = f32) -> argmax;
    }
}

fn build(cfg: &Qwen3Config, ranks: usize) -> Result<Graph, GraphError> {
    let mut builder = Builder::new(Qwen3::NAME, ranks, None, cfg.tie_word_embeddings());
    let output = Qwen3::build(cfg, &mut builder)?;
    Ok(builder.finish(output))
}

pub fn main() {
    let mut cfg = Qwen3Config {
        hidden_size: 4096,
        intermediate_size: 12288,
        vocab_size: 151936,
        head_dim: 128,
        num_attention_heads: 32,
        num_key_value_heads: 8,
        num_hidden_layers: 36,
        rms_norm_eps: 1e-6,
        rope_theta: 1e6,
        attention_bias: false,
        tie_word_embeddings: false,
    };
    for ranks in [1, 2, 8] {
        let graph = build(&cfg, ranks).unwrap();
        assert_eq!(graph.layers, 0..36);
        assert_eq!(graph.ops.len(), 1 + 36 * (10 + if ranks > 1 { 2 } else { 0 }) + 3);
        let find = |name: &str| graph.weights.iter().find(|w| w.sources()[0].names[0] == name).unwrap();
        let qkv = find("model.layers.7.self_attn.q_proj.weight");
        assert_eq!(qkv.shape(), [6144 / ranks, 4096]);
        assert_eq!(qkv.parts(), [4096 / ranks, 1024 / ranks, 1024 / ranks]);
        assert_eq!(find("model.layers.35.mlp.down_proj.weight").shape(), [4096, 12288 / ranks]);
        assert_eq!(find("lm_head.weight").sources()[0].names, ["lm_head.weight"]);
        assert_eq!(graph.extras[1], "model.layers.1.self_attn.rotary_emb.inv_freq");
        assert_eq!(graph.tensors[graph.output].features(), 1);
    }

    cfg.attention_bias = true;
    cfg.tie_word_embeddings = true;
    let graph = build(&cfg, 2).unwrap();
    let bias = graph.weights.iter().find(|w| w.sources()[0].names[0] == "model.layers.0.self_attn.q_proj.bias").unwrap();
    assert_eq!((bias.shape(), bias.parts()), (vec![3072], vec![2048, 512, 512]));
    assert!(graph.weights.iter().all(|w| w.sources()[0].names[0] != "lm_head.weight"));

    // What the numbers of a config get wrong is an error, never a panic.
    assert!(matches!(build(&cfg, 3), Err(GraphError::Ranks { .. })));
    for absurd in [
        Qwen3Config { num_attention_heads: u32::MAX, head_dim: usize::MAX, ..cfg.clone() },
        Qwen3Config { num_hidden_layers: usize::MAX, ..cfg.clone() },
        Qwen3Config { hidden_size: 0, ..cfg.clone() },
    ] {
        assert!(matches!(build(&absurd, 1), Err(GraphError::Config { .. })));
    }
}
