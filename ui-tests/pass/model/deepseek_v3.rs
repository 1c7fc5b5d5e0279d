//! Latent attention, routed and shared experts, sums of partial values: DeepSeek-V3 in full.

#[path = "../../model_ops.rs"]
mod ops;

use mpk_runtime::graph::{Builder, Graph, Model, ModelConfig, WeightExpr};
use mpk_runtime::model;
use mpk_runtime::rope::{Rope, RopeScaling};
use mpk_runtime::shape::Place;
use ops::*;

#[derive(Clone, serde::Deserialize)]
pub struct DeepseekV3Config {
    hidden_size: usize,
    intermediate_size: usize,
    moe_intermediate_size: usize,
    vocab_size: usize,
    num_attention_heads: usize,
    q_lora_rank: usize,
    kv_lora_rank: usize,
    qk_nope_head_dim: usize,
    qk_rope_head_dim: usize,
    v_head_dim: usize,
    num_hidden_layers: usize,
    first_k_dense_replace: usize,
    moe_layer_freq: usize,
    n_routed_experts: usize,
    n_shared_experts: usize,
    num_experts_per_tok: usize,
    rms_norm_eps: f64,
    rope_theta: f64,
}

impl DeepseekV3Config {
    fn rope(&self) -> Rope {
        Rope { theta: self.rope_theta, head_dim: self.qk_rope_head_dim, scaling: RopeScaling::Default }
    }

    fn is_moe(&self, layer: usize) -> bool {
        layer >= self.first_k_dense_replace && layer.is_multiple_of(self.moe_layer_freq)
    }

    /// Sigmoid scores, the best of the best groups.
    fn routing(&self) -> u32 {
        2
    }
}

impl ModelConfig for DeepseekV3Config {
    fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    fn max_positions(&self) -> usize {
        4096
    }
}

model! {
    /// DeepSeek-V3 and R1.
    pub model DeepseekV3(cfg: DeepseekV3Config) {
        dims {
            H = hidden_size, I = intermediate_size, M = moe_intermediate_size, V = vocab_size,
            E = n_routed_experts, S = n_shared_experts * moe_intermediate_size,
            N = num_attention_heads, QL = q_lora_rank, L = kv_lora_rank,
            NOPE = qk_nope_head_dim, TURNED = qk_rope_head_dim, VD = v_head_dim,
            Q = N * (NOPE + TURNED)
        }

        embedding(model.embed_tokens: [V, H]);

        layer model.layers[i in 0..cfg.num_hidden_layers] {
            residual {
                let x = rmsnorm(input_layernorm: [H], eps = cfg.rms_norm_eps);
                let latent = x -> linear_v3(rows(self_attn.kv_a_proj_with_mqa, L, TURNED): [L + TURNED, H])
                               -> latent_norm(self_attn.kv_a_layernorm: [L], eps = cfg.rms_norm_eps);
                x -> linear_v3(self_attn.q_a_proj: [QL, H])
                  -> rmsnorm(self_attn.q_a_layernorm: [QL], eps = cfg.rms_norm_eps)
                  -> linear_v3(self_attn.q_b_proj: [Q, QL], shard = column)
                  -> mla_attention(kv = latent, kv_b = self_attn.kv_b_proj: [N * (NOPE + VD), L], shard = column,
                                   nope = NOPE, turned = TURNED, v_dim = VD, rope = cfg.rope())
                  -> linear_v3(self_attn.o_proj: [H, N * VD], shard = row, y = f32)
                  -> all_reduce
            }
            residual {
                if cfg.is_moe(i) {
                    let h = rmsnorm(post_attention_layernorm: [H], eps = cfg.rms_norm_eps);
                    let r = h -> linear_v3(mlp.gate: [E, H], y = f32)
                              -> topk_route(bias = mlp.gate.e_score_correction_bias: [E], top_k = cfg.num_experts_per_tok,
                                            rule = cfg.routing());
                    let y = h -> moe_linear(mlp.experts[0..E].{gate_proj, up_proj}: [M, H], route = r, shard = column)
                              -> silu_mul
                              -> moe_linear(mlp.experts[0..E].down_proj: [H, M], route = r, shard = row, y = f32)
                              -> moe_combine(route = r);
                    let s = h -> linear_v3(mlp.shared_experts.{gate_proj, up_proj}: [S, H], shard = column)
                              -> silu_mul
                              -> linear_v3(mlp.shared_experts.down_proj: [H, S], shard = row, y = f32);
                    y + s -> all_reduce
                } else {
                    rmsnorm(post_attention_layernorm: [H], eps = cfg.rms_norm_eps)
                    -> linear_v3(mlp.{gate_proj, up_proj}: [I, H], shard = column)
                    -> silu_mul
                    -> linear_v3(mlp.down_proj: [H, I], shard = row, y = f32)
                    -> all_reduce
                }
            }
            extra "self_attn.rotary_emb.inv_freq";
        }

        rmsnorm(model.norm: [H], eps = cfg.rms_norm_eps)
        -> linear_v3(lm_head: [V, H], shard = column, y = f32)
        -> argmax;
    }
}

