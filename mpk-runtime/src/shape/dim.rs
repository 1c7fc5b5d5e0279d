//! Dimensions as polynomials over the fields of a config, comparable in const evaluation.

use super::text::{Text, compare};

const TERMS: usize = 4;
const VARS: usize = 3;

/// One monomial: `coef` times the product of `vars`, which are sorted by name.
#[derive(Clone, Copy, Debug)]
struct Term {
    coef: i64,
    vars: [&'static str; VARS],
    len: usize,
}

const ZERO_TERM: Term = Term { coef: 0, vars: [""; VARS], len: 0 };

/// A dimension: an integer polynomial over named config fields, in normal form (terms sorted by their
/// variables, no zero coefficient). A number is a polynomial without variables, so the same code checks
/// shapes by symbol when a model is compiled and by value when its graph is built.
///
/// An expression that is no polynomial is *opaque*: it equals anything, and is checked by value only.
#[derive(Clone, Copy, Debug)]
pub struct Dim {
    terms: [Term; TERMS],
    len: usize,
    opaque: bool,
}

impl Dim {
    /// Zero.
    pub const ZERO: Dim = Dim { terms: [ZERO_TERM; TERMS], len: 0, opaque: false };
    /// A dimension that is not known by symbol and equals every other.
    pub const OPAQUE: Dim = Dim { opaque: true, ..Dim::ZERO };

    /// A number.
    pub const fn num(n: i64) -> Dim {
        Dim::ZERO.plus_term(Term { coef: n, ..ZERO_TERM })
    }

    /// The value of the config field `name`.
    pub const fn field(name: &'static str) -> Dim {
        let mut vars = [""; VARS];
        vars[0] = name;
        Dim::ZERO.plus_term(Term { coef: 1, vars, len: 1 })
    }

    /// The number this is, if it has no variables.
    pub const fn value(&self) -> Option<i64> {
        match (self.opaque, self.len) {
            (false, 0) => Some(0),
            (false, 1) if self.terms[0].len == 0 => Some(self.terms[0].coef),
            _ => None,
        }
    }

    /// Whether this is [`Dim::OPAQUE`].
    pub const fn is_opaque(&self) -> bool {
        self.opaque
    }

    /// `self + other`.
    pub const fn add(mut self, other: Dim) -> Dim {
        if self.opaque || other.opaque {
            return Dim::OPAQUE;
        }
        let mut i = 0;
        while i < other.len {
            self = self.plus_term(other.terms[i]);
            i += 1;
        }
        self
    }

    /// `self * other`.
    pub const fn mul(self, other: Dim) -> Dim {
        if self.opaque || other.opaque {
            return Dim::OPAQUE;
        }
        let mut sum = Dim::ZERO;
        let mut i = 0;
        while i < self.len {
            let mut j = 0;
            while j < other.len {
                match multiply(self.terms[i], other.terms[j]) {
                    Some(term) => sum = sum.plus_term(term),
                    None => return Dim::OPAQUE,
                }
                j += 1;
            }
            i += 1;
        }
        sum
    }

    /// `self / other`; `None` if the polynomials are known not to divide.
    pub const fn div(self, other: Dim) -> Option<Dim> {
        if self.opaque || other.opaque || other.len == 0 {
            return Some(Dim::OPAQUE);
        }
        // Long division: terms are sorted by degree and then by name, so that each round takes the first one away.
        let (mut quotient, mut rest) = (Dim::ZERO, self);
        while rest.len > 0 {
            let Some(term) = divide(rest.terms[0], other.terms[0]) else { return None };
            let part = Dim::ZERO.plus_term(term);
            quotient = quotient.add(part);
            rest = rest.add(part.mul(other).mul(Dim::num(-1)));
        }
        Some(if rest.opaque { Dim::OPAQUE } else { quotient })
    }

    /// `self / other` rounded up. Known by value only; of symbols it is opaque unless it divides.
    pub const fn div_ceil(self, other: Dim) -> Dim {
        match (self.value(), other.value()) {
            (Some(a), Some(b)) if b > 0 && a >= 0 => Dim::num((a + b - 1) / b),
            _ => match self.div(other) {
                Some(quotient) => quotient,
                None => Dim::OPAQUE,
            },
        }
    }

    /// Whether two dimensions are the same polynomial; an opaque one is the same as any.
    pub const fn same(&self, other: &Dim) -> bool {
        if self.opaque || other.opaque {
            return true;
        }
        if self.len != other.len {
            return false;
        }
        let mut i = 0;
        while i < self.len {
            if self.terms[i].coef != other.terms[i].coef || order(&self.terms[i], &other.terms[i]) != 0 {
                return false;
            }
            i += 1;
        }
        true
    }

