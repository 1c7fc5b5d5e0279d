//! The gate of a feed-forward block.

pub(crate) mod check;

use mpk_runtime::mpk_task;

/// `y = silu(gate) · up`, where `x` holds the gate part before the up part; `silu(g) = g / (1 + e^-g)`.
#[mpk_task(roles(consumer(groups = 2)), tiles = I / 64)]
pub fn silu_mul(x: In<[bf16; (T, 2 * I)]>, y: Out<[bf16; (T, I)]>) {
    consumer!("consumer.cuh");
    reference! {
        let own = y.range();
        for t in y.rows() {
            let (gate, up) = (x.part(t, own.clone()), x.part(t, I + own.start..I + own.end));
            for (i, n) in own.clone().enumerate() {
                y.set(t, n, gate[i] / (1.0 + (-gate[i]).exp()) * up[i]);
            }
        }
    }
}