fn build(cfg: &DeepseekV3Config, ranks: usize) -> Graph {
    let mut builder = Builder::new(DeepseekV3::NAME, ranks, None, false);
    let output = DeepseekV3::build(cfg, &mut builder).unwrap();
    builder.finish(output)
}

fn weight<'g>(graph: &'g Graph, name: &str) -> &'g WeightExpr {
    graph.weights.iter().find(|w| w.sources().iter().any(|s| s.names[0] == name)).unwrap()
}

pub fn main() {
    let cfg = DeepseekV3Config {
        hidden_size: 7168,
        intermediate_size: 18432,
        moe_intermediate_size: 2048,
        vocab_size: 129280,
        num_attention_heads: 128,
        q_lora_rank: 1536,
        kv_lora_rank: 512,
        qk_nope_head_dim: 128,
        qk_rope_head_dim: 64,
        v_head_dim: 128,
        num_hidden_layers: 61,
        first_k_dense_replace: 3,
        moe_layer_freq: 1,
        n_routed_experts: 256,
        n_shared_experts: 1,
        num_experts_per_tok: 8,
        rms_norm_eps: 1e-6,
        rope_theta: 10000.0,
    };
    for ranks in [1, 2, 8] {
        let graph = build(&cfg, ranks);
        assert_eq!(weight(&graph, "model.layers.9.self_attn.q_b_proj.weight").shape(), [128 * 192 / ranks, 1536]);
        assert_eq!(weight(&graph, "model.layers.9.self_attn.kv_b_proj.weight").shape(), [128 * 256 / ranks, 512]);
        assert_eq!(weight(&graph, "model.layers.9.self_attn.kv_a_proj_with_mqa.weight").shape(), [576, 7168]);
        assert_eq!(weight(&graph, "model.layers.9.self_attn.o_proj.weight").shape(), [7168, 128 * 128 / ranks]);
        assert_eq!(weight(&graph, "model.layers.3.mlp.experts.255.up_proj.weight").shape(), [256, 2 * 2048 / ranks, 7168]);
        assert_eq!(weight(&graph, "model.layers.3.mlp.gate.e_score_correction_bias").shape(), [256]);
        assert_eq!(weight(&graph, "model.layers.3.mlp.shared_experts.down_proj.weight").shape(), [7168, 2048 / ranks]);
        assert_eq!(weight(&graph, "model.layers.2.mlp.down_proj.weight").shape(), [7168, 18432 / ranks]);
        assert!(graph.extras.contains(&"model.layers.60.self_attn.rotary_emb.inv_freq".to_string()));

        // Routed and shared experts are summed while both are partial, and collected once.
        let layer: Vec<_> = graph.ops.iter().filter(|op| op.layer == Some(3)).map(|op| op.op).collect();
        let tail = ["moe_combine", "linear_v3", "silu_mul", "linear_v3", "add", "all_reduce", "add"];
        let tail: Vec<_> = tail.into_iter().filter(|op| ranks > 1 || *op != "all_reduce").collect();
        assert!(layer.ends_with(&tail), "{layer:?}");
        let sum = graph.ops.iter().find(|op| {
            op.layer == Some(3) && op.label().ends_with("add") && op.writes().any(|t| graph.tensors[t].place == Place::Partial)
        });
        assert_eq!(sum.is_some(), ranks > 1);
    }
}
