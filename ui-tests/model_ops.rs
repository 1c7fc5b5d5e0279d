//! Ops for the tests of `model!`: signatures of the dense, expert and latent-attention families, without work in them.
#![allow(dead_code)]

use mpk_runtime::mpk_task;

/// Defines a task of this signature whose output is `y`.
macro_rules! stand_in {
    ($($name:ident [$($options:tt)*] ($($ports:tt)*);)*) => {$(
        #[mpk_task(roles(consumer), $($options)*)]
        pub fn $name($($ports)*) {
            consumer! { dep_wait(); y.store(0, 0, 0.0f); }
            reference! { () }
        }
    )*};
}

stand_in! {
    embedding [tiles = H] (rows: Rows, w: Weight<[W; (V, H)]>, y: Out<[bf16; (T, H)]>);
    rmsnorm [tiles = T] (x: In<[X; (T, H)]>, w: Weight<[W; (H,)]>, eps: Param<f32>, y: Out<[bf16; (T, H)]>);
    linear_v3 [tiles = N / 16] (x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, bias: Option<Weight<[B; (N,)]>>, y: Out<[Y; (T, N)]>);
    paged_attention [tiles = Q] (
        qkv: In<[bf16; (T, Q + KV + KV)]>, q_norm: Option<Weight<[W; (head_dim,)]>>, k_norm: Option<Weight<[W; (head_dim,)]>>,
        head_dim: Param<u32>, rope: Param<Rope>, eps: Param<f32>, rows: Rows, y: Out<[bf16; (T, Q)]>
    );
    silu_mul [tiles = I] (x: In<[bf16; (T, 2 * I)]>, y: Out<[bf16; (T, I)]>);
    add [tiles = N, additive(x, r)] (x: In<[X; (T, N)]>, r: In<[R; (T, N)]>, y: Out<[R; (T, N)]>);
    all_reduce [tiles = N, collective = sum] (x: In<[X; (T, N)]>, y: Out<[X; (T, N)]>);
    argmax [tiles = T, collective = gather] (x: In<[f32; (T, N)]>, y: Out<[u32; (T, 1)]>);
    topk_route [tiles = T] (
        x: In<[f32; (T, E)]>, bias: Option<Weight<[f32; (E,)]>>, top_k: Param<u32>, rule: Param<u32>, y: Out<[u64; (T, top_k)]>
    );
    moe_linear [tiles = N / 16] (
        x: In<[bf16; (R, K)]>, route: In<[u64; (T, A)]>, w: Weight<[W; (E, N, K)]>, y: Out<[Y; (T * A, N)]>
    );
    moe_combine [tiles = N, additive(x)] (route: In<[u64; (T, A)]>, x: In<[X; (T * A, N)]>, y: Out<[X; (T, N)]>);
    latent_norm [tiles = T] (x: In<[bf16; (T, L + P)]>, w: Weight<[W; (L,)]>, eps: Param<f32>, y: Out<[bf16; (T, L + P)]>);
    mla_attention [tiles = Q / (nope + turned)] (
        q: In<[bf16; (T, Q)]>, kv: In<[bf16; (T, L + turned)]>, kv_b: Weight<[W; (HV, L)]>,
        nope: Param<u32>, turned: Param<u32>, v_dim: Param<u32>, rope: Param<Rope>, rows: Rows,
        y: Out<[bf16; (T, Q / (nope + turned) * v_dim)]>
    );
    linear_residual [tiles = N / 16] (
        x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, r: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>
    );
}

/// An op of two outputs.
#[mpk_task(roles(consumer), tiles = N)]
pub fn halves(x: In<[bf16; (T, 2 * N)]>, y: Out<[bf16; (T, N)]>, z: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); z.store(0, 0, 0.0f); }
    reference! { () }
}

/// A config for models of one or two ops.
#[derive(serde::Deserialize)]
pub struct Config {
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub vocab_size: usize,
    pub num_attention_heads: usize,
    pub head_dim: usize,
    pub num_hidden_layers: usize,
    pub rms_norm_eps: f64,
}

impl mpk_runtime::graph::ModelConfig for Config {
    fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    fn max_positions(&self) -> usize {
        64
    }
}
