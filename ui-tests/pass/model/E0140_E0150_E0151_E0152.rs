//! Shapes that agree by symbol, sums that are complete where they are used, and choices by config, layer and constants.

#[path = "../../model_ops.rs"]
mod ops;

use mpk_runtime::model;
use mpk_runtime::mpk_task;
use ops::*;

/// An op whose port is named like the biases of a weight.
#[mpk_task(roles(consumer), tiles = T)]
pub fn shifted(x: In<[bf16; (T, H)]>, w: Weight<[W; (H,)]>, bias: Param<u32>, y: Out<[bf16; (T, H)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0) + bias); }
    reference! {}
}

#[derive(PartialEq)]
pub enum Kind {
    Even,
    Odd,
}

impl Kind {
    fn is_even(&self) -> bool {
        *self == Kind::Even
    }
}

const LAST: usize = 3;

model! {
    pub model Fine(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, II = 2 * I }

        embedding(model.embed_tokens: [V, H]);
        let start = rmsnorm(norm: [H], eps = cfg.rms_norm_eps);
        layer layers[i in 0..cfg.num_hidden_layers] {
            residual {
                linear_v3(up.{a, b}: [I, H], shard = column) -> silu_mul -> linear_v3(down: [H, I], shard = row, y = f32) -> all_reduce
            }
            if Kind::Even.is_even() && i * LAST != 2 { shifted(shift: [H], bias = H) } else { shifted(other: [H], bias = I) }
            add(r = start);
        }
        // Two stacks of as many modules, alike one by one.
        linear_v3(tied(head.{a: [V, H], b: [I, H]}, model.{embed_tokens: [V, H], more: [I, H]}));
    }
}

#[cfg(any())]
model! {
    pub model Nowhere(cfg: NoConfig) { no_op }
}

model! {
    #[cfg(any())]
    pub model NowhereEither(cfg: NoConfig) {
        dims { H = no_field }
        no_op(a: [H])
    }
}
