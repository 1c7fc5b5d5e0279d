//! Random weights that need no checkpoint: each element is a hash of its tensor's name and its index.
//!
//! The same numbers, bit for bit, as the script that writes random checkpoints and their reference logits
//! (`make_checkpoint.py`), so that a program which makes them itself can be held against those.

mod device;

use half::bf16;
use models::DenseConfig;
use mpk_runtime::load::{Config, LoadError};

pub use device::{Generator, Weights};

/// 2^64 over the golden ratio: the increment of splitmix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// Standard deviation of the sum of four 16-bit fields: `sqrt(4 * (2^32 - 1) / 12)`.
const SUM_STD: f64 = 37_837.2;
/// Mean of that sum.
const SUM_MEAN: i32 = 131_070;

/// What the distribution of a tensor depends on beside its own name and shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Layers, among which the branches into the residual stream share its variance.
    pub layers: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Whether the embedding is the head too.
    pub tied: bool,
    /// Whether queries and keys have norms of their own: `model_type` begins with `qwen3`.
    pub qwen3: bool,
}

impl Roles {
    /// The roles in a dense decoder of which the first `layers` layers are run.
    ///
    /// # Errors
    /// A config that is not of a dense decoder.
    pub fn of(config: &Config, layers: usize) -> Result<Roles, LoadError> {
        let dense: DenseConfig = config.deserialize()?;
        let kind = config.get("model_type").and_then(|kind| kind.as_str()).unwrap_or_default();
        Ok(Roles { layers, hidden: dense.hidden_size, tied: dense.tie_word_embeddings, qwen3: kind.starts_with("qwen3") })
    }

    /// Standard deviation and mean of a tensor by its role: norms are near 1 and activations stay of order 1, so that the logits
    /// have a spread of about 3. The rules are those of `init` in `make_checkpoint.py`, as far as dense decoders have such tensors.
    ///
    /// Norms of queries have a mean of 2 so that attention has preferences, as have the query projections where there is no norm.
    pub fn of_tensor(&self, name: &str, shape: &[usize]) -> (f64, f64) {
        if shape.len() == 1 {
            let mean = if name.contains("q_norm") {
                2.0
            } else if name.contains("norm") {
                1.0
            } else {
                0.0
            };
            return (0.1, mean);
        }
        let head = 3.0 / (self.hidden as f64).sqrt();
        if name.contains("embed_tokens") {
            return (if self.tied { head } else { 1.0 }, 0.0);
        }
        if name.contains("lm_head") {
            return (head, 0.0);
        }
        let gain = if name.contains("q_proj") {
            if self.qwen3 { 1.0 } else { 2.0 }
        } else if name.contains("o_proj") || name.contains("down_proj") {
            2.0 * (1.0 / self.layers as f64).sqrt()
        } else {
            1.0
        };
        let inputs = shape.last().copied().unwrap_or(1);
        (gain / (inputs as f64).sqrt(), 0.0)
    }
}

/// A tensor whose elements are computed from their index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tensor {
    key: u64,
    scale: f32,
    mean: f32,
}

impl Tensor {
    /// The tensor of the name that it has in a checkpoint, with `.weight` or `.bias`.
    pub fn new(name: &str, seed: u32, (std, mean): (f64, f64)) -> Tensor {
        let key = (u64::from(crc32(name.as_bytes())) << 32 | u64::from(seed)).wrapping_mul(GOLDEN);
        Tensor { key, scale: (std / SUM_STD) as f32, mean: mean as f32 }
    }

    /// Element `i` in row-major order: splitmix64 of key and index, its four 16-bit fields summed, which is nearly normal, then
    /// scaled. Product and sum are rounded to f32 one by one.
    pub fn element(&self, i: u64) -> bf16 {
        let mut z = self.key.wrapping_add((i + 1).wrapping_mul(GOLDEN));
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        let sum: i32 = (0..4).map(|field| (z >> (16 * field) & 0xffff) as i32).sum();
        bf16::from_f32((sum - SUM_MEAN) as f32 * self.scale + self.mean)
    }
}

