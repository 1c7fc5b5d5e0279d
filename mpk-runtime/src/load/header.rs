//! Reads the JSON header of a safetensors file leniently, so that every wrong field of it can be reported.
//!
//! Types are not checked while parsing: each value is taken as it is ([`Shallow`]) and judged in [`super::layout`],
//! entry by entry, so that nothing is kept of what is refused.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::findings::Findings;
use super::layout::{self, Placed};

/// The key that is no tensor.
const METADATA: &str = "__metadata__";

/// The most tensors in one file; 58 layers of 256 experts, weights and scales, are 89,088 over all shards.
const MOST_TENSORS: usize = 1 << 19;

/// The most dimensions that a tensor may have.
pub(super) const MOST_DIMS: usize = 8;

/// One tensor as its header entry says.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub name: String,
    pub dtype: Shallow,
    pub shape: Shallow,
    pub data_offsets: Shallow,
}

/// Parses a header. Every tensor whose fields are right comes back, everything wrong goes to `findings`; `data_len` is
/// the number of bytes after the header. `Err` is the JSON reader's own message.
pub(super) fn parse(json: &str, data_len: usize, findings: &mut Findings) -> Result<Vec<Placed>, serde_json::Error> {
    let mut placed = Vec::new();
    let mut reader = serde_json::Deserializer::from_str(json);
    HeaderSeed { placed: &mut placed, data_len, findings }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(placed)
}

/// A JSON value of any type; of a list only as much as a shape may need.
#[derive(Debug, Default, PartialEq)]
pub(super) enum Shallow {
    /// The field is not there.
    #[default]
    Absent,
    Number(u64),
    Text(String),
    /// The first elements, and how many there are.
    List(Vec<Shallow>, usize),
    /// What it is instead, for messages.
    Other(&'static str),
}

impl fmt::Display for Shallow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "absent",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(..) => "a list",
            Self::Other(what) => what,
        })
    }
}

impl<'de> serde::Deserialize<'de> for Shallow {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ShallowVisitor)
    }
}

struct ShallowVisitor;

impl<'de> Visitor<'de> for ShallowVisitor {
    type Value = Shallow;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Shallow, E> {
        Ok(Shallow::Other("null"))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shallow, E> {
        Ok(Shallow::Other("a boolean"))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Shallow, E> {
        Ok(Shallow::Number(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shallow, E> {
        Ok(Shallow::Other("a negative number"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shallow, E> {
        Ok(Shallow::Other("not a whole number of 64 bits"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Shallow, E> {
        Ok(Shallow::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shallow, A::Error> {
        let mut first = Vec::new();
        while first.len() < MOST_DIMS {
            match list.next_element()? {
                Some(value) => first.push(value),
                None => break,
            }
        }
        let mut length = first.len();
        while list.next_element::<IgnoredAny>()?.is_some() {
            length += 1;
        }
        Ok(Shallow::List(first, length))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shallow, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Shallow::Other("an object"))
    }
}

/// The whole header: tensor names to entries, and `__metadata__`.
struct HeaderSeed<'a> {
    placed: &'a mut Vec<Placed>,
    data_len: usize,
    findings: &'a mut Findings,
}

impl<'de> DeserializeSeed<'de> for HeaderSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for HeaderSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut metadata_seen, mut entries) = (false, 0);
        while let Some(name) = map.next_key::<String>()? {
            if name == METADATA {
                if metadata_seen {
                    self.findings.add(METADATA, "given twice".to_owned());
                }
                metadata_seen = true;
                map.next_value_seed(FieldsSeed(Fields::Metadata(self.findings)))?;
                continue;
            }
            entries += 1;
            if entries > MOST_TENSORS {
                return Err(serde::de::Error::custom(format!("more than {MOST_TENSORS} tensors")));
            }
            let mut entry = Entry { name, ..Entry::default() };
            let fields = Fields::Tensor(&mut entry, self.findings);
            if map.next_value_seed(FieldsSeed(fields))? {
                self.placed.extend(layout::place(entry, self.data_len, self.findings));
            }
        }
        Ok(())
    }
}

/// Where the fields of one object of the header go.
enum Fields<'a> {
    Metadata(&'a mut Findings),
    Tensor(&'a mut Entry, &'a mut Findings),
}

impl Fields<'_> {
    fn take(&mut self, field: String, value: Shallow) {
        match self {
            Self::Metadata(findings) => {
                if !matches!(value, Shallow::Text(_)) {
                    let what = format!("is {value}; metadata are strings");
                    findings.add_in(METADATA, &field, what);
                }
            }
            Self::Tensor(entry, findings) => {
                let place = match field.as_str() {
                    "dtype" => &mut entry.dtype,
                    "shape" => &mut entry.shape,
                    "data_offsets" => &mut entry.data_offsets,
                    // Later versions of the format may say more about a tensor.
                    _ => return,
                };
                if *place != Shallow::Absent {
                    findings.add_in(&entry.name, &field, "given twice".to_owned());
                }
                *place = value;
            }
        }
    }

    fn not_an_object(self, value: Shallow) {
        let (name, findings) = match self {
            Self::Metadata(findings) => (METADATA, findings),
            Self::Tensor(entry, findings) => (entry.name.as_str(), findings),
        };
        findings.add(name, format!("is {value}, not an object"));
    }
}

/// Reads one object into its place; `false` if it is no object, which is then reported.
struct FieldsSeed<'a>(Fields<'a>);

impl<'de> DeserializeSeed<'de> for FieldsSeed<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_any(self)
    }
}

/// Hands the scalar cases to [`Shallow`], so that an entry that is no object is a problem and not a stop.
macro_rules! not_an_object {
    ($($visit:ident($type:ty)),*) => {
        $(fn $visit<E: serde::de::Error>(self, value: $type) -> Result<bool, E> {
            self.0.not_an_object(ShallowVisitor.$visit(value)?);
            Ok(false)
        })*
    };
}

impl<'de> Visitor<'de> for FieldsSeed<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    not_an_object!(visit_bool(bool), visit_u64(u64), visit_i64(i64), visit_f64(f64), visit_str(&str));

    fn visit_unit<E: serde::de::Error>(self) -> Result<bool, E> {
        self.0.not_an_object(ShallowVisitor.visit_unit()?);
        Ok(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<bool, A::Error> {
        self.0.not_an_object(ShallowVisitor.visit_seq(list)?);
        Ok(false)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<bool, A::Error> {
        while let Some(field) = map.next_key::<String>()? {
            let value = map.next_value()?;
            self.0.take(field, value);
        }
        Ok(true)
    }
}
