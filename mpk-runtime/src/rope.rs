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

impl RopeScaling {
    /// Whether its numbers make sense, as the f32 that frequencies are computed in; the error names the field.
    ///
    /// # Errors
    /// A factor that is not above 0 or not finite, or bands that do not follow each other.
    pub fn check(&self) -> Result<(), String> {
        let positive = |name: &str, value: f64| match value as f32 {
            v if v > 0.0 && v.is_finite() => Ok(()),
            _ => Err(format!("`rope_scaling.{name}` is {value}: a number above 0 makes sense")),
        };
        match *self {
            RopeScaling::Default => Ok(()),
            RopeScaling::Linear { factor } => positive("factor", factor),
            RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
                positive("factor", factor)?;
                positive("low_freq_factor", low_freq_factor)?;
                positive("high_freq_factor", high_freq_factor)?;
                positive("original_max_position_embeddings", original_max_position_embeddings)?;
                if low_freq_factor < high_freq_factor {
                    return Ok(());
                }
                Err(format!(
                    "`rope_scaling.low_freq_factor` is {low_freq_factor}: it must be below `high_freq_factor`, which is {high_freq_factor}"
                ))
            }
        }
    }
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
    ///
    /// # Errors
    /// The system does not give so many bytes.
    pub fn table(&self, positions: usize) -> Result<RopeTable, NoMemory> {
        let len = positions.saturating_mul(self.head_dim / 2 * 2);
        let mut values = Vec::new();
        values.try_reserve_exact(len).map_err(|_| NoMemory { bytes: len.saturating_mul(size_of::<f32>()) })?;
        let frequencies = self.frequencies();
        for position in 0..positions {
            let angles = || frequencies.iter().map(|f| position as f32 * f);
            values.extend(angles().map(f32::cos));
            values.extend(angles().map(f32::sin));
        }
        Ok(RopeTable { values, half: frequencies.len() })
    }
}

/// The system does not give the memory of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system does not give {bytes} bytes for a rope table\nhelp: ask for a shorter context")]
pub struct NoMemory {
    /// Bytes asked for.
    pub bytes: usize,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_can_not_be_had_is_an_error() {
        let rope = Rope { theta: 1e4, head_dim: 64, scaling: RopeScaling::Default };
        assert_eq!(rope.table(usize::MAX).err(), Some(NoMemory { bytes: usize::MAX }));
        assert_eq!(rope.table(3).unwrap().values().len(), 3 * 64);
    }

    #[test]
    fn scalings_without_sense_are_refused() {
        let llama = |factor, low, high, original| RopeScaling::Llama3 {
            factor,
            low_freq_factor: low,
            high_freq_factor: high,
            original_max_position_embeddings: original,
        };
        assert_eq!(llama(8.0, 1.0, 4.0, 8192.0).check(), Ok(()));
        assert_eq!(RopeScaling::Linear { factor: 2.0 }.check(), Ok(()));
        for (scaling, field) in [
            (RopeScaling::Linear { factor: 0.0 }, "factor"),
            (RopeScaling::Linear { factor: -1.0 }, "factor"),
            (RopeScaling::Linear { factor: 1e60 }, "factor"),
            (RopeScaling::Linear { factor: f64::NAN }, "factor"),
            (llama(0.0, 1.0, 4.0, 8192.0), "factor"),
            (llama(8.0, 4.0, 4.0, 8192.0), "low_freq_factor"),
            (llama(8.0, 1.0, 4.0, 0.0), "original_max_position_embeddings"),
        ] {
            assert!(scaling.check().unwrap_err().contains(&format!("rope_scaling.{field}")), "{scaling:?}");
        }
    }
}