    /// `text` followed by this dimension as a person writes it: `2*intermediate_size`.
    pub const fn write(&self, mut text: Text) -> Text {
        if self.opaque {
            return text.str("?");
        }
        if self.len == 0 {
            return text.str("0");
        }
        let mut i = 0;
        while i < self.len {
            let term = &self.terms[i];
            if i > 0 {
                text = text.str(" + ");
            }
            if term.coef != 1 || term.len == 0 {
                text = text.int(term.coef);
            }
            let mut v = 0;
            while v < term.len {
                if v > 0 || term.coef != 1 {
                    text = text.str("*");
                }
                text = text.str(term.vars[v]);
                v += 1;
            }
            i += 1;
        }
        text
    }

    const fn plus_term(mut self, term: Term) -> Dim {
        if self.opaque || term.coef == 0 {
            return self;
        }
        let mut at = 0;
        while at < self.len && order(&self.terms[at], &term) < 0 {
            at += 1;
        }
        if at < self.len && order(&self.terms[at], &term) == 0 {
            match self.terms[at].coef.checked_add(term.coef) {
                Some(coef) => self.terms[at].coef = coef,
                None => return Dim::OPAQUE,
            }
            if self.terms[at].coef == 0 {
                while at + 1 < self.len {
                    self.terms[at] = self.terms[at + 1];
                    at += 1;
                }
                self.len -= 1;
                self.terms[self.len] = ZERO_TERM;
            }
            return self;
        }
        if self.len == TERMS {
            return Dim::OPAQUE;
        }
        let mut i = self.len;
        while i > at {
            self.terms[i] = self.terms[i - 1];
            i -= 1;
        }
        self.terms[at] = term;
        self.len += 1;
        self
    }
}

impl core::fmt::Display for Dim {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.write(Text::new()).as_str())
    }
}

impl PartialEq for Dim {
    fn eq(&self, other: &Dim) -> bool {
        self.same(other)
    }
}

/// Order of two monomials by their variables: more variables first, then by name.
const fn order(a: &Term, b: &Term) -> i32 {
    if a.len != b.len {
        return b.len as i32 - a.len as i32;
    }
    let mut i = 0;
    while i < a.len {
        let c = compare(a.vars[i], b.vars[i]);
        if c != 0 {
            return c;
        }
        i += 1;
    }
    0
}

const fn multiply(a: Term, b: Term) -> Option<Term> {
    let Some(coef) = a.coef.checked_mul(b.coef) else { return None };
    let mut product = Term { coef, ..ZERO_TERM };
    let (mut i, mut j) = (0, 0);
    while i < a.len || j < b.len {
        if product.len == VARS {
            return None;
        }
        let take_a = j == b.len || (i < a.len && compare(a.vars[i], b.vars[j]) <= 0);
        product.vars[product.len] = if take_a { a.vars[i] } else { b.vars[j] };
        product.len += 1;
        if take_a {
            i += 1;
        } else {
            j += 1;
        }
    }
    Some(product)
}

const fn divide(a: Term, b: Term) -> Option<Term> {
    if b.coef == 0 || a.coef % b.coef != 0 {
        return None;
    }
    let mut quotient = Term { coef: a.coef / b.coef, ..ZERO_TERM };
    let (mut i, mut j) = (0, 0);
    while i < a.len {
        if j < b.len && compare(a.vars[i], b.vars[j]) == 0 {
            j += 1;
        } else {
            quotient.vars[quotient.len] = a.vars[i];
            quotient.len += 1;
        }
        i += 1;
    }
    if j == b.len { Some(quotient) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: Dim = Dim::field("hidden_size");
    const D: Dim = Dim::field("head_dim");
    const N: Dim = Dim::field("num_attention_heads");

    #[test]
    fn normal_form_makes_equal_polynomials_equal() {
        const A: Dim = N.mul(D).add(H).add(H);
        const B: Dim = H.mul(Dim::num(2)).add(D.mul(N));
        assert!(A.same(&B));
        assert_eq!(A.to_string(), "head_dim*num_attention_heads + 2*hidden_size");
        assert!(!A.same(&A.add(Dim::num(1))));
        assert!(A.add(A.mul(Dim::num(-1))).same(&Dim::ZERO));
    }

    #[test]
    fn equal_numbers_of_other_symbols_differ() {
        assert!(!H.same(&N.mul(D)));
    }

    #[test]
    fn division_is_exact_or_refused() {
        assert!(N.mul(D).mul(Dim::num(6)).div(D.mul(Dim::num(2))).is_some_and(|q| q.same(&N.mul(Dim::num(3)))));
        assert!(H.div(D).is_none());
        assert!(N.mul(D).add(N.mul(H)).div(D.add(H)).is_some_and(|q| q.same(&N) && !q.is_opaque()));
        assert!(N.mul(D).add(H).div(D.add(H)).is_none() && H.div(Dim::ZERO).is_some_and(|q| q.is_opaque()));
        assert!(H.mul(Dim::num(3)).div(Dim::num(2)).is_none());
        assert_eq!(Dim::num(40).div_ceil(Dim::num(16)).value(), Some(3));
        assert!(H.div_ceil(Dim::num(512)).is_opaque());
    }
}
