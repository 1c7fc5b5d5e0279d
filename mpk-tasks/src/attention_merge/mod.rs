//! The sum of all splits of an attention.

pub(crate) mod check;

use mpk_runtime::mpk_task;

/// The attention of each query head from its 16 splits, merged in their order. A tile is one query head.
#[mpk_task(roles(consumer(groups = 1)), tiles = Q / head_dim, inherits(Q, KV))]
pub fn attention_merge(
    part: In<[f32; (T, 16 * (KV / head_dim) * (Q / KV) * (head_dim + 2))]>,
    head_dim: Param<u32>,
    y: Out<[bf16; (T, Q)]>,
) {
    consumer!("consumer.cuh");
    reference! {
        let width = head_dim as usize;
        let group = Q / KV;
        for t in y.rows() {
            let row = part.row(t);
            for head in tiles.clone() {
                let (h, g) = (head / group, head % group);
                let splits: Vec<_> = (0..16)
                    .map(|split| {
                        let start = ((16 * h + split) * group + g) * (width + 2);
                        &row[start..start + width + 2]
                    })
                    .collect();
                let max = splits.iter().map(|s| s[width]).fold(f32::NEG_INFINITY, f32::max);
                // A split without positions has maximum -inf and weight 0.
                let scales: Vec<f32> = splits.iter().map(|s| (s[width] - max).exp()).collect();
                let weight: f32 = splits.iter().zip(&scales).map(|(s, scale)| s[width + 1] * scale).sum();
                for i in 0..width {
                    let sum: f32 = splits.iter().zip(&scales).map(|(s, scale)| s[i] * scale).sum();
                    y.set(t, head * width + i, sum / weight);
                }
            }
        }
    }
}
