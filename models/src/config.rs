//! The config that the dense decoder families share.

use mpk_runtime::graph::ModelConfig;
use mpk_runtime::rope::{Rope, RopeScaling};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// `config.json` of a dense decoder with grouped-query attention and a gated feed-forward block.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Fields")]
pub struct DenseConfig {
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width of the feed-forward block.
    pub intermediate_size: usize,
    /// Decoder layers.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: usize,
    /// Key/value heads.
    pub num_key_value_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Rows of the embedding.
    pub vocab_size: usize,
    /// Positions the model was made for.
    pub max_position_embeddings: usize,
    /// Added to the mean square in a norm.
    pub rms_norm_eps: f64,
    /// Base of the rope.
    pub rope_theta: f64,
    /// Scaling of the rope.
    pub rope_scaling: RopeScaling,
    /// Whether the head is the embedding.
    pub tie_word_embeddings: bool,
    /// Whether the projections of the attention have a bias.
    pub attention_bias: bool,
    /// Whether the projections of the feed-forward block have a bias.
    pub mlp_bias: bool,
}

/// No model has a larger number in its config: products of two do not overflow.
const LARGEST: usize = i32::MAX as usize;

/// Help where the config asks for what the family does not have.
const OTHER: &str = "\nhelp: use another checkpoint, or write the family that this one is of with `model!`";

/// The fields as they stand in the file, with the defaults of transformers for this type of model.
#[derive(Deserialize)]
struct Fields {
    #[serde(default)]
    model_type: String,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    vocab_size: usize,
    max_position_embeddings: Option<usize>,
    #[serde(default = "default_eps")]
    rms_norm_eps: f64,
    #[serde(default = "default_theta")]
    rope_theta: f64,
    rope_scaling: Option<RopeScaling>,
    #[serde(default)]
    tie_word_embeddings: bool,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    use_sliding_window: bool,
    #[serde(default = "default_act")]
    hidden_act: String,
    quantization_config: Option<IgnoredAny>,
    partial_rotary_factor: Option<f64>,
}

fn default_eps() -> f64 {
    1e-6
}

fn default_theta() -> f64 {
    10_000.0
}

fn default_act() -> String {
    "silu".into()
}

impl TryFrom<Fields> for DenseConfig {
    type Error = String;

    fn try_from(f: Fields) -> Result<Self, String> {
        let positions = if f.model_type.starts_with("qwen") { 32_768 } else { 2048 };
        let max_position_embeddings = f.max_position_embeddings.unwrap_or(positions);
        for (name, value) in [
            ("hidden_size", f.hidden_size),
            ("intermediate_size", f.intermediate_size),
            ("num_hidden_layers", f.num_hidden_layers),
            ("num_attention_heads", f.num_attention_heads),
            ("vocab_size", f.vocab_size),
            ("max_position_embeddings", max_position_embeddings),
            ("num_key_value_heads", f.num_key_value_heads.unwrap_or(1)),
            ("head_dim", f.head_dim.unwrap_or(1)),
        ] {
            if !(1..=LARGEST).contains(&value) {
                return Err(format!("`{name}` is {value}: 1 to {LARGEST} make sense"));
            }
        }
        let kv_heads = f.num_key_value_heads.unwrap_or(f.num_attention_heads);
        if kv_heads == 0 || !f.num_attention_heads.is_multiple_of(kv_heads) {
            return Err(format!(
                "`num_attention_heads` ({}) is not a multiple of `num_key_value_heads` ({kv_heads})",
                f.num_attention_heads
            ));
        }
        let head_dim = match f.head_dim {
            Some(width) => width,
            None if f.model_type == "qwen3" => 128,
            None if f.hidden_size.is_multiple_of(f.num_attention_heads) => f.hidden_size / f.num_attention_heads,
            None => return Err("`hidden_size` is not a multiple of `num_attention_heads`, and there is no `head_dim`".into()),
        };
        if head_dim == 0 || !head_dim.is_multiple_of(2) {
            return Err(format!("`head_dim` is {head_dim}: a rope takes an even width"));
        }
        if f.hidden_act != "silu" {
            return Err(format!("`hidden_act` is `{}`: this family is written with `silu`{OTHER}", f.hidden_act));
        }
        if f.quantization_config.is_some() {
            return Err(
                "`quantization_config` is given: this family reads bf16, f16 and f32 weights\nhelp: use the checkpoint that is not quantized"
                    .into(),
            );
        }
        if f.partial_rotary_factor.is_some_and(|factor| factor != 1.0) {
            return Err(format!("`partial_rotary_factor` is not 1: this family rotates whole heads{OTHER}"));
        }
        if f.use_sliding_window {
            return Err(format!("`use_sliding_window` is true: every layer of this family attends to the whole context{OTHER}"));
        }
        for (name, value) in [("rms_norm_eps", f.rms_norm_eps), ("rope_theta", f.rope_theta)] {
            // Both are used as f32.
            if !(value as f32 > 0.0 && (value as f32).is_finite()) {
                return Err(format!("`{name}` is {value}: a number above 0 makes sense"));
            }
        }
        let rope_scaling = f.rope_scaling.unwrap_or(RopeScaling::Default);
        rope_scaling.check()?;
        Ok(DenseConfig {
            hidden_size: f.hidden_size,
            intermediate_size: f.intermediate_size,
            num_hidden_layers: f.num_hidden_layers,
            num_attention_heads: f.num_attention_heads,
            num_key_value_heads: kv_heads,
            head_dim,
            vocab_size: f.vocab_size,
            max_position_embeddings,
            rms_norm_eps: f.rms_norm_eps,
            rope_theta: f.rope_theta,
            rope_scaling,
            tie_word_embeddings: f.tie_word_embeddings,
            attention_bias: f.attention_bias,
            mlp_bias: f.mlp_bias,
        })
    }
}

impl DenseConfig {
    /// The rope of the attention.
    pub fn rope(&self) -> Rope {
        Rope { theta: self.rope_theta, head_dim: self.head_dim, scaling: self.rope_scaling }
    }
}

impl ModelConfig for DenseConfig {
    fn tie_word_embeddings(&self) -> bool {
        self.tie_word_embeddings
    }

    fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    fn max_positions(&self) -> usize {
        self.max_position_embeddings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_config_leaves_out_is_as_in_transformers() {
        let config = |model_type: &str| -> DenseConfig {
            let json = serde_json::json!({
                "model_type": model_type, "hidden_size": 1024, "intermediate_size": 64, "num_hidden_layers": 1,
                "num_attention_heads": 16, "vocab_size": 100,
            });
            serde_json::from_value(json).unwrap()
        };
        let left_out = |model_type| (config(model_type).head_dim, config(model_type).max_position_embeddings);
        assert_eq!(left_out("llama"), (64, 2048));
        assert_eq!(left_out("qwen2"), (64, 32_768));
        assert_eq!(left_out("qwen3"), (128, 32_768));
        assert_eq!(config("llama").num_key_value_heads, 16);
    }
}
