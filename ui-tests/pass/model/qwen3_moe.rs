//! A mixture of experts: routes by name, experts as one weight, layers chosen by the config.

#[path = "../../model_ops.rs"]
mod ops;

use mpk_runtime::graph::{Builder, Graph, Model, ModelConfig, WeightExpr};
use mpk_runtime::model;
use mpk_runtime::rope::{Rope, RopeScaling};
use mpk_runtime::shape::Place;
use ops::*;

#[derive(Clone, serde::Deserialize)]
pub struct Qwen3MoeConfig {
    hidden_size: usize,
    intermediate_size: usize,
    moe_intermediate_size: usize,
    vocab_size: usize,
    head_dim: usize,
    num_attention_heads: usize,
    num_key_value_heads: usize,
    num_hidden_layers: usize,
    num_experts: usize,
    num_experts_per_tok: usize,
    decoder_sparse_step: usize,
    mlp_only_layers: Vec<usize>,
    norm_topk_prob: bool,
    rms_norm_eps: f64,
    rope_theta: f64,
}

impl Qwen3MoeConfig {
    fn rope(&self) -> Rope {
        Rope { theta: self.rope_theta, head_dim: self.head_dim, scaling: RopeScaling::Default }
    }

    fn is_moe(&self, layer: usize) -> bool {
        !self.mlp_only_layers.contains(&layer) && self.num_experts > 0 && (layer + 1).is_multiple_of(self.decoder_sparse_step)
    }

    /// Softmax before the choice, with or without a new norm.
    fn routing(&self) -> u32 {
        u32::from(self.norm_topk_prob)
    }
}

impl ModelConfig for Qwen3MoeConfig {
    fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    fn max_positions(&self) -> usize {
        4096
    }
}

model! {
    /// Qwen3 mixture of experts.
    pub model Qwen3Moe(cfg: Qwen3MoeConfig) {
        dims {
            H = hidden_size, I = intermediate_size, M = moe_intermediate_size, E = num_experts, V = vocab_size, D = head_dim,
            Q = num_attention_heads * head_dim, KV = num_key_value_heads * head_dim
        }

        embedding(model.embed_tokens: [V, H]);

        layer model.layers[i in 0..cfg.num_hidden_layers] {
            residual {
                rmsnorm(input_layernorm: [H], eps = cfg.rms_norm_eps)
                -> linear_v3(self_attn.{q_proj: [Q, H], k_proj: [KV, H], v_proj: [KV, H]}, shard = column)
                -> paged_attention(q_norm = self_attn.q_norm: [D], k_norm = self_attn.k_norm: [D],
                                   head_dim = cfg.head_dim, rope = cfg.rope(), eps = cfg.rms_norm_eps)
                -> linear_v3(self_attn.o_proj: [H, Q], shard = row, y = f32)
                -> all_reduce
            }
            residual {
                let h = rmsnorm(post_attention_layernorm: [H], eps = cfg.rms_norm_eps);
                if cfg.is_moe(i) {
                    let r = h -> linear_v3(mlp.gate: [E, H], y = f32)
                              -> topk_route(top_k = cfg.num_experts_per_tok, rule = cfg.routing());
                    h -> moe_linear(mlp.experts[0..E].{gate_proj, up_proj}: [M, H], route = r, shard = column)
                      -> silu_mul
                      -> moe_linear(mlp.experts[0..E].down_proj: [H, M], route = r, shard = row, y = f32)
                      -> moe_combine(route = r)
                } else {
                    h -> linear_v3(mlp.{gate_proj, up_proj}: [I, H], shard = column)
                      -> silu_mul
                      -> linear_v3(mlp.down_proj: [H, I], shard = row, y = f32)
                }
                all_reduce
            }
        }

        rmsnorm(model.norm: [H], eps = cfg.rms_norm_eps)
        -> linear_v3(tied(lm_head, model.embed_tokens): [V, H], shard = column, y = f32)
        -> argmax;
    }
}

fn build(cfg: &Qwen3MoeConfig, ranks: usize) -> Graph {
    let mut builder = Builder::new(Qwen3Moe::NAME, ranks, None, false);
    let output = Qwen3Moe::build(cfg, &mut builder).unwrap();
    builder.finish(output)
}

fn weight<'g>(graph: &'g Graph, name: &str) -> &'g WeightExpr {
    graph.weights.iter().find(|w| w.sources().iter().any(|s| s.names[0] == name)).unwrap()
}

pub fn main() {
    let cfg = Qwen3MoeConfig {
        hidden_size: 2048,
        intermediate_size: 6144,
        moe_intermediate_size: 768,
        vocab_size: 151936,
        head_dim: 128,
        num_attention_heads: 32,
        num_key_value_heads: 4,
        num_hidden_layers: 48,
        num_experts: 128,
        num_experts_per_tok: 8,
        decoder_sparse_step: 1,
        mlp_only_layers: vec![5],
        norm_topk_prob: true,
        rms_norm_eps: 1e-6,
        rope_theta: 1e6,
    };
    for ranks in [1, 2, 4] {
        let graph = build(&cfg, ranks);
        let experts = weight(&graph, "model.layers.47.mlp.experts.127.up_proj.weight");
        assert_eq!(experts.shape(), [128, 2 * 768 / ranks, 2048]);
        assert_eq!(experts.parts(), [768 / ranks; 2]);
        assert_eq!(experts.sources().len(), 256);
        assert_eq!(experts.sources()[2].names, ["model.layers.47.mlp.experts.1.gate_proj.weight"]);
        assert_eq!(weight(&graph, "model.layers.0.mlp.experts.0.down_proj.weight").shape(), [128, 2048, 768 / ranks]);
        assert_eq!(weight(&graph, "model.layers.5.mlp.gate_proj.weight").shape(), [2 * 6144 / ranks, 2048]);
        assert!(graph.weights.iter().all(|w| !w.sources()[0].names[0].starts_with("model.layers.5.mlp.experts")));

        let layer: Vec<_> = graph.ops.iter().filter(|op| op.layer == Some(0)).collect();
        let down = layer.iter().filter(|op| op.op == "moe_linear").nth(1).unwrap();
        let tensor = &graph.tensors[down.writes().next().unwrap()];
        assert_eq!((tensor.rows, tensor.features()), (8, 2048));
        let combined = layer.iter().find(|op| op.op == "moe_combine").unwrap();
        let tensor = &graph.tensors[combined.writes().next().unwrap()];
        assert_eq!((tensor.rows, tensor.place), (1, if ranks == 1 { Place::Replicated } else { Place::Partial }));
    }
}
