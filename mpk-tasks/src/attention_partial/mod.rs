//! Attention over one split of a sequence, for the query heads of one key/value head.

pub(crate) mod check;
mod splits;

use mpk_runtime::mpk_task;
use splits::{Head, SPLITS};

/// For each of 16 splits of a sequence and each query head: the value sum relative to the running maximum (`head_dim` features), the
/// maximum, and the sum of weights. Splits are runs of positions, by the sequence's own length only; the step's own keys
/// belong to the last split. Tile `16 * h + s` is split `s` of key/value head `h`; split 0 appends the step's keys and values.
#[mpk_task(roles(consumer(groups = 2)), smem(scratch(q: [f32; 2048], acc: [f32; 2176], stat: [f32; 256])), tiles = 16 * (KV / head_dim))]
pub fn attention_partial(
    qkv: In<[bf16; (T, Q + KV + KV)]>,
    q_norm: Option<Weight<[bf16; (head_dim,)]>>,
    k_norm: Option<Weight<[bf16; (head_dim,)]>>,
    kv: State<[bf16; (P / 64, 2 * (KV / head_dim), 64, head_dim)]>,
    rows: Rows,
    head_dim: Param<u32>,
    rope: Param<Rope>,
    eps: Param<f32>,
    part: Out<[f32; (T, 16 * (KV / head_dim) * (Q / KV) * (head_dim + 2))]>,
) {
    consumer!("consumer.cuh");
    reference! {
        let head = Head { width: head_dim as usize, kv_heads: KV / head_dim as usize, group: Q / KV, rope, eps };
        let width = head.group * (head.width + 2);
        for tile in tiles.clone() {
            let (h, split) = (tile / SPLITS, tile % SPLITS);
            let keys: Vec<_> = part.rows().map(|t| head.key(&qkv.row(t)[Q..Q + KV], h, k_norm, rows.get(t).position)).collect();
            let values: Vec<_> = part.rows().map(|t| head.slice(&qkv.row(t)[Q + KV..], h).to_vec()).collect();
            for t in part.rows() {
                let own = rows.get(t);
                let queries: Vec<_> = (0..head.group)
                    .map(|g| head.query(&qkv.row(t)[..Q], h * head.group + g, q_norm, own.position))
                    .collect();
                let mut sums = vec![splits::Sum::new(head.width); head.group];
                for position in splits::positions(rows.cached(t), split) {
                    let (page, offset) = rows.place(own.slot, position);
                    let key: Vec<f32> = kv.row(&[page, h, offset]).iter().map(|v| v.to_f32()).collect();
                    let value: Vec<f32> = kv.row(&[page, head.kv_heads + h, offset]).iter().map(|v| v.to_f32()).collect();
                    for (sum, query) in sums.iter_mut().zip(&queries) {
                        sum.add(head.score(query, &key), &value);
                    }
                }
                if split == SPLITS - 1 {
                    for peer in rows.peers(t) {
                        for (sum, query) in sums.iter_mut().zip(&queries) {
                            sum.add(head.score(query, &keys[peer]), &values[peer]);
                        }
                    }
                }
                for (g, sum) in sums.iter().enumerate() {
                    for (i, v) in sum.features().enumerate() {
                        part.set(t, tile * width + g * (head.width + 2) + i, v);
                    }
                }
                if split == 0 {
                    let (page, offset) = rows.place(own.slot, own.position);
                    for i in 0..head.width {
                        kv.set(&[page, h, offset], i, keys[t][i]);
                        kv.set(&[page, head.kv_heads + h, offset], i, values[t][i]);
                    }
                }
            }
        }
    }
}