/// The CRC-32 of zlib: polynomial 0x04c11db7, reflected.
fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), bit))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const QWEN3_06B: Roles = Roles { layers: 28, hidden: 1024, tied: true, qwen3: true };

    #[test]
    fn the_crc_is_that_of_zlib() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    /// The first elements of three tensors as the script that writes checkpoints makes them.
    #[test]
    fn elements_are_those_of_the_script() {
        let check = |name: &str, shape: &[usize], bits: [u16; 8]| {
            let tensor = Tensor::new(name, 0, QWEN3_06B.of_tensor(name, shape));
            let ours: Vec<u16> = (0..8).map(|i| tensor.element(i).to_bits()).collect();
            assert_eq!(ours, bits, "{name}: {ours:04x?}");
        };
        check("model.embed_tokens.weight", &[151_936, 1024], [0xbd36, 0xbda3, 0xbcd0, 0x3da5, 0x3e52, 0xbccc, 0xbe1d, 0x3ccb]);
        check("model.layers.3.self_attn.q_norm.weight", &[128], [0x4006, 0x4006, 0x4000, 0x4003, 0x3ff5, 0x4005, 0x3ff7, 0x3fea]);
        check(
            "model.layers.3.mlp.down_proj.weight",
            &[1024, 3072],
            [0xbbae, 0xbc2c, 0xbb16, 0x3adb, 0xbc14, 0x3aa4, 0xbc46, 0xbb38],
        );
    }

    #[test]
    fn the_distribution_depends_on_the_role() {
        let llama = Roles { layers: 16, hidden: 2048, tied: false, qwen3: false };
        let close = |(a, b): (f64, f64), (std, mean): (f64, f64)| (a - std).abs() < 1e-12 && b == mean;
        let layer = |name: &str| format!("model.layers.0.{name}");
        for (name, shape, want) in [
            ("model.embed_tokens.weight".into(), vec![128_256, 2048], (1.0, 0.0)),
            ("lm_head.weight".into(), vec![128_256, 2048], (3.0 / 2048f64.sqrt(), 0.0)),
            (layer("self_attn.q_proj.weight"), vec![2048, 2048], (2.0 / 2048f64.sqrt(), 0.0)),
            (layer("self_attn.k_proj.weight"), vec![512, 2048], (1.0 / 2048f64.sqrt(), 0.0)),
            (layer("self_attn.q_proj.bias"), vec![2048], (0.1, 0.0)),
            (layer("self_attn.o_proj.weight"), vec![2048, 2048], (0.5 / 2048f64.sqrt(), 0.0)),
            (layer("mlp.up_proj.weight"), vec![8192, 2048], (1.0 / 2048f64.sqrt(), 0.0)),
            (layer("mlp.down_proj.weight"), vec![2048, 8192], (0.5 / 8192f64.sqrt(), 0.0)),
            (layer("input_layernorm.weight"), vec![2048], (0.1, 1.0)),
        ] {
            assert!(close(llama.of_tensor(&name, &shape), want), "{name}");
        }
        let q = layer("self_attn.q_proj.weight");
        assert!(close(QWEN3_06B.of_tensor(&q, &[2048, 1024]), (1.0 / 32.0, 0.0)));
        assert_eq!(QWEN3_06B.of_tensor(&layer("self_attn.k_norm.weight"), &[128]), (0.1, 1.0));
    }

    #[test]
    fn roles_come_from_the_config() {
        let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/configs");
        let of = |name: &str| Roles::of(&Config::read(&configs.join(name)).unwrap(), 28).unwrap();
        assert_eq!(of("Qwen3-0.6B.json"), QWEN3_06B);
        assert_eq!(of("Llama-3.1-8B.json"), Roles { layers: 28, hidden: 4096, tied: false, qwen3: false });
    }
}
