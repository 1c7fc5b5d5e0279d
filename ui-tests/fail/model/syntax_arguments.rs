//! Slips in arguments: all are found in one run.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H]);
        let hidden = linear_v3(a: [I, H], shard = colum);
        let other = hiden -> linear_v3(b: [H, I], shard = rows);
        add(r = othr) -> add(r = other, r = hidden) -> other;
        linear_v3(c, bias = self_attn.bias) -> rmsnorm(d: [H], e: [H], eps = cfg.rms_norm_eps, scale = mlp.scale);
        linear_v3(f: [H, I / 2]) -> linear_v3(g: [H; H]);
    }
}

fn main() {}
