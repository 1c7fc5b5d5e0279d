//! Sizes computed from a config: whatever it says, the result is a sane number or an error.

use std::ops::{Add, Mul};

use super::GraphError;

/// A size under computation; what overflows, or was negative, is no size and stays none.
#[derive(Clone, Copy, Debug)]
pub struct Size(Option<usize>);

/// No dimension of a model is larger: products of two stay far from overflow.
const LARGEST: usize = i32::MAX as usize;
/// No model has more layers, nor a layer more experts: building their list must end.
const MOST: usize = 1 << 12;

impl Size {
    /// A number of the config or of the model.
    pub fn of<T: TryInto<usize>>(value: T) -> Size {
        Size(value.try_into().ok())
    }

    /// The number.
    ///
    /// # Errors
    /// It is negative or absurdly large; `what` says which dimension of `model` it is.
    pub fn get(self, model: &str, what: &str) -> Result<usize, GraphError> {
        self.at_most(LARGEST, model, what)
    }

    /// The number, as a count of layers or experts.
    ///
    /// # Errors
    /// As for [`Size::get`], with a bound fit for counts.
    pub fn count(self, model: &str, what: &str) -> Result<usize, GraphError> {
        self.at_most(MOST, model, what)
    }

    fn at_most(self, most: usize, model: &str, what: &str) -> Result<usize, GraphError> {
        self.0.filter(|n| *n <= most).ok_or_else(|| GraphError::Config {
            op: model.into(),
            message: format!("`{what}` is negative or larger than {most} for this config\nhelp: check the fields of the config that it is made of"),
        })
    }
}

impl Add for Size {
    type Output = Size;

    fn add(self, other: Size) -> Size {
        Size(self.0.zip(other.0).and_then(|(a, b)| a.checked_add(b)))
    }
}

impl Mul for Size {
    type Output = Size;

    fn mul(self, other: Size) -> Size {
        Size(self.0.zip(other.0).and_then(|(a, b)| a.checked_mul(b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_computed_or_refused() {
        assert_eq!((Size::of(3_u32) * Size::of(4_usize) + Size::of(1)).get("m", "d"), Ok(13));
        for absurd in
            [Size::of(usize::MAX) * Size::of(2), Size::of(usize::MAX) + Size::of(1), Size::of(-1_i64), Size::of(1_u64 << 40)]
        {
            assert!(matches!(absurd.get("m", "d"), Err(GraphError::Config { .. })));
        }
        assert!(Size::of(1 << 20).count("m", "experts").is_err());
    }
}
