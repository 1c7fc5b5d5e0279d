//! What comes from other languages and older drafts, each with what is meant.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    pub model Words(cfg: Config) {
        dims { H = hidden_size, V = vocab_size }

        embedding(model.embed_tokens: [V, H]);
        let x = rmsnorm(a: [H], eps = rms_norm_eps);
        linear_v3(x);
        residual rmsnorm(b: [H], eps = cfg.rms_norm_eps);
        layers model.layers[i in 0..cfg.num_hidden_layers] { rmsnorm(c: [H], eps = cfg.rms_norm_eps) }
        layer model.layers[0..cfg.num_hidden_layers] { rmsnorm(d: [H], eps = cfg.rms_norm_eps) }
        linear_v3(e: [J, H]) -> linear_v3(f: [H, J]);
    }
}

mpk_runtime::model! {
    pub model Dims(cfg: Config) {
        dims = { H = hidden_size, V = vocab_size }
        embedding(model.embed_tokens: [V, H]);
    }
}

mpk_runtime::model! {
    pub model Colons(cfg: Config) {
        dims { H: hidden_size; V: vocab_size }
        embedding(model.embed_tokens: [V, H]);
    }
}

mpk_runtime::model! {
    pub model NoConfig { embedding(model.embed_tokens: [V, H]); }
}

fn main() {}
