//! A dense decoder of any size, as several tests use it.

// The lints allow `unwrap` in test functions, and not in what they call.
#![allow(clippy::unwrap_used)]

use mpk_runtime::graph::{Builder, Model, ModelConfig};
use mpk_runtime::model;
use mpk_runtime::plan::{Options, Plan};
use mpk_runtime::rope::{Rope, RopeScaling};
use mpk_runtime::task::TaskDef;
use mpk_tasks::{add, all_reduce, argmax, embedding, linear_v3, paged_attention, rmsnorm, silu_mul};

/// What a dense decoder is made from.
#[derive(serde::Deserialize)]
pub struct Config {
    pub hidden: usize,
    pub inner: usize,
    pub layers: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub vocab: usize,
}

impl ModelConfig for Config {
    fn vocab_size(&self) -> usize {
        self.vocab
    }

    fn max_positions(&self) -> usize {
        40_960
    }
}

model! {
    /// A dense decoder with grouped-query attention.
    pub model Decoder(cfg: Config) {
        dims { H = hidden, I = inner, V = vocab, D = head_dim, Q = heads * head_dim, KV = kv_heads * head_dim }

        embedding(embed: [V, H]);
        layer layers[i in 0..cfg.layers] {
            residual {
                rmsnorm(norm: [H], eps = 1e-6)
                -> linear_v3(attn.{q: [Q, H], k: [KV, H], v: [KV, H]}, shard = column)
                -> paged_attention(q_norm = q_norm: [D], k_norm = k_norm: [D], head_dim = cfg.head_dim,
                                   rope = Rope { theta: 1e6, head_dim: cfg.head_dim, scaling: RopeScaling::Default }, eps = 1e-6)
                -> linear_v3(o: [H, Q], shard = row, y = f32)
                -> all_reduce
            }
            residual {
                rmsnorm(post_norm: [H], eps = 1e-6)
                -> linear_v3(mlp.{gate, up}: [I, H], shard = column)
                -> silu_mul
                -> linear_v3(down: [H, I], shard = row, y = f32)
                -> all_reduce
            }
        }
        rmsnorm(last_norm: [H], eps = 1e-6) -> linear_v3(head: [V, H], shard = column, y = f32) -> argmax;
    }
}

/// A plan of the decoder for `workers` workers a rank.
pub fn plan(config: &Config, workers: usize, ranks: usize, rows: usize, peepholes: &[&'static TaskDef]) -> Plan {
    let mut builder = Builder::new("decoder", ranks, None, false);
    let output = Decoder::build(config, &mut builder).unwrap();
    let graph = builder.finish(output).fused(peepholes).unwrap();
    Plan::new(graph, Options { workers, rows, slots: rows, context: 4096, shared_memory: 227 * 1024 }).unwrap()
}
