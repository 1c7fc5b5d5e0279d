//! Rotary position embedding: an f32 table made on the host.

use serde::{Deserialize, Serialize};

/// The rope of a model: base, width and scaling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rope {
    /// Base of the frequencies.
    pub theta: f64,
    /// Width of a head: frequency `i` of `head_dim / 2` is `theta^(-2i / head_dim)`.
    pub head_dim: usize,
    /// How frequencies are stretched for long contexts.
    pub scaling: RopeScaling,
}

/// How the frequencies are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rope_type", rename_all = "lowercase")]
pub enum RopeScaling {
    /// Not at all.
    Default,
    /// All of them, by a factor.
    Linear {
        /// Divides every frequency.
        factor: f64,
    },
    /// Llama 3: long wavelengths by `factor`, short ones not, smoothly between.
    Llama3 {
        /// Divides the low frequencies.
        factor: f64,
        /// Wavelengths over `original / low_freq_factor` are scaled in full.
        low_freq_factor: f64,
        /// Wavelengths under `original / high_freq_factor` are not scaled.
        high_freq_factor: f64,
        /// The context the model was trained with, in positions.
        original_max_position_embeddings: f64,
    },
}

impl Rope {
    /// Frequencies in radians per position, `head_dim / 2` of them. Llama 3 scaling as in transformers'
    /// `modeling_rope_utils._compute_llama3_parameters`, in f32 as there.
    pub fn frequencies(&self) -> Vec<f32> {
        let half = self.head_dim / 2;
        (0..half)
            .map(|i| {
                let exponent = (2 * i) as f32 / self.head_dim as f32;
                let base = 1.0 / (self.theta as f32).powf(exponent);
                match self.scaling {
                    RopeScaling::Default => base,
                    RopeScaling::Linear { factor } => base / factor as f32,
                    RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
                        let wavelength = 2.0 * std::f64::consts::PI / f64::from(base);
                        let original = original_max_position_embeddings;
                        if wavelength < original / high_freq_factor {
                            base
                        } else if wavelength > original / low_freq_factor {
                            base / factor as f32
                        } else {
                            let smooth = (original / wavelength - low_freq_factor) / (high_freq_factor - low_freq_factor);
                            ((1.0 - smooth) * f64::from(base) / factor + smooth * f64::from(base)) as f32
                        }
                    }
                }
            })
            .collect()
    }

    /// The table for `positions` positions.
    pub fn table(&self, positions: usize) -> RopeTable {
        let frequencies = self.frequencies();
        let mut values = Vec::with_capacity(positions * self.head_dim);
        for position in 0..positions {
            let angles = || frequencies.iter().map(|f| position as f32 * f);
            values.extend(angles().map(f32::cos));
            values.extend(angles().map(f32::sin));
        }
        RopeTable { values, half: frequencies.len() }
    }
}

/// Cosines and sines by position.
#[derive(Clone, Debug)]
pub struct RopeTable {
    values: Vec<f32>,
    half: usize,
}

impl RopeTable {
    /// `head_dim / 2` cosines and as many sines of `position`.
    pub fn at(&self, position: usize) -> (&[f32], &[f32]) {
        let start = position * 2 * self.half;
        self.values[start..start + 2 * self.half].split_at(self.half)
    }

    /// All values: by position, cosines before sines.
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}
